"""My work: the first page after signing in. It shows what waits for the caller, and what the caller waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.labels import labels_of
from elements.derived import AUTHOR_CONTEXTS
from elements.permissions import Permission, granted_to
from elements.presentation.labels import Named
from elements.users import groups_of
from facets.blueprint.cycles import OPEN, Category
from release.admin.subscribed_changes import subscribed_changes
from release.admin.tasks.task_cells import cells_of
from release.admin.tasks.task_effects import effect_text, is_final
from release.admin.tasks.task_rows import TaskRow, reading_task_rows
from release.admin.tasks.task_texts import assignee_name, due_text
from release.models import Task
from release.steps.log import MAX_COMMENT
from release.tasks.choosing import requested_by, waiting_for
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import (
    Question,
    Reading,
    ask_for,
    id_array,
    models_of,
    read_together,
    text_array,
)
from storage.access.callers import Caller
from storage.back_office import storage_office
from storage.back_office.navigation import NavigationEntry, NavigationGroup
from storage.pages import caller_of

# Rows in a section; a link leads to the whole list.
MOST = 20
# Decided requests stay on the page for this time.
RECENTLY = timedelta(days=14)
SOON = timedelta(days=60)
PAGE = "release_work"


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task that the caller can decide on this page."""

    cells: dict[str, Any]
    due: str
    behalf: str
    """The assignee whom the caller represents, or the group."""
    effect: str
    is_final: bool
    """Accepting leads to a page that asks first, since it cannot be undone."""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A version that belongs to the caller, and the day that matters."""

    what: Named
    day: str


def work_page(request: HttpRequest) -> HttpResponse:
    caller = caller_of(request)
    (waiting, requests, rows), drafts, ending, changes, _badges = read_together(
        _reading_tasks(request, caller),
        _reading_items(request, _drafts(caller)),
        _reading_items(request, _ending(caller)),
        subscribed_changes(request),
        storage_office.reading_badges(request),
    )
    context = {
        **storage_office.each_context(request),
        "title": _("My work"),
        "waiting": [_waiting(request, rows[each.id]) for each in waiting[:MOST]],
        "has_more": len(waiting) > MOST,
        "can_decide": Permission.APPROVE in granted_to(caller),
        "requests": [cells_of(rows[each.id]) for each in requests],
        "drafts": drafts,
        "ending": ending,
        "changes": changes,
        "is_linked": caller.element_id is not None,
        "back": reverse(f"admin:{PAGE}"),
        "all_tasks": reverse("admin:release_task_changelist"),
        "max_comment": MAX_COMMENT,
        "days": SOON.days,
    }
    return TemplateResponse(request, "back_office/my_work.html", context)


def _reading_tasks(
    request: HttpRequest, caller: Caller
) -> Reading[tuple[Sequence[Task], Sequence[Task], dict[UUID, TaskRow]]]:
    """Return the tasks that wait for the caller, and those that the caller has requested, with their rows."""
    recent = Q(state=Task.State.OPEN) | Q(decided_on__gt=timezone.now() - RECENTLY)
    own = Task.objects.filter(requested_by(caller)).filter(recent).order_by("-requested_on", "-id")[:MOST]
    waiting, requests = yield [
        models_of(waiting_for(caller).filter(state=Task.State.OPEN)[: MOST + 1]),
        models_of(own),
    ]
    # One lookup of names for both tables.
    rows = yield from reading_task_rows(request, [*waiting[:MOST], *requests])
    return waiting, requests, {row.task.id: row for row in rows}


def _waiting(request: HttpRequest, row: TaskRow) -> WaitingTask:
    labels = labels_of(request)
    is_own = row.task.assignee_id in (None, caller_of(request).element_id)
    behalf = "" if is_own else _("Waiting for %(name)s") % {"name": assignee_name(row)}
    return WaitingTask(cells_of(row), due_text(row), behalf, effect_text(labels, row), is_final(labels, row))


def _reading_items(request: HttpRequest, question: Question[list[Row]]) -> Reading[list[WorkItem]]:
    labels = labels_of(request)
    found = yield from ask_for(question)
    named = yield from ask_for(labels.versions_of([version for version, _ in found]))
    return [WorkItem(named[version], labels.day(moment)) for version, moment in found if version in named]


def _drafts(caller: Caller) -> Question[list[Row]]:
    """Return the versions in process or in review that the caller has written or changed last, newest first."""
    sql = """SELECT v.id::text, v.changed_on FROM elements_elementversion v
        WHERE v.category = ANY(%s::text[]) AND v.id IN (
            SELECT r.version_id FROM elements_reference r WHERE r.target_id = %s::uuid AND r.context = ANY(%s::text[])
            UNION SELECT c.id FROM elements_elementversion c WHERE c.changed_by_id = %s::uuid)
        ORDER BY v.changed_on DESC, v.id LIMIT %s"""
    own = caller.element_id
    states, contexts = text_array(each.value for each in OPEN), text_array(AUTHOR_CONTEXTS)
    return Question(sql if own else "", [states, own, contexts, own, MOST], list)


def _ending(caller: Caller) -> Question[list[Row]]:
    """Return the published versions that end soon and that the caller, or a group of the caller, owns."""
    sql = """SELECT DISTINCT v.id::text, v.valid_until
        FROM elements_reference r JOIN elements_elementversion v ON v.id = r.version_id
        WHERE r.target_id = ANY(%s::uuid[]) AND r.context = 'owner' AND v.category = %s AND v.valid_until <= %s
        ORDER BY v.valid_until, v.id::text LIMIT %s"""
    own = caller.element_id
    owners = id_array(str(each) for each in (own, *groups_of(own)) if each)
    return Question(sql if own else "", [owners, Category.PUBLISHED.value, timezone.now() + SOON, MOST], list)


storage_office.add_page("my-work/", work_page, PAGE)
storage_office.first_page = PAGE
storage_office.add_navigation(NavigationEntry(NavigationGroup.CONTENT, gettext_lazy("My work"), "inbox", PAGE))
