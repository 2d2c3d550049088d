"""Who is to consent to what somebody asks for (D23), and whether they can."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import orjson

from elements.permissions import ROLE_PERMISSIONS, Permission
from elements.reading.rows import fetch
from elements.users import INACTIVE, ROLE_ATTRIBUTES, USER_TYPE
from release.models import Task
from storage.callers import Caller
from storage.cultures import INVARIANT_CULTURE
from storage.roles import Role

# Asked in this order; the first that is set is the approver.
APPROVING_CONTEXTS = ("owner", "reviewer", "qualityManager")
GROUPS = "userGroups"
APPROVING_ROLES = frozenset(role for role, granted in ROLE_PERMISSIONS.items() if Permission.APPROVE in granted)


def choose_approver(related: Mapping[str, Sequence[str]], requester: UUID | None) -> UUID | None:
    """None stands for every approver. Who asks is passed over: nobody consents to their own request (four eyes)."""
    for context in APPROVING_CONTEXTS:
        for target in related.get(context, ()):
            if UUID(target) != requester:
                return UUID(target)
    return None


def groups_of(element: UUID | None) -> set[UUID]:
    """The groups that a user is in."""
    if element is None:
        return set()
    sql = """SELECT r.target_id FROM elements_element e JOIN elements_reference r ON r.version_id = e.newest_id
        WHERE e.id = %s AND r.context = %s"""
    return {row[0] for row in fetch(sql, [element, GROUPS])}


def is_for(task: Task, caller: Caller) -> bool:
    """Whether a task waits for this caller among others."""
    if task.assignee_id is None:
        return True
    return task.assignee_id == caller.element_id or task.assignee_id in groups_of(caller.element_id)


def is_requester(task: Task, caller: Caller) -> bool:
    if task.requester_id is not None:
        return task.requester_id == caller.element_id
    return task.requester_label == caller.label


@dataclass(frozen=True, slots=True)
class Person:
    """A user element as an approver."""

    is_active: bool
    may_approve: bool


def find_person(element: UUID) -> Person | None:
    """None when there is no such user."""
    return read_people([element]).people.get(element)


@dataclass(slots=True)
class People:
    """The users among some elements, and the members of the groups among them."""

    people: dict[UUID, Person] = field(default_factory=dict)
    groups: dict[UUID, list[Person]] = field(default_factory=dict)

    def candidates(self, assignee: UUID) -> list[Person] | None:
        """Who could take a task that is given to this element; None when it is neither user nor group."""
        if assignee in self.people:
            return [self.people[assignee]]
        return self.groups.get(assignee)


def read_people(elements: Collection[UUID]) -> People:
    found = People()
    sql = """SELECT e.id, t.key, v.attributes FROM elements_element e JOIN facets_elementtype t ON t.id = e.type_id
        JOIN elements_elementversion v ON v.id = e.newest_id WHERE e.id = ANY(%s)"""
    for element, type, attributes in fetch(sql, [list(elements)]) if elements else ():
        if type == USER_TYPE:
            found.people[element] = _person(attributes)
        else:
            found.groups[element] = []
    sql = """SELECT r.target_id, v.attributes FROM elements_reference r
        JOIN elements_element e ON e.newest_id = r.version_id JOIN facets_elementtype t ON t.id = e.type_id
        JOIN elements_elementversion v ON v.id = e.newest_id
        WHERE r.target_id = ANY(%s) AND r.context = %s AND t.key = %s"""
    for group, attributes in fetch(sql, [list(found.groups), GROUPS, USER_TYPE]) if found.groups else ():
        found.groups[group].append(_person(attributes))
    return found


def _person(attributes: str) -> Person:
    values = orjson.loads(attributes)
    granted = {name for name, value in values.items() if value.get(str(INVARIANT_CULTURE)) is True}
    roles = {role for name, role in ROLE_ATTRIBUTES.items() if name in granted}
    return Person(INACTIVE not in granted, not roles.isdisjoint(APPROVING_ROLES))


def anybody_approves() -> bool:
    """Whether the storage has anybody who could take a task that is for every approver: a user, or a token."""
    tokens = """SELECT 1 FROM storage_apitoken t WHERE t.storage_id = current_setting('repository.storage')::uuid
        AND t.revoked_on IS NULL AND (t.valid_until IS NULL OR t.valid_until > now()) AND t.user_id IS NULL
        AND t.roles && %s::varchar[] LIMIT 1"""
    if fetch(tokens, [sorted(role.value for role in APPROVING_ROLES)]):
        return True
    users = """SELECT v.attributes FROM elements_element e JOIN facets_elementtype t ON t.id = e.type_id
        JOIN elements_elementversion v ON v.id = e.newest_id WHERE t.key = %s"""
    people = (_person(row[0]) for row in fetch(users, [USER_TYPE]))
    return any(each.is_active and each.may_approve for each in people)


def stuck_reasons(task: Task, people: People, limit: int, now: datetime, *, anybody: bool) -> list[Task.Stuck]:
    """Why nobody will take the task, or has taken it for too long; empty when all is well."""
    found = _approver_problem(None if task.assignee_id is None else people.candidates(task.assignee_id), task, anybody)
    overdue = now - task.requested_on > timedelta(days=limit)
    return [*found, *([Task.Stuck.OVERDUE] if overdue else [])]


def _approver_problem(candidates: Iterable[Person] | None, task: Task, anybody: bool) -> list[Task.Stuck]:
    if task.assignee_id is None:
        return [] if anybody else [Task.Stuck.MISSING]
    known = list(candidates or ())
    if not known:
        return [Task.Stuck.MISSING]
    if not any(each.is_active for each in known):
        return [Task.Stuck.INACTIVE]
    if not any(each.is_active and each.may_approve for each in known):
        return [Task.Stuck.NO_ROLE]
    return []


def administers(caller: Caller) -> bool:
    """May act for others, and consent to their own requests."""
    return Role.ADMINISTRATOR in caller.roles
