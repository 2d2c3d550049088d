"""Elements, users and groups in the back office of a storage."""

from elements.admin import appearance, bpmn, detail, diagram_editor, lists, palette, parts
from elements.admin.access import pages as access_pages
from elements.admin.bulk import pages as bulk_pages
from elements.admin.comparison import record, versions
from elements.admin.cultures import pages as culture_pages
from elements.admin.cultures import translations
from elements.admin.editing import choices, views
from elements.admin.people import pages
from elements.admin.tables import exporting, importing
from elements.admin.trees import pages as tree_pages

__all__ = [
    "access_pages", "appearance", "bpmn", "bulk_pages", "choices", "culture_pages", "detail", "diagram_editor",
    "exporting", "importing", "lists", "pages", "palette", "parts", "record", "translations", "tree_pages", "versions",
    "views",
]  # fmt: skip
