"""Data cultures of a storage: changes of them, the values that use them, and missing translations."""
