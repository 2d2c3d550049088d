"""Tasks (D23): one user requests a transition and another approves it. Each decision is one function."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from elements.permissions import Permission
from elements.reading.rows import read_versions
from elements.users import USER_TYPE
from elements.writing.writers import Writer
from facets.blueprint.cycles import Category, Transition
from release.models import Task
from release.steps.days import start_of_day
from release.steps.effects import LifecycleChange, as_retired, with_state, write_steps
from release.steps.locking import LifecycleVersion, lock_version
from release.steps.log import Step, StepTaken, log_steps
from release.steps.permissions import require
from release.tasks.approvers import Person, administers, choose_approver, find_person, is_for, is_requester
from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, placed

ALREADY = {
    Task.State.ACCEPTED: gettext_noop("The task has already been accepted."),
    Task.State.REJECTED: gettext_noop("The task has already been rejected."),
    Task.State.WITHDRAWN: gettext_noop("The task has already been withdrawn."),
    Task.State.OBSOLETE: gettext_noop("The task is already obsolete."),
}


def request_consent(
    change: LifecycleChange,
    current: LifecycleVersion,
    transition: Transition,
    comment: str,
    valid_until: datetime | None,
    ignored: list[str],
) -> Task:
    """Create a task. The version stays as it is until the task is accepted."""
    author, row = change.author, current.row
    if valid_until is not None and valid_until <= author.now:
        text = _("must be in the future; leave it out to end the version when the task is accepted.")
        raise Invalid(placed("validUntil", text))
    if valid_until is not None and row.valid_until is not None and valid_until >= row.valid_until:
        raise Invalid(placed("validUntil", _("must be earlier than the current end of the version.")))
    task = Task.objects.create(
        type=transition.task,
        element_id=row.element,
        version_id=row.version,
        revision=row.revision,
        transition=transition.key,
        source_state=transition.source,
        target_state=transition.target,
        valid_until=valid_until,
        requested_on=author.now,
        requester_id=author.element,
        requester_label=author.label,
        comment=comment,
        assignee_id=choose_approver(current.related, author.element),
    )
    log_steps(author, [StepTaken(Step.REQUEST, row, row, transition.key, comment, ignored, task.id)])
    return task


class Decision:
    def __init__(self, writer: Writer, task_id: UUID) -> None:
        self.writer = writer
        found = find_task(task_id)
        rows = read_versions([str(found.version_id)])
        self.current = lock_version(writer, rows[str(found.version_id)])
        self.task = find_task(task_id)
        self.change = LifecycleChange(writer.configuration, writer.zone, writer.author)

    def require_open(self) -> None:
        if self.task.state != Task.State.OPEN:
            raise Conflict(_(ALREADY[Task.State(self.task.state)]))

    def require_approver(self, what: str) -> None:
        require(self.current, Permission.APPROVE, what)
        if administers(self.writer.caller):
            return
        if is_requester(self.task, self.writer.caller):
            raise Forbidden(_("You cannot decide your own request (four-eyes principle); only an administrator can."))
        if not self.is_for_caller:
            raise Forbidden(
                _("The task is assigned to another approver; only that approver or an administrator can decide it.")
            )

    def require_requester(self, refusal: str) -> None:
        if not is_requester(self.task, self.writer.caller) and not administers(self.writer.caller):
            raise Forbidden(refusal)

    @cached_property
    def is_for_caller(self) -> bool:
        return is_for(self.task, self.writer.caller)

    @property
    def behalf(self) -> UUID | None:
        """The assignee if the caller decides on their behalf; the log then names both (D116)."""
        return None if self.is_for_caller else self.task.assignee_id

    def transition(self) -> Transition:
        """Return the requested transition, if neither the version nor its release cycle has changed."""
        current, task = self.current, self.task
        known = {each.key: each for each in current.cycle.cycle.transitions} if current.cycle else {}
        found = known.get(task.transition)
        if current.row.state != task.source_state or current.row.revision != task.revision:
            text = _(
                "%(label)s has changed since the task was created; reject or withdraw the task, then request again."
            )
            raise Conflict(text % {"label": current.label})
        asked = task.source_state, task.target_state
        is_end = bool(task.valid_until)
        if not found or not found.task or (found.source, found.target) != asked or (is_end and not found.ends_version):
            text = _("The release cycle no longer has the transition %(key)s; reject or withdraw the task.")
            raise Conflict(text % {"key": task.transition})
        return found

    def close(self, state: Task.State, comment: str) -> None:
        author, task = self.writer.author, self.task
        task.state, task.decision = state, comment
        task.decided_on, task.decider_id, task.decider_label = author.now, author.element, author.label
        task.stuck_on, task.stuck_reasons = None, []
        task.save()

    def log(self, step: Step, comment: str, assignee: UUID | None = None) -> None:
        row, task = self.current.row, self.task
        log_steps(self.writer.author, [StepTaken(step, row, row, task.transition, comment, (), task.id, assignee)])


def no_task(task_id: str) -> str:
    return _("There is no task %(id)s.") % {"id": task_id}


def find_task(task_id: UUID) -> Task:
    found = Task.objects.filter(id=task_id).first()
    if found is None:
        raise NotFound(no_task(str(task_id)))
    return found


def accept_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """Apply the requested transition and, if the end of the version is reached, expire it; log both steps."""
    decision = Decision(writer, task_id)
    task = decision.task
    decision.require_approver(_("Accepting a task"))
    decision.require_open()
    transition = decision.transition()
    decision.close(Task.State.ACCEPTED, comment)
    write_steps(decision.change, _steps(decision, transition, comment))
    return task


def _steps(decision: Decision, transition: Transition, comment: str) -> list[StepTaken]:
    """Return the requested step, followed by the expiry if the step ends the version and that end is reached.

    A version that ends earlier than requested keeps its end.
    """
    row, task, change = decision.current.row, decision.task, decision.change
    cycle, now = change.cycle_of(row), change.author.now
    is_retired = cycle.categories[transition.target] is Category.RETIRED
    if not transition.ends_version:
        after = as_retired(change, row, transition.target) if is_retired else with_state(cycle, row, transition.target)
        return [StepTaken(Step.TRANSITION, row, after, transition.key, comment, (), task.id, decision.behalf)]
    today = start_of_day(now, change.zone)
    end = max(task.valid_until, today) if task.valid_until else today
    after = row._replace(valid_until=min(end, row.valid_until or end))
    is_due = after.valid_until is not None and after.valid_until <= now
    if is_due or not is_retired:
        after = with_state(cycle, after, transition.target)
    steps = [StepTaken(Step.TRANSITION, row, after, transition.key, comment, (), task.id, decision.behalf)]
    if is_due and not is_retired:
        steps.append(StepTaken(Step.EXPIRY, after, with_state(cycle, after, cycle.retired_state), task=task.id))
    return steps


def reject_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """Close the task; the version stays as it is."""
    decision = Decision(writer, task_id)
    decision.require_approver(_("Rejecting a task"))
    decision.require_open()
    decision.close(Task.State.REJECTED, comment)
    decision.log(Step.REJECTION, comment, decision.behalf)
    return decision.task


def withdraw_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """Close the task on behalf of the requester or an administrator."""
    decision = Decision(writer, task_id)
    decision.require_requester(_("Only the requester or an administrator can withdraw this."))
    decision.require_open()
    decision.close(Task.State.WITHDRAWN, comment)
    decision.log(Step.WITHDRAWAL, comment)
    return decision.task


def delegate_task(writer: Writer, task_id: UUID, comment: str, assignee: UUID) -> Task:
    """Assign the task to another user, who must be able to approve and must not be the requester."""
    decision = Decision(writer, task_id)
    decision.require_approver(_("Delegating a task"))
    decision.require_open()
    task, person = decision.task, find_person(assignee)
    if refusal := _assignee_problem(task, assignee, person):
        raise Invalid(placed("assignee", refusal % {"type": USER_TYPE, "id": assignee}))
    task.assignee_id, task.stuck_on, task.stuck_reasons = assignee, None, []
    task.save()
    decision.log(Step.DELEGATION, comment, assignee)
    return task


def _assignee_problem(task: Task, assignee: UUID, person: Person | None) -> str:
    if person is None:
        return _("there is no %(type)s %(id)s.")
    if not person.is_active:
        return _("the %(type)s %(id)s is inactive.")
    if not person.may_approve:
        return _("the %(type)s %(id)s has no role with the permission ApproveElement.")
    return _("the %(type)s %(id)s is the requester (four-eyes principle).") if assignee == task.requester_id else ""


def remind_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """Log that the assignee was reminded. The service sends no message itself (D117)."""
    decision = Decision(writer, task_id)
    decision.require_requester(_("Only the requester or an administrator can record a reminder."))
    decision.require_open()
    decision.log(Step.REMINDER, comment, decision.task.assignee_id)
    return decision.task
