"""Elements, and the people among them, in the back office of a storage."""

from elements.admin import choices, detail, editing, lists, parts, people, record, tree, versions

__all__ = ["choices", "detail", "editing", "lists", "parts", "people", "record", "tree", "versions"]
