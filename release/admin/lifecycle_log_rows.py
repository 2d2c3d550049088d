"""Rows of the lifecycle log with names and texts, for the page of a task and for the log of the storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.linking import titled_text
from elements.presentation.labels import Named, key_words
from release.admin.tasks.task_rows import Directory, PersonLink, reading_directory, transition_text
from release.models import LifecycleEntry
from repository_site.core.database.statements import ask_for, read_together

Step = LifecycleEntry.Step
STEP_TEXTS: dict[str, str | Promise] = {
    Step.VERSION: gettext_lazy("New version"),
    Step.TRANSITION: gettext_lazy("Transition"),
    Step.SUCCESSION: gettext_lazy("Replaced by a newer version"),
    Step.EFFECT: gettext_lazy("Took effect"),
    Step.EXPIRY: gettext_lazy("Expired"),
    Step.REQUEST: gettext_lazy("Task created"),
    Step.REJECTION: gettext_lazy("Task rejected"),
    Step.WITHDRAWAL: gettext_lazy("Task withdrawn"),
    Step.DELEGATION: gettext_lazy("Task reassigned"),
    Step.REMINDER: gettext_lazy("Reminded"),
}


@dataclass(frozen=True, slots=True)
class LogRow:
    entry: LifecycleEntry
    what: Named | None
    """The element as it is now; None if it was deleted."""
    words: str
    source: str
    target: str
    """Names of the states; equal for steps about a task."""
    transition: str
    """Name of the transition; empty for scheduled jobs and new versions."""
    who: PersonLink
    other: str
    """The new assignee of a task, the approver on whose behalf it was decided, or the reminded assignee."""
    ignored: Sequence[str] = ()
    """Warnings that were ignored."""

    @property
    def has_moved(self) -> bool:
        return self.entry.from_state != self.entry.to_state

    @property
    def task_address(self) -> str:
        return reverse("admin:release_task_change", args=[self.entry.task_id]) if self.entry.task_id else ""


def log_rows(request: HttpRequest, entries: Sequence[LifecycleEntry]) -> list[LogRow]:
    """Return the rows of any number of entries, in their order, with one statement."""
    labels = labels_of(request)
    people = [one for each in entries for one in (each.caller_id, each.assignee_id)]
    elements, directory = read_together(
        ask_for(labels.elements_of({str(each.element_id) for each in entries})),
        reading_directory(labels, people, [each.caller_label for each in entries]),
    )
    return [_row(each, elements.get(str(each.element_id)), labels, directory) for each in entries]


def _row(entry: LifecycleEntry, what: Named | None, labels: OfficeLabels, directory: Directory) -> LogRow:
    return LogRow(
        entry,
        what,
        str(STEP_TEXTS[entry.step]),
        _state(labels, what, entry.from_state),
        _state(labels, what, entry.to_state),
        transition_text(labels, what, entry.transition),
        directory.caller(entry.caller_id, entry.caller_label),
        _other(entry, directory),
        [titled_text(labels, each) for each in entry.ignored_warnings],
    )


def _state(labels: OfficeLabels, what: Named | None, state: str) -> str:
    return labels.state(what.type, state) if what else labels.titles.get(state) or key_words(state)


def _other(entry: LifecycleEntry, directory: Directory) -> str:
    if entry.assignee_id is None:
        return _("every approver") if entry.step == Step.REMINDER else ""
    name = directory.person(entry.assignee_id).name or _("deleted user")
    if entry.step == Step.DELEGATION:
        return _("to %(name)s") % {"name": name}
    return name if entry.step == Step.REMINDER else _("on behalf of %(name)s") % {"name": name}
