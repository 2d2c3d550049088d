"""Comparisons of an element with itself, and of a storage with itself."""
