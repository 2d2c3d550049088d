"""Approvers of tasks (D23): choose them, and find out whether they can decide."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import orjson

from elements.permissions import ROLE_PERMISSIONS, Permission
from elements.users import GROUPS, grant_of, groups_of
from facets.blueprint.private_content import USER_TYPE
from release.models import Task
from repository_site.core.database.statements import Reading, ask_all, fetch, id_array, read, rows_of, side_by_side
from storage.access.callers import Caller
from storage.extension import UserGrant
from storage.options import Role

# In this order; the first context that is set names the approver.
APPROVING_CONTEXTS = ("owner", "reviewer", "qualityManager")
DEPUTIES = "deputies"
ELEMENTS = """FROM elements_element e JOIN facets_elementtype t ON t.id = e.type_id
    JOIN elements_elementversion v ON v.id = e.newest_id"""
APPROVING_ROLES = frozenset(role for role, granted in ROLE_PERMISSIONS.items() if Permission.APPROVE in granted)


def choose_approver(related: Mapping[str, Sequence[str]], requester: UUID | None) -> UUID | None:
    """Return the approver other than the requester (four-eyes principle); None means every approver."""
    for context in APPROVING_CONTEXTS:
        for target in related.get(context, ()):
            if UUID(target) != requester:
                return UUID(target)
    return None


def is_for(task: Task, caller: Caller) -> bool:
    """Return whether this caller is among the assignees. The requester never is (four-eyes principle)."""
    if is_requester(task, caller):
        return False
    if task.assignee_id is None:
        return True
    return task.assignee_id == caller.element_id or task.assignee_id in groups_of(caller.element_id)


def are_for(tasks: Collection[Task], caller: Caller) -> bool:
    """Return whether this caller is among the assignees of all these tasks, with at most one statement."""
    own = {None, caller.element_id, *groups_of(caller.element_id)}
    return all(each.assignee_id in own and not is_requester(each, caller) for each in tasks)


def is_deputy(task: Task, caller: Caller) -> bool:
    """Return whether this caller is a deputy of the assignee."""
    return not is_requester(task, caller) and task.assignee_id in represented_by(caller.element_id)


def represented_by(element: UUID | None) -> set[UUID]:
    """Return the users who name this one as a deputy."""
    if element is None:
        return set()
    sql = """SELECT e.id FROM elements_reference r JOIN elements_element e ON e.newest_id = r.version_id
        WHERE r.target_id = %s AND r.context = %s"""
    return {row[0] for row in fetch(sql, [element, DEPUTIES])}


def is_requester(task: Task, caller: Caller) -> bool:
    if task.requester_id is not None:
        return task.requester_id == caller.element_id
    return task.requester_label == caller.label


def administers(caller: Caller) -> bool:
    """Return whether the caller can act for others and accept their own requests."""
    return Role.ADMINISTRATOR in caller.roles


@dataclass(frozen=True, slots=True)
class Person:
    id: UUID
    is_active: bool
    may_approve: bool
    is_administrator: bool

    def may_decide(self, task: Task) -> bool:
        return self.is_active and self.may_approve and (self.id != task.requester_id or self.is_administrator)


def _person(element: UUID, grant: UserGrant) -> Person:
    return Person(
        element,
        is_active=not grant.is_inactive,
        may_approve=not grant.roles.isdisjoint(APPROVING_ROLES),
        is_administrator=Role.ADMINISTRATOR in grant.roles,
    )


def find_person(element: UUID) -> Person | None:
    return read_people([element]).users.get(element)


@dataclass(slots=True)
class People:
    """The users among some elements, and the members of the groups among them."""

    users: dict[UUID, Person] = field(default_factory=dict)
    groups: dict[UUID, list[Person]] = field(default_factory=dict)
    deputies: dict[UUID, list[Person]] = field(default_factory=dict)
    """Deputies of those users who cannot decide themselves."""

    def candidates(self, assignee: UUID) -> list[Person]:
        return [self.users[assignee]] if assignee in self.users else self.groups.get(assignee, [])


def read_people(elements: Collection[UUID]) -> People:
    return read(reading_people(elements))


def reading_people(elements: Collection[UUID]) -> Reading[People]:
    found = People()
    sql = f"SELECT e.id, t.key, v.attributes::text {ELEMENTS} WHERE e.id = ANY(%s::uuid[])"
    for element, type, attributes in (yield from rows_of(sql if elements else "", [_ids(elements)])):
        if type == USER_TYPE:
            found.users[element] = _person(element, grant_of(orjson.loads(attributes)))
        else:
            found.groups[element] = []
    members = f"""SELECT r.target_id, e.id, v.attributes::text {ELEMENTS}
        JOIN elements_reference r ON r.version_id = v.id
        WHERE r.target_id = ANY(%s::uuid[]) AND r.context = %s AND t.key = %s"""
    groups = rows_of(members if found.groups else "", [_ids(found.groups), GROUPS, USER_TYPE])
    in_groups, _ = yield from side_by_side(groups, reading_deputies(found))
    for group, element, attributes in in_groups:
        found.groups[group].append(_person(element, grant_of(orjson.loads(attributes))))
    return found


def reading_deputies(people: People) -> Reading[None]:
    """Add the deputies of the users who cannot decide, which takes a statement only if there are such users."""
    absent = [each.id for each in people.users.values() if not (each.is_active and each.may_approve)]
    sql = f"""SELECT o.id, e.id, v.attributes::text {ELEMENTS} JOIN elements_reference r ON r.target_id = e.id
        JOIN elements_element o ON o.newest_id = r.version_id
        WHERE o.id = ANY(%s::uuid[]) AND r.context = %s AND t.key = %s"""
    for user, element, attributes in (yield from rows_of(sql if absent else "", [_ids(absent), DEPUTIES, USER_TYPE])):
        people.deputies.setdefault(user, []).append(_person(element, grant_of(orjson.loads(attributes))))


def _ids(elements: Iterable[UUID]) -> str:
    return id_array(map(str, elements))


def reading_approvers() -> Reading[list[Person]]:
    """Return everyone who could decide a task for every approver: users, and tokens without a user."""
    tokens = """SELECT t.id, t.roles FROM storage_apitoken t
        WHERE t.storage_id = current_setting('repository.storage')::uuid AND t.user_id IS NULL AND t.revoked_on IS NULL
          AND t.valid_from <= now() AND (t.valid_until IS NULL OR t.valid_until > now())"""
    own, users = yield from side_by_side(rows_of(tokens, ()), reading_approving_users())
    found = [_person(token, UserGrant(frozenset(map(Role, roles)), is_inactive=False)) for token, roles in own]
    return [*(each for each in found if each.is_active and each.may_approve), *users]


def read_approving_users() -> list[Person]:
    """Return the users to whom a task can be assigned."""
    return read(reading_approving_users())


def reading_approving_users() -> Reading[list[Person]]:
    users = yield from rows_of(f"SELECT e.id, v.attributes::text {ELEMENTS} WHERE t.key = %s", [USER_TYPE])
    found = [_person(element, grant_of(orjson.loads(held))) for element, held in users]
    return [each for each in found if each.is_active and each.may_approve]


@dataclass(frozen=True, slots=True)
class ApproverLookup:
    """The possible deciders of some open tasks at one moment, to find the reasons why a task is stuck."""

    people: People
    approvers: Sequence[Person]
    accepted: Mapping[UUID, Collection[UUID]]
    """People who have accepted, by the round of tasks: the next approval must come from somebody else."""
    limit: int
    now: datetime

    def reasons(self, task: Task) -> list[Task.Stuck]:
        """Return why nobody can decide a task, or that it is overdue; empty if it is decided or not stuck."""
        if task.state != Task.State.OPEN:
            return []
        candidates = self.approvers if task.assignee_id is None else self.people.candidates(task.assignee_id)
        deputies = self.people.deputies.get(task.assignee_id, ()) if task.assignee_id else ()
        is_decidable = any(self._may_decide(each, task) for each in (*candidates, *deputies))
        found = None if is_decidable else _approver_problem(candidates)
        overdue = self.now > due_date(task, self.limit)
        return [*([found] if found else []), *([Task.Stuck.OVERDUE] if overdue else [])]

    def _may_decide(self, person: Person, task: Task) -> bool:
        accepted = self.accepted.get(task.round_id, ()) if task.round_id else ()
        return person.may_decide(task) and (person.id not in accepted or person.is_administrator)


def due_date(task: Task, usual_days: int) -> datetime:
    return task.due_on or task.requested_on + timedelta(days=usual_days)


def look_up_approvers(tasks: Collection[Task], limit: int, now: datetime) -> ApproverLookup:
    """Look up the approvers of any number of tasks, in two rounds."""
    return read(reading_lookup(tasks, limit, now))


def reading_lookup(tasks: Collection[Task], limit: int, now: datetime) -> Reading[ApproverLookup]:
    is_for_everybody = any(each.assignee_id is None for each in tasks)
    people, approvers, accepted = yield from side_by_side(
        reading_people({each.assignee_id for each in tasks if each.assignee_id}),
        reading_approvers() if is_for_everybody else ask_all(),
        reading_accepted(tasks),
    )
    return ApproverLookup(people, approvers, accepted, limit, now)


def read_accepted(tasks: Collection[Task]) -> dict[UUID, set[UUID]]:
    """Return the people who have accepted in the rounds of open tasks with several approvals, by round."""
    return read(reading_accepted(tasks))


def reading_accepted(tasks: Collection[Task]) -> Reading[dict[UUID, set[UUID]]]:
    several = [each for each in tasks if each.round_id and each.approvals > 1 and each.state == Task.State.OPEN]
    found: dict[UUID, set[UUID]] = {}
    if several:
        sql = """SELECT t.round_id, t.decider_id FROM release_task t WHERE t.version_id = ANY(%s::uuid[])
            AND t.state = %s AND t.round_id IS NOT NULL"""
        versions = _ids({each.version_id for each in several})
        for round_id, person in (yield from rows_of(sql, [versions, Task.State.ACCEPTED.value])):
            if person:
                found.setdefault(round_id, set()).add(person)
    return found


def _approver_problem(candidates: Collection[Person]) -> Task.Stuck:
    active = [each for each in candidates if each.is_active]
    if candidates and not active:
        return Task.Stuck.INACTIVE
    if active and not any(each.may_approve for each in active):
        return Task.Stuck.NO_ROLE
    # Nobody, or only the requester and people who have accepted.
    return Task.Stuck.MISSING
