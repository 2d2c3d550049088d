"""Tasks in words: states, why one is stuck and what to do about it, and how long it may still wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from release.admin.task_rows import TaskRow
from release.models import Task
from release.tasks.sheets import Standing

STATES: dict[str, str | Promise] = {
    Task.State.OPEN: gettext_lazy("Open"),
    Task.State.ACCEPTED: gettext_lazy("Accepted"),
    Task.State.REJECTED: gettext_lazy("Rejected"),
    Task.State.WITHDRAWN: gettext_lazy("Withdrawn"),
    Task.State.OBSOLETE: gettext_lazy("Overtaken"),
}
STATE_LOOKS = {
    Task.State.OPEN.value: "info",
    Task.State.ACCEPTED.value: "success",
    Task.State.REJECTED.value: "danger",
}
REASONS: dict[str, str | Promise] = {
    Task.Stuck.MISSING: gettext_lazy("Nobody can decide"),
    Task.Stuck.INACTIVE: gettext_lazy("Approver inactive"),
    Task.Stuck.NO_ROLE: gettext_lazy("Approver lacks the role"),
    Task.Stuck.OVERDUE: gettext_lazy("Overdue"),
}


@dataclass(frozen=True, slots=True)
class Why:
    """One reason, and what would help."""

    text: str
    advice: str


def why_stuck(row: TaskRow) -> list[Why]:
    return [_WORDS[each](row) for each in row.sheet.reasons]


def _missing(row: TaskRow) -> Why:
    if row.sheet.standing is Standing.EVERYBODY:
        return Why(
            _("It is for every approver, but nobody except who has asked could decide."),
            _("Give a user the role approver, or decide on behalf."),
        )
    if row.sheet.standing is Standing.GONE:
        return Why(_("Who was to decide is no longer there."), _("Reassign it."))
    if row.sheet.standing is Standing.GROUP:
        return Why(
            _("%(name)s has no member who may decide, other than who has asked.") % {"name": row.assignee.name},
            _("Reassign it, or add somebody to the group."),
        )
    return Why(
        _("%(name)s has asked for it and cannot decide as well (four eyes).") % {"name": row.assignee.name},
        _("Reassign it."),
    )


def _inactive(row: TaskRow) -> Why:
    if row.sheet.standing is Standing.GROUP:
        text = _("All members of %(name)s are inactive.") % {"name": row.assignee.name}
    else:
        text = _("%(name)s is inactive.") % {"name": row.assignee.name}
    return Why(text, _("Reassign it, or make the account active again."))


def _no_role(row: TaskRow) -> Why:
    if row.sheet.standing is Standing.GROUP:
        text = _("No active member of %(name)s has a role that approves.") % {"name": row.assignee.name}
    else:
        text = _("%(name)s has no role that approves.") % {"name": row.assignee.name}
    return Why(text, _("Reassign it, or give the role approver."))


def _overdue(row: TaskRow) -> Why:
    return Why(open_for(row.sheet.age), _("Remind, reassign, or decide on behalf."))


_WORDS: dict[Task.Stuck, Callable[[TaskRow], Why]] = {
    Task.Stuck.MISSING: _missing,
    Task.Stuck.INACTIVE: _inactive,
    Task.Stuck.NO_ROLE: _no_role,
    Task.Stuck.OVERDUE: _overdue,
}


def days(number: int) -> str:
    if number == 0:
        return _("less than a day")
    return ngettext("%(number)s day", "%(number)s days", number) % {"number": number}


def open_for(number: int) -> str:
    return ngettext("Open for %(number)s day.", "Open for %(number)s days.", number) % {"number": number}


def due_words(row: TaskRow) -> str:
    """How an open task stands against the storage's limit."""
    sheet = row.sheet
    if sheet.is_overdue:
        late = (sheet.now - sheet.due).days
        return _("overdue by %(time)s") % {"time": days(late)} if late else _("overdue since today")
    left = (sheet.due - sheet.now).days
    return _("due in %(time)s") % {"time": days(left)} if left else _("due today")


def assignee_name(row: TaskRow) -> str:
    if row.assignee.name:
        return row.assignee.name
    return _("Every approver") if row.sheet.standing is Standing.EVERYBODY else _("Somebody who is gone")


def standing_words(row: TaskRow) -> tuple[str, str]:
    """Of who is to decide, with the look of its badge; empty where there is nothing to say, or nothing to decide."""
    if not row.sheet.is_open:
        return "", ""
    return {
        Standing.INACTIVE: (_("inactive"), "danger"),
        Standing.NO_ROLE: (_("lacks the role"), "danger"),
        Standing.GONE: (_("gone"), "danger"),
        Standing.GROUP: (_("group"), ""),
    }.get(row.sheet.standing, ("", ""))


def reminded_words(row: TaskRow) -> str:
    """Without the moment of the last one."""
    count = row.sheet.reminders.count
    return ngettext("Reminded once, on", "Reminded %(count)s times, last on", count) % {"count": count} if count else ""
