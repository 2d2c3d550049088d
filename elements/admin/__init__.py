"""Elements, users and groups in the back office of a storage."""

from elements.admin import detail, lists, parts, tree
from elements.admin.comparison import record, versions
from elements.admin.editing import choices, views
from elements.admin.people import pages

__all__ = ["choices", "detail", "lists", "pages", "parts", "record", "tree", "versions", "views"]
