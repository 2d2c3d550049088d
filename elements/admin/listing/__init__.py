"""Filters of the element list, and lists whose pages have a bounded cost."""
