"""Tasks (D23): a transition that somebody asks for and somebody else consents to. One function a decision."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from elements.permissions import Permission
from elements.reading.rows import read_versions
from elements.users import USER_TYPE
from elements.writing.updating import Writer
from facets.cycles import Category, Transition
from release.approvers import administers, choose_approver, find_person, is_for, is_requester
from release.days import start_of_day
from release.effects import Change, Step, Taken, entered, write_steps
from release.holding import Life, hold
from release.log import log_steps
from release.models import Task
from release.permissions import require
from repository_site.problems import Conflict, Forbidden, Invalid, NotFound

State = Task.State


def request_consent(
    change: Change,
    life: Life,
    transition: Transition,
    comment: str,
    valid_until: datetime | None,
    ignored: list[str],
) -> Task:
    """The version stays as it is until the task is accepted."""
    author, row = change.author, life.row
    if valid_until is not None and valid_until <= author.now:
        raise Invalid("validUntil: must be later than now; leave it out to let the version end when it is accepted.")
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
        assignee_id=choose_approver(life.related, author.element),
    )
    log_steps(author, [Taken(Step.REQUEST, row, row, transition.key, comment, ignored, task.id)])
    return task


class Decision:
    """One task under the lock of its element: everything else that concerns the element waits meanwhile."""

    def __init__(self, writer: Writer, task_id: UUID) -> None:
        self.writer = writer
        found = find_task(task_id)
        rows = read_versions([str(found.version_id)])
        self.life = hold(writer, rows[str(found.version_id)])
        self.task = find_task(task_id)
        self.change = Change(writer.configuration, writer.zone, writer.author)

    def require_open(self) -> None:
        if self.task.state != State.OPEN:
            raise Conflict(f"The task is {self.task.state} already.")

    def require_approver(self, what: str) -> None:
        """Who the task is for, or an administrator on their behalf."""
        require(self.life, Permission.APPROVE, what)
        if not administers(self.writer.caller) and not is_for(self.task, self.writer.caller):
            raise Forbidden("The task is for another approver; this needs the role administrator.")

    def close(self, state: State, comment: str) -> None:
        author, task = self.writer.author, self.task
        task.state, task.decision = state, comment
        task.decided_on, task.decider_id, task.decider_label = author.now, author.element, author.label
        task.stuck_on, task.stuck_reasons = None, []
        task.save()

    def log(self, step: Step, comment: str) -> None:
        row = self.life.row
        log_steps(self.writer.author, [Taken(step, row, row, self.task.transition, comment, (), self.task.id)])


def find_task(task_id: UUID) -> Task:
    found = Task.objects.filter(id=task_id).first()
    if found is None:
        raise NotFound(f"There is no task {task_id}.")
    return found


def accept_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """The version takes the step that was asked for and, once its end has come, the next; both are logged."""
    decision = Decision(writer, task_id)
    task, life, author = decision.task, decision.life, writer.author
    decision.require_approver("Accepting a task")
    if is_requester(task, writer.caller) and not administers(writer.caller):
        raise Forbidden("Nobody accepts their own request (four eyes); this needs the role administrator.")
    decision.require_open()
    cycle = life.cycle
    if cycle is None or life.row.state != task.source_state or life.row.revision != task.revision:
        raise Conflict(f"{life.label} has changed since the task was made; reject it, or withdraw it and ask again.")
    decision.close(State.ACCEPTED, comment)
    today = start_of_day(author.now, writer.zone)
    end = max(task.valid_until, today) if task.valid_until else today
    is_due = end <= author.now
    target = cycle.retired_state if task.target_state not in cycle.categories else task.target_state
    ends_at_once = cycle.categories[target] is Category.RETIRED
    after = life.row._replace(valid_until=end)
    if is_due or not ends_at_once:
        after = entered(cycle, after, target)
    steps = [Taken(Step.TRANSITION, life.row, after, task.transition, comment, (), task.id)]
    if is_due and not ends_at_once:
        steps.append(Taken(Step.EXPIRY, after, entered(cycle, after, cycle.retired_state), task=task.id))
    write_steps(decision.change, steps)
    return task


def reject_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """Everything stays as it is."""
    decision = Decision(writer, task_id)
    decision.require_approver("Rejecting a task")
    decision.require_open()
    decision.close(State.REJECTED, comment)
    decision.log(Step.REJECTION, comment)
    return decision.task


def withdraw_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """By who has asked for it, or an administrator."""
    decision = Decision(writer, task_id)
    if not is_requester(decision.task, writer.caller) and not administers(writer.caller):
        raise Forbidden("Only who has made the request withdraws it; this needs the role administrator.")
    decision.require_open()
    decision.close(State.WITHDRAWN, comment)
    decision.log(Step.WITHDRAWAL, comment)
    return decision.task


def delegate_task(writer: Writer, task_id: UUID, comment: str, assignee: UUID) -> Task:
    """To another approver: a user who may approve, and who is not the one that asked."""
    decision = Decision(writer, task_id)
    decision.require_approver("Delegating a task")
    decision.require_open()
    task, person = decision.task, find_person(assignee)
    if person is None:
        raise Invalid(f"assignee: there is no {USER_TYPE} {assignee}.")
    if not person.is_active:
        raise Invalid(f"assignee: the {USER_TYPE} {assignee} is inactive.")
    if not person.may_approve:
        raise Invalid(f"assignee: the {USER_TYPE} {assignee} has no role with the permission ApproveElement.")
    if assignee == task.requester_id:
        raise Invalid(f"assignee: the {USER_TYPE} {assignee} has made the request (four eyes).")
    task.assignee_id, task.stuck_on, task.stuck_reasons = assignee, None, []
    task.save()
    decision.log(Step.DELEGATION, comment)
    return task
