"""Limits of callers (D490): what permission sets hide from the caller of a scope, and what they deny."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from elements.permissions import Permission
from elements.users import groups_of
from facets.blueprint.definitions import ElementType
from facets.clearance import scope_limits
from facets.configuration import configuration_of
from facets.permission_sets import Limited, Limits, PermissionSets
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, ask, id_array, look_up
from repository_site.core.wording import GUID
from storage.extension import LimitedCaller
from storage.models import Storage
from storage.options import Role

PERMISSIONS = {
    Limited.SHOW: Permission.SHOW,
    Limited.OPEN: Permission.OPEN,
    Limited.EDIT: Permission.EDIT,
    Limited.CREATE: Permission.NEW,
    Limited.DELETE: Permission.DELETE,
    Limited.APPROVE: Permission.APPROVE,
}
NUMBERS = """SELECT i.id::text, i.set_number, i.facet_number FROM elements_inheritedset i
    WHERE i.id = ANY(%s::uuid[])"""
Denied = Mapping[str, frozenset[Permission]]
NOTHING: frozenset[Permission] = frozenset()


def limits_of(storage: Storage, find_caller: Callable[[], LimitedCaller | None]) -> Limits | None:
    """Return the limits of a caller; None if there are no sets, or for administrators. Call this in the scope."""
    if not configuration_of(storage).sets:
        return None
    caller = find_caller()
    # Visitors of a page without a caller are asked to sign in. Until then they are in no entry.
    return limits_of_person(storage, caller.element_id if caller else None, caller.roles if caller else ())


def limits_of_person(storage: Storage, user: UUID | None, roles: Collection[Role]) -> Limits | None:
    sets = configuration_of(storage).sets
    if not sets or Role.ADMINISTRATOR in roles:
        return None
    own = {str(user), *map(str, groups_of(user))} if user else set[str]()
    # Ids that no set names make no difference.
    return sets.limits_of(sets.grantees & own)


def denied_on(elements: Collection[str]) -> Denied:
    """Return what sets deny the caller of the scope, by element; elements without limits are missing."""
    return ask(denials_of(elements))


def denials_of(elements: Collection[str]) -> Question[Denied]:
    limits = scope_limits()

    def understand(rows: list[Row]) -> Denied:
        found = {element: limits.on((own, facet)) for element, own, facet in rows} if limits else {}
        return {element: frozenset(PERMISSIONS[each] for each in denied) for element, denied in found.items() if denied}

    return Question(NUMBERS if limits is not None and elements else "", [id_array(elements)], understand)


def numbers_of(elements: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return the numbers of the nearest set and of the set of the facet, by element; elements without sets are
    missing."""
    return {element: (own, facet) for element, own, facet in look_up(NUMBERS, [id_array(elements)])}


def hidden_among(elements: Collection[str]) -> set[str]:
    """Return those of some elements that the caller of the scope does not see."""
    return {element for element, denied in denied_on(elements).items() if Permission.OPEN in denied}


def denied_in_facet(sets: PermissionSets, type: ElementType) -> frozenset[Permission]:
    """Return what the set of a facet denies on new elements of a type."""
    limits, own = scope_limits(), sets.by_facet.get(type.facet)
    denied = limits.on([own.number]) if limits and own else ()
    return frozenset(PERMISSIONS[each] for each in denied)


def without_hidden(values: Sequence[Any]) -> list[Any]:
    """Return JSON values without the ids of elements that the caller of the scope does not see: they are left out of
    lists, with everything that is said of them there, and are null elsewhere."""
    limits = scope_limits()
    if limits is None or not limits.hidden:
        return list(values)
    hidden = hidden_among(set(_ids(values)))
    return [_pruned(each, hidden) for each in values] if hidden else list(values)


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from [value] if GUID.fullmatch(value) else ()
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _ids(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _ids(each)


def _pruned(value: Any, hidden: Collection[str]) -> Any:
    if isinstance(value, str):
        return None if value in hidden else value
    if isinstance(value, dict):
        return {name: _pruned(each, hidden) for name, each in value.items()}
    if isinstance(value, list):
        return [_pruned(each, hidden) for each in value if not _tells_of(each, hidden)]
    return value


def _tells_of(value: Any, hidden: Collection[str]) -> bool:
    held = value.values() if isinstance(value, dict) else [value]
    return any(isinstance(each, str) and each in hidden for each in held)
