"""Elements, users and groups in the back office of a storage."""

from elements.admin import appearance, bpmn, detail, diagram_editor, lists, palette, parts, tree
from elements.admin.bulk import pages as bulk_pages
from elements.admin.comparison import record, versions
from elements.admin.editing import choices, views
from elements.admin.people import pages

__all__ = [
    "appearance", "bpmn", "bulk_pages", "choices", "detail", "diagram_editor", "lists", "pages", "palette", "parts",
    "record", "tree", "versions", "views",
]  # fmt: skip
