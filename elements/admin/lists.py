"""The list and the tree of elements."""
