"""Texts about tasks: states, reasons for being stuck with advice, and due dates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from release.admin.tasks.task_rows import TaskRow
from release.models import Task
from release.tasks.task_status import AssigneeStatus

STATES: dict[str, str | Promise] = {
    Task.State.OPEN: gettext_lazy("Open"),
    Task.State.ACCEPTED: gettext_lazy("Accepted"),
    Task.State.REJECTED: gettext_lazy("Rejected"),
    Task.State.WITHDRAWN: gettext_lazy("Withdrawn"),
    Task.State.OBSOLETE: gettext_lazy("Obsolete"),
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
class StuckReason:
    text: str
    advice: str


def why_stuck(row: TaskRow) -> list[StuckReason]:
    return [_REASON_TEXTS[each](row) for each in row.status.reasons]


def _missing(row: TaskRow) -> StuckReason:
    if row.task.approvals > 1 and row.status.assignee_status is not AssigneeStatus.GONE:
        return StuckReason(
            _("Nobody can decide except the requester or people who have already accepted."),
            _("Reassign the task, give another user the role Approver, or decide as an administrator."),
        )
    if row.status.assignee_status is AssigneeStatus.EVERYBODY:
        return StuckReason(
            _("No approver except the requester can decide."),
            _("Give another user the role Approver, or decide on behalf of the approvers."),
        )
    if row.status.assignee_status is AssigneeStatus.GONE:
        return StuckReason(_("The approver has been deleted."), _("Reassign the task."))
    if row.status.assignee_status is AssigneeStatus.GROUP:
        return StuckReason(
            _("%(name)s has no member who can decide, except the requester.") % {"name": row.assignee.name},
            _("Reassign the task, or add a member to the group."),
        )
    return StuckReason(
        _("%(name)s is the requester and therefore cannot decide (four-eyes principle).") % {"name": row.assignee.name},
        _("Reassign the task."),
    )


def _inactive(row: TaskRow) -> StuckReason:
    if row.status.assignee_status is AssigneeStatus.GROUP:
        text = _("All members of %(name)s are inactive.") % {"name": row.assignee.name}
    else:
        text = _("%(name)s is inactive.") % {"name": row.assignee.name}
    return StuckReason(text, _("Reassign the task, or reactivate the account."))


def _no_role(row: TaskRow) -> StuckReason:
    if row.status.assignee_status is AssigneeStatus.GROUP:
        text = _("No active member of %(name)s has a role that can approve.") % {"name": row.assignee.name}
    else:
        text = _("%(name)s has no role that can approve.") % {"name": row.assignee.name}
    return StuckReason(text, _("Reassign the task, or grant the role Approver."))


def _overdue(row: TaskRow) -> StuckReason:
    return StuckReason(
        open_for(row.status.age), _("Remind the approver, reassign the task, or decide on behalf of the approver.")
    )


_REASON_TEXTS: dict[Task.Stuck, Callable[[TaskRow], StuckReason]] = {
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


def due_text(row: TaskRow) -> str:
    status = row.status
    if status.is_overdue:
        late = (status.now - status.due).days
        return _("overdue by %(time)s") % {"time": days(late)} if late else _("overdue since today")
    # A task that was opened a moment ago is due in 14 days, not in 13.
    left = round((status.due - status.now) / timedelta(days=1))
    return _("due in %(time)s") % {"time": days(left)} if left else _("due today")


def assignee_name(row: TaskRow) -> str:
    if row.assignee.name:
        return row.assignee.name
    return _("Every approver") if row.status.assignee_status is AssigneeStatus.EVERYBODY else _("Deleted user")


def assignee_status_text(row: TaskRow) -> tuple[str, str]:
    """Return the status of the assignee and the look of its badge; empty for active assignees and decided tasks."""
    if not row.status.is_open:
        return "", ""
    return {
        AssigneeStatus.INACTIVE: (_("inactive"), "danger"),
        AssigneeStatus.NO_ROLE: (_("lacks the role"), "danger"),
        AssigneeStatus.GONE: (_("deleted"), "danger"),
        AssigneeStatus.GROUP: (_("group"), ""),
    }.get(row.status.assignee_status, ("", ""))


def reminded_text(row: TaskRow) -> str:
    """Return the number of reminders, to be followed by the time of the last one."""
    count = row.status.reminders.count
    return ngettext("Reminded once, on", "Reminded %(count)s times, last on", count) % {"count": count} if count else ""
