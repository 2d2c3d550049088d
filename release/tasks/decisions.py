"""Tasks (D23): one user requests a transition and another approves it. Each decision is one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from elements.derived import AUTHOR_CONTEXTS
from elements.permission_sets.callers import NOTHING, denied_on
from elements.permissions import Permission
from elements.reading.rows import read_references, read_versions
from elements.writing.writers import Writer
from facets.blueprint.cycles import Category, State, Transition
from facets.blueprint.private_content import USER_TYPE
from release.models import Task
from release.steps.days import start_of_day
from release.steps.effects import LifecycleChange, as_retired, close_tasks, take_transition, with_state, write_steps
from release.steps.locking import LifecycleVersion, lock_version
from release.steps.log import Step, StepTaken, log_steps
from release.steps.opening import new_task
from release.steps.permissions import require
from release.steps.validation import check
from release.tasks.approvers import Person, administers, choose_approver, find_person, is_deputy, is_for, is_requester
from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, Problem, placed
from storage.access.callers import Caller
from storage.tenancy.scope import as_caller, whole_content

ALREADY = {
    Task.State.ACCEPTED: gettext_noop("The task has already been accepted."),
    Task.State.REJECTED: gettext_noop("The task has already been rejected."),
    Task.State.WITHDRAWN: gettext_noop("The task has already been withdrawn."),
    Task.State.OBSOLETE: gettext_noop("The task is already obsolete."),
}


def request_consents(
    change: LifecycleChange,
    asked: Sequence[tuple[LifecycleVersion, Transition, Sequence[str]]],
    comment: str,
    valid_until: datetime | None,
) -> None:
    """Create a task for each version. The version stays as it is until the task is accepted."""
    author = change.author
    tasks, steps = [], []
    for current, transition, ignored in asked:
        row = current.row
        if valid_until is not None and valid_until <= author.now:
            text = _("must be in the future; leave it out to end the version when the task is accepted.")
            raise Invalid(placed("validUntil", text))
        if valid_until is not None and row.valid_until is not None and valid_until >= row.valid_until:
            raise Invalid(placed("validUntil", _("must be earlier than the current end of the version.")))
        assignee = choose_approver(current.related, author.element)
        task = new_task(author, row, transition, transition.task, assignee, valid_until=valid_until, comment=comment)
        tasks.append(task)
        step = StepTaken(Step.REQUEST, row, row, transition.key, comment, ignored, task.id, assigned=task.assignee_id)
        steps.append(step)
    Task.objects.bulk_create(tasks)
    log_steps(author, steps)


class Decision:
    def __init__(self, writer: Writer, task: Task, current: LifecycleVersion) -> None:
        self.writer = writer
        self.task = task
        self.current = current
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
        if not self.is_for_caller and not is_deputy(self.task, self.writer.caller):
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
        found = self._known.get(task.transition)
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

    @cached_property
    def _known(self) -> dict[str, Transition]:
        cycle = self.current.cycle
        return {each.key: each for each in cycle.cycle.transitions} if cycle else {}

    @property
    def _waiting(self) -> State | None:
        cycle = self.current.cycle
        return cycle.waiting.get(self.current.row.state) if cycle else None

    def way_on(self) -> Transition:
        """Return the transition that accepting applies to a waiting version, if the task still shows that one."""
        task, waiting = self.task, self._waiting
        found = self._known[waiting.accept] if waiting else None
        shown = task.transition, task.source_state, task.target_state
        if found is None or (found.key, found.source, found.target) != shown:
            text = _("The release cycle has changed since the task was created; reject or withdraw the task.")
            raise Conflict(text)
        return found

    def decline(self, state: Task.State, step: Step, comment: str, behalf: UUID | None = None) -> None:
        """Close the task. A waiting version goes back by the transition that its state names for rejection.

        It stays where it is if the state has lost its task since, so that declining is always possible (D91).
        """
        self.close(state, comment)
        row, task, waiting = self.current.row, self.task, self._waiting
        if task.round_id is None or waiting is None:
            self.log(step, comment, behalf)
            if task.round_id is not None:
                close_tasks([row.version], self.writer.author)
            return
        way = self._known[waiting.reject]
        after = with_state(self.change.cycle_of(row), row, way.target)
        write_steps(self.change, [StepTaken(step, row, after, way.key, comment, (), task.id, behalf)])

    def close(self, state: Task.State, comment: str) -> None:
        author, task = self.writer.author, self.task
        task.state, task.decision = state, comment
        task.decided_on, task.decider_id, task.decider_label = author.now, author.element, author.label
        task.stuck_on, task.stuck_reasons = None, []
        task.save()

    def log(self, step: Step, comment: str, assignee: UUID | None = None) -> None:
        row, task = self.current.row, self.task
        log_steps(self.writer.author, [StepTaken(step, row, row, task.transition, comment, (), task.id, assignee)])


def _locked(writer: Writer, task_id: UUID) -> Decision:
    """Return a task with its version, which is locked."""
    with as_caller():
        found = find_task(task_id)
    row = read_versions([str(found.version_id)]).get(str(found.version_id))
    if row is None:
        # Somebody has just deleted the version, and the task with it.
        raise NotFound(no_task(str(task_id)))
    current = lock_version(writer, row)
    return Decision(writer, find_task(task_id), current)


def no_task(task_id: str) -> str:
    return _("There is no task %(id)s.") % {"id": task_id}


def find_task(task_id: UUID) -> Task:
    found = Task.objects.filter(id=task_id).first()
    if found is None:
        raise NotFound(no_task(str(task_id)))
    return found


@whole_content()
def accept_task(
    writer: Writer, task_id: UUID, comment: str, *, ignore_warnings: bool = False, languages: str = ""
) -> Task:
    """Apply the requested transition and, if the end of the version is reached, expire it; log both steps.

    A waiting version takes its transition as soon as there are enough approvals. `languages` are those that the caller
    prefers for the warnings, as in Accept-Language.
    """
    decision = _locked(writer, task_id)
    task = decision.task
    decision.require_approver(_("Accepting a task"))
    decision.require_open()
    if task.round_id is not None:
        return _approve(decision, comment, ignore_warnings=ignore_warnings, languages=languages)
    transition = decision.transition()
    decision.close(Task.State.ACCEPTED, comment)
    write_steps(decision.change, _steps(decision, transition, comment))
    return task


def _approve(decision: Decision, comment: str, *, ignore_warnings: bool, languages: str) -> Task:
    task, caller, change = decision.task, decision.writer.caller, decision.change
    accepted = Task.objects.filter(version_id=task.version_id, round_id=task.round_id, state=Task.State.ACCEPTED)
    deciders = [(each.decider_id, each.decider_label) for each in accepted]
    if any(_is_decider(caller, *each) for each in deciders) and not administers(caller):
        raise Conflict(_("You have already accepted; the next approval must come from somebody else."))
    transition = decision.way_on()
    decision.close(Task.State.ACCEPTED, comment)
    if len(deciders) + 1 < task.approvals:
        decision.log(Step.APPROVAL, comment, decision.behalf)
        return task
    ignored = check(
        decision.current, transition, change.author.now, ignore_warnings=ignore_warnings, languages=languages
    )
    take_transition(change, decision.current.row, transition, comment, ignored, task, decision.behalf)
    return task


def _is_decider(caller: Caller, element: UUID | None, label: str) -> bool:
    return element == caller.element_id if element is not None else label == caller.label


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


@whole_content()
def reject_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """Close the task. The version stays as it is, but a waiting version is sent back."""
    decision = _locked(writer, task_id)
    decision.require_approver(_("Rejecting a task"))
    decision.require_open()
    decision.decline(Task.State.REJECTED, Step.REJECTION, comment, decision.behalf)
    return decision.task


@whole_content()
def withdraw_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """Close the task on behalf of the requester or an administrator. A waiting version is sent back."""
    decision = _locked(writer, task_id)
    decision.require_requester(_("Only the requester or an administrator can withdraw this."))
    decision.require_open()
    decision.decline(Task.State.WITHDRAWN, Step.WITHDRAWAL, comment)
    return decision.task


@whole_content()
def delegate_task(writer: Writer, task_id: UUID, comment: str, assignee: UUID) -> Task:
    """Assign the task to another user, who must be able to approve and must not be the requester."""
    decision = _locked(writer, task_id)
    decision.require_approver(_("Delegating a task"))
    decision.require_open()
    with as_caller():
        task, person = decision.task, find_person(assignee)
    if text := _assignee_problem(task, assignee, person) or _round_problem(task, assignee, _rounds([task])):
        raise _not_assignable(text, assignee)
    _assign([decision], comment, assignee)
    return task


@whole_content()
def delegate_tasks(writer: Writer, tasks: Sequence[Task], assignee: UUID) -> dict[str, list[str]]:
    """Assign open tasks, whose elements are locked, to another user; return the reasons of refusals by element.

    The number of statements does not depend on the number of tasks for administrators (D456).
    """
    versions = {str(each.version_id) for each in tasks}
    rows, related = read_versions(versions, with_attributes=False), read_references(versions, AUTHOR_CONTEXTS)
    person, rounds = find_person(assignee) if tasks else None, _rounds(tasks)
    denied = denied_on({str(each.element_id) for each in tasks})
    refused: dict[str, list[str]] = {}
    decided = []
    for task in tasks:
        version = str(task.version_id)
        row, held = rows[version], related.get(version, {})
        current = LifecycleVersion(writer.configuration, writer.caller, row, held, denied.get(row.element, NOTHING))
        decision = Decision(writer, task, current)
        try:
            decision.require_approver(_("Delegating a task"))
            if text := _assignee_problem(task, assignee, person) or _round_problem(task, assignee, rounds):
                raise _not_assignable(text, assignee)
        except Problem as problem:
            refused.setdefault(str(task.element_id), []).extend(problem.details)
        else:
            decided.append(decision)
            # The next task of the round sees this assignment.
            task.assignee_id = assignee
    _assign(decided, "", assignee)
    return refused


def _assign(decisions: Sequence[Decision], comment: str, assignee: UUID) -> None:
    changes: dict[str, Any] = {"assignee_id": assignee, "stuck_on": None, "stuck_reasons": []}
    for each in decisions:
        for name, value in changes.items():
            setattr(each.task, name, value)
    if decisions:
        Task.objects.filter(id__in=[each.task.id for each in decisions]).update(**changes)
        steps = [
            StepTaken(Step.DELEGATION, each.row, each.row, task.transition, comment, (), task.id, assignee)
            for each, task in ((decision.current, decision.task) for decision in decisions)
        ]
        log_steps(decisions[0].writer.author, steps)


def _not_assignable(problem: str, assignee: UUID) -> Invalid:
    return Invalid(placed("assignee", problem % {"type": USER_TYPE, "id": assignee}))


def _assignee_problem(task: Task, assignee: UUID, person: Person | None) -> str:
    if person is None:
        return _("there is no %(type)s %(id)s.")
    if not person.is_active:
        return _("the %(type)s %(id)s is inactive.")
    if not person.may_approve:
        return _("the %(type)s %(id)s has no role with the permission ApproveElement.")
    return _("the %(type)s %(id)s is the requester (four-eyes principle).") if assignee == task.requester_id else ""


def _rounds(tasks: Sequence[Task]) -> dict[UUID, list[Task]]:
    """Return all tasks of the rounds of these, by round; the given ones are the same objects."""
    own, found = {each.id: each for each in tasks}, dict[UUID, list[Task]]()
    wanted = {each.round_id for each in tasks if each.round_id}
    if wanted:
        for each in Task.objects.filter(version_id__in={each.version_id for each in tasks}, round_id__in=wanted):
            if each.round_id:
                found.setdefault(each.round_id, []).append(own.get(each.id, each))
    return found


def _round_problem(task: Task, assignee: UUID, rounds: Mapping[UUID, Sequence[Task]]) -> str:
    """Return why the round of the task cannot count this person once more."""
    for each in rounds.get(task.round_id, ()) if task.round_id else ():
        if each.id != task.id and each.state == Task.State.OPEN and each.assignee_id == assignee:
            return _("the %(type)s %(id)s already has an open task for this version.")
        if each.id != task.id and each.state == Task.State.ACCEPTED and each.decider_id == assignee:
            return _("the %(type)s %(id)s has already accepted this version.")
    return ""


@whole_content()
def remind_task(writer: Writer, task_id: UUID, comment: str) -> Task:
    """Remind the assignee: the log has the step, and its event becomes a message (D117)."""
    decision = _locked(writer, task_id)
    decision.require_requester(_("Only the requester or an administrator can remind."))
    decision.require_open()
    decision.log(Step.REMINDER, comment, decision.task.assignee_id)
    return decision.task
