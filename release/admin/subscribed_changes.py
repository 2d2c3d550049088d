"""Changes in what the caller subscribes to, for the page My work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from elements.admin.labels import labels_of
from elements.people.subscriptions import reading_changes
from elements.presentation.labels import Named
from elements.reading.names import reading_names
from facets.configuration import configuration_of
from release.messages.texts import name_of_caller
from repository_site.core.database.statements import Reading, ask_for, side_by_side
from storage.back_office.cells import ago
from storage.models import EventType
from storage.pages import caller_of, storage_of

MOST = 20
RECENTLY = timedelta(days=14)
CHANGES: dict[str, Promise] = {
    EventType.ELEMENT_CREATED: _("Created"),
    EventType.ELEMENT_MOVED: _("Moved"),
    EventType.VERSION_CREATED: _("New version"),
    EventType.VERSION_STATE_CHANGED: _("New state"),
    EventType.VERSION_RELEASED: _("Released"),
    EventType.VERSION_EXPIRED: _("Expired"),
    EventType.DIAGRAM_CHANGED: _("Diagram changed"),
    EventType.TASK_OPENED: _("Decision requested"),
    EventType.TASK_DECIDED: _("Request decided"),
}
CHANGED = _("Changed")


@dataclass(frozen=True, slots=True)
class ChangeRow:
    what: Named
    change: Promise
    by: str
    when: SafeString


def subscribed_changes(request: HttpRequest) -> Reading[list[ChangeRow]]:
    """Return the elements that the caller subscribes to and that have changed lately, each with its last change."""
    configuration = configuration_of(storage_of(request))
    found = yield from reading_changes(configuration, caller_of(request), timezone.now() - RECENTLY, MOST)
    labels = labels_of(request)
    callers = {each.caller for each in found if each.caller}
    cultures = labels.configuration.cultures
    named, names = yield from side_by_side(
        ask_for(labels.elements_of(each.element for each in found)),
        reading_names(callers, {each.caller_label for each in found}, labels.lcid, cultures),
    )
    return [
        ChangeRow(
            named[each.element],
            CHANGES.get(each.type, CHANGED),
            name_of_caller(names, each.caller, each.caller_label),
            ago(each.time),
        )
        for each in found
        if each.element in named
    ]
