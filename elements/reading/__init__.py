"""Reading of elements: select them (`lists`), read their rows (`rows`), and build their wire form (`assembly`).

A list and a single element cost the same small number of statements, regardless of the number of elements or
references.
"""
