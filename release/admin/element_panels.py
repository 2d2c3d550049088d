"""Lifecycle on the page of an element in the back office: transitions, new versions, the open task and the log.

The page offers what the API offers and calls the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from elements.admin.detail import office_context
from elements.admin.linking import linked_texts, titled_text
from elements.admin.listing.type_filters import ElementFilter, Elements
from elements.admin.panels import ElementPage, Panel, find_page
from elements.permission_sets.callers import NOTHING, denied_on
from elements.presentation.page_requests import writer_of
from elements.reading.rows import VersionRow
from elements.values.checking import NoInstant, instant_of, read_date_time
from facets.blueprint.cycles import EVER_PUBLISHED, Category, Transition
from facets.configuration import CompiledCycle
from release.admin.lifecycle_log_rows import log_rows
from release.admin.tasks.task_rows import TaskRow, open_tasks_of, reading_task_rows
from release.admin.tasks.task_texts import assignee_name, due_text, why_stuck
from release.lifecycle.transitions import TransitionRequest, apply_transition, offered_transitions
from release.lifecycle.versions import choose_source, create_version
from release.models import LifecycleEntry, Task
from release.steps.effects import read_published
from release.steps.locking import LifecycleVersion, OnLocked
from release.steps.log import MAX_COMMENT, number_of
from release.tasks.titles import task_title
from repository_site.core.database.statements import Reading, ask_for, models_of
from repository_site.core.problems import Forbidden, Invalid, NotFound, PreconditionFailed, Problem, Warned
from repository_site.core.rest.errors import status_of
from storage.back_office import storage_office
from storage.back_office.fields import with_plain_lines
from storage.pages import Fragment

FOLDER = "back_office/elements"
PAGE_SIZE = 50
WITHOUT_SECONDS = len("2026-12-31T00:00")
ASK = "ask"


class ElementTaskFilter(ElementFilter):
    """Filter elements by their tasks. Stuck tasks are computed from the open tasks, which are few (D115)."""

    title = gettext_lazy("task")
    parameter_name = "task"
    OPEN, STUCK = "open", "stuck"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(self.OPEN, _("With an open task")), (self.STUCK, _("With a stuck task"))]

    def narrow(self, elements: Elements, value: str) -> Elements:
        if value == self.OPEN:
            return elements.filter(Exists(Task.objects.filter(element_id=OuterRef("id"), state=Task.State.OPEN)))
        if value == self.STUCK:
            found = open_tasks_of(self.request)
            stuck = set(found.stuck)
            return elements.filter(id__in=[each.element_id for each in found.tasks if each.id in stuck])
        return elements.none()


# Looks of a button; one step of a page is highlighted.
PRIMARY, DEFAULT = "primary", "default"


@dataclass(frozen=True, slots=True)
class OfferedTransition:
    """A transition that the caller can apply now. One that makes a request, or that nothing undoes, asks first."""

    key: str
    name: str
    target: str
    look: str
    asks: bool


def lifecycle_version_of(page: ElementPage) -> LifecycleVersion:
    denied = denied_on([page.row.element]).get(page.row.element, NOTHING)
    return LifecycleVersion(page.labels.configuration, page.caller, page.row, page.related, denied)


def offers_of(page: ElementPage, has_open_task: Callable[[], bool] | None = None) -> list[OfferedTransition]:
    """Return the transitions of operation 17, in the same order."""
    offered = offered_transitions(lifecycle_version_of(page), has_open_task)
    cycle = page.labels.configuration.cycles.get(page.type.key)
    if cycle is None:
        return []
    usual = usual_step(cycle, offered, page.row.state)
    return [_offer(page, cycle, each, is_usual=each is usual) for each in offered]


def usual_step(cycle: CompiledCycle, offered: Sequence[Transition], state: str) -> Transition | None:
    """Return the most likely next step, which never ends the version: what accepting a task applies, else the first
    step to review, else the only one."""
    waiting = cycle.waiting.get(state)
    if waiting is not None:
        return next((each for each in offered if each.key == waiting.accept), None)
    going_on = [each for each in offered if not _ends(cycle, each)]
    into_review = (each for each in going_on if cycle.categories[each.target] is Category.REVIEW)
    return next(into_review, going_on[0] if len(going_on) == 1 else None)


def _ends(cycle: CompiledCycle, transition: Transition) -> bool:
    return transition.ends_version or cycle.categories[transition.target] is Category.RETIRED


def is_final(cycle: CompiledCycle, transition: Transition) -> bool:
    """Return whether no step leads back: the version is released or expires."""
    return not transition.task and cycle.categories[transition.target] in EVER_PUBLISHED


def _offer(page: ElementPage, cycle: CompiledCycle, transition: Transition, *, is_usual: bool) -> OfferedTransition:
    return OfferedTransition(
        transition.key,
        page.labels.transition(transition),
        page.labels.state(page.type, transition.target),
        PRIMARY if is_usual else DEFAULT,
        bool(transition.task) or is_final(cycle, transition),
    )


def can_create_version(page: ElementPage) -> bool:
    try:
        choose_source(lifecycle_version_of(page), _named(page))
    except Problem:
        return False
    return True


def _named(page: ElementPage) -> str:
    """Return the id of the selected version, or of the element, which means its published version."""
    return page.row.element if page.is_newest else page.row.version


def release_card(page: ElementPage) -> Reading[Callable[[], Fragment | None]]:
    """Return the function that makes the card when the page has been read."""
    if not page.type.is_versioned:
        return lambda: None
    open_tasks = Task.objects.filter(version_id=UUID(page.row.version), state=Task.State.OPEN)
    tasks = yield from ask_for(models_of(open_tasks))
    rows = (yield from reading_task_rows(page.request, tasks)) if tasks else []
    return partial(_release_card, page, rows)


def _release_card(page: ElementPage, rows: Sequence[TaskRow]) -> Fragment:
    offers = offers_of(page, lambda: bool(rows))
    context = {
        "page": page,
        "offers": offers,
        "can_create_version": can_create_version(page),
        # For a version that readers see, the next step is a new version.
        "version_look": DEFAULT if any(each.look == PRIMARY for each in offers) else PRIMARY,
        "tasks": [
            {"row": each, "assignee": assignee_name(each), "due": due_text(each), "why": why_stuck(each)}
            for each in rows
        ],
        "step_address": page.address_of("elements_transition"),
        "version_address": page.address_of("elements_create_version"),
        "max_comment": MAX_COMMENT,
    }
    return Fragment(f"{FOLDER}/release.html", context, page.request)


def lifecycle_panel(page: ElementPage) -> Fragment:
    given = page.request.GET.get("page", "1")
    number = max(1, int(given)) if given.isascii() and given.isdecimal() and len(given) < 6 else 1
    start = (number - 1) * PAGE_SIZE
    entries = LifecycleEntry.objects.filter(element_id=UUID(page.row.element)).order_by("-number")
    found = list(entries[start : start + PAGE_SIZE + 1])
    context = {
        "log": log_rows(page.request, found[:PAGE_SIZE]),
        "number": number,
        "previous": page.address(tab="lifecycle", page=str(number - 1)) if number > 1 else "",
        "next": page.address(tab="lifecycle", page=str(number + 1)) if len(found) > PAGE_SIZE else "",
    }
    return Fragment(f"{FOLDER}/lifecycle.html", context, page.request)


def unchanged(revision: str) -> OnLocked:
    def check(row: VersionRow) -> None:
        if str(row.revision) != revision:
            raise PreconditionFailed(
                _("Someone else has changed this element since you opened the page. Check it again.")
            )

    return check


def transition_view(request: HttpRequest, element: str) -> HttpResponseBase:
    """Show the form of a transition, or apply it (POST); warnings must be confirmed.

    The page of the element sends `ask` instead of `transition` for a step that asks first. That is a POST as well, so
    that the comment is kept.
    """
    given = request.POST
    writer = writer_of(request) if request.method == "POST" and ASK not in given else None
    page = find_page(request, element, request.GET.get("version"))
    if writer is None:
        return _ask(request, page, given.get(ASK) or request.GET.get("transition", ""))
    key = given.get("transition", "")
    try:
        with transaction.atomic():
            wanted = TransitionRequest(
                transition=key,
                ignore_warnings=given.get("ignoreWarnings") == "true",
                comment=_comment(given.get("comment", "")),
                valid_until=_moment(given.get("validUntil", ""), writer.zone),
                languages=get_language() or "",
            )
            check = unchanged(given.get("revision", ""))
            apply_transition(writer, page.row, wanted, named=page.row.version, on_locked=check)
    except (Forbidden, NotFound):
        raise
    except Problem as problem:
        return _ask(request, page, key, problem)
    after = find_page(request, page.row.version)
    messages.success(request, _done_text(after, page.labels.configuration.cycles[page.type.key].transition(key)))
    return redirect(after.address())


def _done_text(page: ElementPage, transition: Transition) -> str:
    words = {"transition": page.labels.transition(transition), "task": task_title(transition.task), "state": ""}
    if transition.task:
        return _("%(transition)s: task “%(task)s” created. The state changes when the task is accepted.") % words
    words["state"] = page.state.text if page.state else page.row.state
    return _("%(transition)s: done. The state is now “%(state)s”.") % words


def _comment(text: str) -> str:
    plain = with_plain_lines(text)
    if len(plain) > MAX_COMMENT:
        raise Invalid(_("The comment is too long; at most %(most)s characters are allowed.") % {"most": MAX_COMMENT})
    return plain


def _moment(text: str, zone: ZoneInfo) -> datetime | None:
    """Read a local date and time as browsers send it."""
    if not text:
        return None
    local = read_date_time(f"{text}:00" if len(text) == WITHOUT_SECONDS else text)
    if local is None:
        raise Invalid(_("Enter the end as a date and a time."))
    try:
        return instant_of(local, zone)
    except NoInstant as problem:
        raise Invalid(f"validUntil: {problem}.") from problem


def _ask(request: HttpRequest, page: ElementPage, key: str, problem: Problem | None = None) -> HttpResponseBase:
    cycle = page.labels.configuration.cycles.get(page.type.key)
    if cycle is None:
        raise NotFound(_("This element has no versions."))
    wanted = cycle.transition(key)
    name = page.labels.transition(wanted)
    is_warned = isinstance(problem, Warned)
    context = {
        **office_context(request, f"{name}: {page.name}"),
        "page": page,
        "transition": wanted,
        "name": name,
        "target": page.labels.state(page.type, wanted.target),
        "is_offered": any(each.key == wanted.key for each in offers_of(page)),
        "is_release": cycle.enters_published(wanted),
        "is_end": cycle.categories[wanted.target] is Category.RETIRED,
        "published": _published_number(page),
        "is_warned": is_warned,
        "is_stale": isinstance(problem, PreconditionFailed),
        "problems": linked_texts(page.labels, _own_texts(page, problem)),
        "comment": request.POST.get("comment", ""),
        "valid_until": request.POST.get("validUntil", ""),
        "zone": page.labels.reader.zone.key,
        "max_comment": MAX_COMMENT,
        "address": page.address_of("elements_transition", transition=wanted.key),
        "cancel": page.address(),
        "edit": page.address_of("elements_edit") if page.is_editable else "",
    }
    status = status_of(problem) if problem else 200
    return TemplateResponse(request, f"{FOLDER}/transition.html", context, status=status)


def _published_number(page: ElementPage) -> str:
    """Return the number of another version of the element that is released now."""
    found = read_published(page.row)
    return number_of(found) if found else ""


def _own_texts(page: ElementPage, problem: Problem | None) -> list[str]:
    """Return the problems without the label of the version, which the page shows anyway."""
    label = f"{lifecycle_version_of(page).label}: "
    texts = [each.removeprefix(label) for each in problem.details] if problem else []
    return [each[:1].upper() + each[1:] for each in texts]


def create_version_view(request: HttpRequest, element: str) -> HttpResponseBase:
    page = find_page(request, element, request.GET.get("version"))
    if request.method != "POST":
        return redirect(page.address())
    writer = writer_of(request)
    try:
        with transaction.atomic():
            create_version(writer, page.row, named=_named(page))
    except Forbidden:
        raise
    except Problem as problem:
        for text in problem.details:
            messages.error(request, titled_text(page.labels, text))
        return redirect(page.address())
    after = find_page(request, page.row.element)
    messages.success(request, _("Version %(number)s has been created.") % {"number": after.number})
    return redirect(after.address())


LIFECYCLE_PANEL = Panel(
    "lifecycle", gettext_lazy("Lifecycle"), lifecycle_panel, lambda page: page.type.is_versioned, order=60
)
storage_office.add_page("elements/element/<str:element>/transition/", transition_view, "elements_transition")
storage_office.add_page("elements/element/<str:element>/new-version/", create_version_view, "elements_create_version")
