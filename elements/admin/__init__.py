"""Elements, users and groups in the back office of a storage."""

from elements.admin import appearance, bpmn, detail, diagram_editor, lists, palette, parts, tree
from elements.admin.comparison import record, versions
from elements.admin.editing import choices, views
from elements.admin.people import pages
from elements.admin.tables import exporting, importing

__all__ = [
    "appearance", "bpmn", "choices", "detail", "diagram_editor", "exporting", "importing", "lists", "pages", "palette",
    "parts", "record", "tree", "versions", "views",
]  # fmt: skip
