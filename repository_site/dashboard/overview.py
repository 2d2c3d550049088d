"""The overview of a storage's back office: numbers with links to their lists, two charts, and recent changes.

It takes a fixed number of statements, however large the storage is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from elements.admin.comparison.record import ACTIONS
from elements.admin.labels import OfficeLabels, element_address, labels_of
from elements.models import ElementChange
from elements.permissions import Permission, role_permissions
from elements.reading.latest import LatestChange, read_latest_changes
from elements.sizes.counting import ElementCounts, count_elements
from facets.blueprint.cycles import Category
from release.admin.tasks.task_rows import Directory, PersonLink, TaskRow, open_tasks_of, reading_directory, task_rows
from release.admin.tasks.task_texts import due_text, why_stuck
from release.models import Task
from release.releases import Week, count_releases, total
from repository_site.core.database.statements import ask_for, read_together
from repository_site.dashboard.charts import facet_chart, week_chart
from storage.back_office.cells import ago, moment, number
from storage.options import Role
from storage.pages import caller_of, storage_of

NUMBER_OF_CHANGES = 10
NUMBER_OF_TASKS = 5


@dataclass(frozen=True, slots=True)
class Tile:
    """A number with a link to its list. `look` marks numbers that need attention."""

    title: str
    number: str
    address: str
    icon: str
    look: str = ""


@dataclass(frozen=True, slots=True)
class StuckTask:
    row: TaskRow
    due: str
    why: list[str]


@dataclass(frozen=True, slots=True)
class ShownChange:
    name: str
    address: str
    """Empty if the element has been deleted."""
    kind: str
    action: str
    who: PersonLink
    when: SafeString
    exact: str


@dataclass(frozen=True, slots=True)
class NextStep:
    """A suggestion for a storage that has no content yet."""

    text: str
    address: str = ""
    link: str = ""


def address(page: str, **query: str) -> str:
    found = reverse(f"admin:{page}_changelist")
    return f"{found}?{urlencode(query)}" if query else found


def elements_address(**query: str) -> str:
    return address("elements_element", **query)


def dashboard(request: HttpRequest) -> dict[str, Any]:
    storage, labels = storage_of(request), labels_of(request)
    counts = count_elements(storage, labels.configuration)
    weeks = count_releases(labels.configuration, timezone.now(), ZoneInfo(storage.time_zone))
    return {
        "tiles": [*_content_tiles(counts), *_release_tiles(request, weeks)],
        "charts": [facet_chart(labels, counts, elements_address), week_chart(weeks, address)],
        "stuck": _stuck(request),
        "stuck_address": address("release_task", stuck="yes"),
        "changes": _changes(labels),
        "counted_on": moment(counts.counted_on) if counts.is_kept else "",
        "next_steps": [] if _has_content(counts) else _next_steps(request),
    }


def _has_content(counts: ElementCounts) -> bool:
    """Tokens and users are elements as well, but do not count as content."""
    return any(counts.of(each) for each in Category if each is not Category.STATIC)


def _content_tiles(counts: ElementCounts) -> list[Tile]:
    drafts, ownerless = counts.of(Category.DRAFT), counts.ownerless_drafts
    return [
        Tile(_("Elements"), number(counts.total), elements_address(), "list"),
        Tile(_("In process"), number(drafts), elements_address(stage=Category.DRAFT.value), "edit_note"),
        Tile(
            _("In process without owner"),
            number(ownerless),
            elements_address(stage=Category.DRAFT.value, owner="none"),
            "person_off",
            look="warning" if ownerless else "",
        ),
    ]


def _release_tiles(request: HttpRequest, weeks: list[Week]) -> list[Tile]:
    found = open_tasks_of(request)
    stuck = len(found.stuck)
    return [
        Tile(_("Open tasks"), number(len(found.tasks)), address("release_task"), "assignment"),
        Tile(
            _("Stuck tasks"),
            number(stuck),
            address("release_task", stuck="yes"),
            "assignment_late",
            look="danger" if stuck else "",
        ),
        Tile(
            _("Releases in %(number)s weeks") % {"number": len(weeks)},
            number(total(weeks)),
            address("release_lifecycleentry", step="release", week="recent"),
            "rocket_launch",
        ),
    ]


def _stuck(request: HttpRequest) -> list[StuckTask]:
    found = open_tasks_of(request)
    oldest = found.stuck[:NUMBER_OF_TASKS]
    rows = task_rows(request, list(Task.objects.filter(id__in=oldest))) if oldest else []
    return [StuckTask(row, due_text(row), [each.text for each in why_stuck(row)]) for row in rows]


def _changes(labels: OfficeLabels) -> list[ShownChange]:
    changes = read_latest_changes(labels.configuration, NUMBER_OF_CHANGES)
    elements, directory = read_together(
        ask_for(labels.elements_of({str(each.element) for each in changes})),
        reading_directory(labels, (each.caller for each in changes), [each.label for each in changes]),
    )
    return [_change(each, labels, elements, directory) for each in changes]


def _change(change: LatestChange, labels: OfficeLabels, elements: dict[str, Any], directory: Directory) -> ShownChange:
    named = elements.get(str(change.element))
    action = str(ACTIONS[ElementChange.Action(change.action)])
    if change.state and named:
        action = f"{action}: {labels.state(named.type, change.state)}"
    return ShownChange(
        named.name if named else labels.name(change.earlier_names, str(change.element)),
        element_address(str(change.element)) if named else "",
        named.type_name if named else "",
        action,
        directory.caller(change.caller, change.label),
        ago(change.changed_on),
        moment(change.changed_on),
    )


def _next_steps(request: HttpRequest) -> list[NextStep]:
    caller = caller_of(request)
    found = []
    if Role.ADMINISTRATOR in caller.roles:
        found += [
            NextStep(
                _("Review the types and their properties, and adapt them."),
                address("facets_elementtype"),
                _("Types"),
            ),
            NextStep(_("Set up users and their roles."), address("elements_user"), _("Users")),
            NextStep(
                _("Issue a token for the program that fills or reads the storage."),
                address("storage_apitoken"),
                _("API tokens"),
            ),
            NextStep(
                _("Import existing content: manage.py import_storage %(path)s FILE")
                % {"path": str(storage_of(request)).replace("/", " ")}
            ),
        ]
    types = [each for each in labels_of(request).configuration.types.values() if not each.lives_in_diagrams]
    if any(Permission.NEW in role_permissions(caller, each) for each in types):
        found.append(NextStep(_("Create the first element."), reverse("admin:elements_element_add"), _("Add element")))
    if found:
        return found
    if not types:
        return [NextStep(_("The storage has no element types yet. An administrator can set them up."))]
    return [NextStep(_("A user with the role editor can create the first element."))]
