"""Reading elements: which ones (`selection`), their rows (`rows`), and the wire form made of them (`assembly`).

A list or a single element costs the same small number of statements, however many elements or references there are.
"""
