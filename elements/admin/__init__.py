"""Elements, users and groups in the back office of a storage."""

from django.utils.translation import gettext_lazy as _

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
from storage.admin.files import ADMINISTRATORS
from storage.back_office import NavigationEntry, NavigationGroup, storage_office

__all__ = [
    "access_pages", "appearance", "bpmn", "bulk_pages", "choices", "culture_pages", "detail", "diagram_editor",
    "exporting", "importing", "lists", "pages", "palette", "parts", "record", "translations", "tree_pages", "versions",
    "views",
]  # fmt: skip

# Here, so that it comes after the lists of elements.
storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.CONTENT, _("Files"), "attach_file", "storage_storedfile_changelist", roles=ADMINISTRATORS
    )
)
