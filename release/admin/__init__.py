"""The lifecycle in the back office of a storage."""

from django.utils.translation import gettext_lazy as _

from release.admin import element_panels, hand_over, lifecycle_log, messages, my_work
from release.admin.tasks import task_admin
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.back_office.model_admin import OFFICE_ROLES

__all__ = ["element_panels", "hand_over", "lifecycle_log", "messages", "my_work", "task_admin"]

storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.RELEASE,
        _("Tasks"),
        "assignment",
        "release_task_changelist",
        OFFICE_ROLES,
        task_admin.number_of_stuck,
    ),
    NavigationEntry(
        NavigationGroup.RELEASE, _("Lifecycle log"), "history", "release_lifecycleentry_changelist", OFFICE_ROLES
    ),
)
