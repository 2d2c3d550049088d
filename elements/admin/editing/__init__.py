"""Adding, changing and deleting elements: the form, its fields, and the choice of elements to refer to."""
