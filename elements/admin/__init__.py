"""Elements, and the people among them, in the back office of a storage."""

from elements.admin import lists, people

__all__ = ["lists", "people"]
