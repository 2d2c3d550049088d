"""The people who can decide tasks, and the rounds of tasks that are one request to them (D322)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db.models import QuerySet
from django.utils.functional import cached_property

from elements.people.addressees import read_addressees
from release.models import Task
from release.tasks.approvers import (
    APPROVING_ROLES,
    People,
    Person,
    read_accepted,
    read_approving_users,
    read_people,
)
from storage.messages.recipients import STAFF, user_key
from storage.models import Storage, StorageMembership


@dataclass
class Deciders:
    """The people who can decide tasks, read when the first task needs them."""

    storage: Storage
    tasks: Collection[Task]

    @cached_property
    def people(self) -> People:
        found = read_people({each.assignee_id for each in self.tasks if each.assignee_id})
        return found

    @cached_property
    def accepted(self) -> dict[UUID, set[UUID]]:
        return read_accepted(self.tasks)

    @cached_property
    def everybody(self) -> list[Person]:
        return read_approving_users()

    @cached_property
    def staff(self) -> list[str]:
        """Accounts without a user element that can sign in and approve."""
        members = StorageMembership.objects.filter(storage=self.storage, user_id=None).order_by("account_id")
        found = read_addressees(self.storage, [f"{STAFF}{each.account_id}" for each in members])
        return [key for key, person in found.items() if not APPROVING_ROLES.isdisjoint(person.roles)]

    def of(self, task: Task) -> list[str]:
        done = self.accepted.get(task.round_id, ()) if task.round_id else ()
        keys = [user_key(each.id) for each in self._candidates(task) if each.may_decide(task) and each.id not in done]
        others = self.staff if task.assignee_id is None else []
        return keys + [key for key in others if key != task.requester_label]

    def _candidates(self, task: Task) -> Sequence[Person]:
        if task.assignee_id is None:
            return self.everybody
        return [*self.people.candidates(task.assignee_id), *self.people.deputies.get(task.assignee_id, ())]


def cause_of_round(task: Task, what: str, alone: UUID) -> UUID:
    """Return the cause that the tasks of a round share, so that each person is told once; `alone` without a round."""
    return uuid5(NAMESPACE_OID, f"{task.round_id} {what}") if task.round_id else alone


def read_outcomes(tasks: Iterable[Task]) -> dict[UUID | None, str]:
    """Return the decisions of the rounds that are over, by round."""
    known: dict[UUID | None, Task] = {each.round_id: each for each in tasks if each.round_id}
    rows = _of_rounds(known.values()).values_list("round_id", "state") if known else ()
    states: dict[UUID | None, Counter[str]] = {}
    for round_id, state in rows:
        states.setdefault(round_id, Counter())[state] += 1
    return {id: _outcome(each, known[id].approvals) for id, each in states.items() if not each[Task.State.OPEN]}


def _outcome(states: Counter[str], approvals: int) -> str:
    for declined in (Task.State.REJECTED, Task.State.WITHDRAWN):
        if states[declined]:
            return declined.value
    return (Task.State.ACCEPTED if states[Task.State.ACCEPTED] >= approvals else Task.State.OBSOLETE).value


def find_open_tasks(storage: Storage, person: str, asked: Collection[str]) -> dict[str, str]:
    """Return the open tasks that a person can decide now, by the tasks in the messages of that person.

    It is another task of the round if somebody else has accepted the one in the message.
    """
    named = list(Task.objects.filter(id__in=asked)) if asked else []
    with_round = [each for each in named if each.round_id]
    others = _of_rounds(with_round).filter(state=Task.State.OPEN) if with_round else ()
    tasks = list({each.id: each for each in (*named, *others) if each.state == Task.State.OPEN}.values())
    deciders = Deciders(storage, tasks)
    own = [each for each in tasks if person in deciders.of(each)]
    ids = {each.id for each in own}
    rounds = {each.round_id: each.id for each in reversed(own)}
    found = {each.id: each.id if each.id in ids else rounds.get(each.round_id or each.id) for each in named}
    return {str(task): str(now) for task, now in found.items() if now}


def _of_rounds(tasks: Collection[Task]) -> QuerySet[Task]:
    """Return the tasks of the same rounds; the index has the versions."""
    rounds, versions = {each.round_id for each in tasks}, {each.version_id for each in tasks}
    return Task.objects.filter(version_id__in=versions, round_id__in=rounds).order_by("id")
