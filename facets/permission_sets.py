"""Permission sets as values: which sets apply, and what they deny a caller (D490).

Pure rules. The sets of a storage are compiled with its configuration; `elements/permission_sets/` finds the sets of an
element and the groups of a caller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import SimpleNamespace

from django.utils.functional import cached_property

from repository_site.core.database.narrowing import Narrowing

EXTEND, REPLACE, STOP = MODES = "extend", "replace", "stop"
# Sets of a storage, and users and groups of a set.
MOST_SETS, MOST_GRANTEES = 5_000, 500
NONE = 0
"""The number of no set."""
# Bits beyond the known sets. They are hidden, and a statement that sees a newer set has no bit out of range.
SPARE_BITS = 1_024
MOST_KEPT = 1_000


class Limited(StrEnum):
    """A permission that sets can limit."""

    SHOW = "show"
    OPEN = "open"
    EDIT = "edit"
    CREATE = "create"
    DELETE = "delete"
    APPROVE = "approve"


EVERYTHING = frozenset(Limited)


@dataclass(frozen=True, slots=True)
class StoredSet:
    """A set of an element, by its creation id, or of a facet, by its name. `entries` are ids of users and groups;
    `outer` is the number of the nearest set above."""

    id: str
    number: int
    element: str | None
    facet: str | None
    mode: str
    entries: Mapping[str, Sequence[str]]
    outer: int = NONE


@dataclass(frozen=True)
class Limits(Narrowing):
    """The limits of one caller: denied permissions by number of a set."""

    denied: Mapping[int, frozenset[Limited]] = field(default_factory=dict)
    facets: frozenset[str] = frozenset()
    """Names of the facets that the caller does not see."""

    def on(self, numbers: Iterable[int]) -> frozenset[Limited]:
        """Return what sets deny together."""
        return frozenset[Limited]().union(*(self.denied.get(each, EVERYTHING) for each in numbers if each))


class PermissionSets:
    """The sets of a storage. Nothing changes them."""

    def __init__(self, sets: Iterable[StoredSet] = ()) -> None:
        self.by_number = {each.number: each for each in sets}
        self._known: dict[frozenset[str], Limits] = {}

    def __bool__(self) -> bool:
        return bool(self.by_number)

    @cached_property
    def by_element(self) -> Mapping[str, StoredSet]:
        return {each.element: each for each in self.by_number.values() if each.element}

    @cached_property
    def by_facet(self) -> Mapping[str, StoredSet]:
        return {each.facet: each for each in self.by_number.values() if each.facet}

    @cached_property
    def grantees(self) -> frozenset[str]:
        """The users and groups that sets name."""
        return frozenset(id for each in self.by_number.values() for ids in each.entries.values() for id in ids)

    def above(self, number: int) -> Iterator[StoredSet]:
        """Yield a set and all sets above it, the nearest first."""
        seen: set[int] = set()
        while number in self.by_number and number not in seen:
            seen.add(number)
            yield self.by_number[number]
            number = self.by_number[number].outer

    def chain(self, number: int) -> list[StoredSet]:
        """Return the sets whose entries apply together, the nearest first."""
        found: list[StoredSet] = []
        for each in self.above(number):
            found.append(each)
            if each.mode != EXTEND:
                break
        return found

    def granted(self, number: int, permission: Limited) -> frozenset[str] | None:
        """Return the users and groups that a set and those above it name for a permission; None if it is not
        limited."""
        ids = {id for each in self.chain(number) if each.mode != STOP for id in each.entries.get(permission, ())}
        return frozenset(ids) or None

    def denied(self, number: int, own: Collection[str]) -> frozenset[Limited]:
        """Return what a set denies to the owner of these ids: a user and the groups of that user."""
        found = {each for each in Limited if (ids := self.granted(number, each)) is not None and ids.isdisjoint(own)}
        if found & {Limited.SHOW, Limited.OPEN}:
            # Callers who cannot open an element cannot change it either.
            found |= EVERYTHING - {Limited.SHOW}
        return frozenset(found)

    def limits_of(self, own: frozenset[str]) -> Limits:
        if own not in self._known:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            self._known[own] = self._limits(own)
        return self._known[own]

    def _limits(self, own: Collection[str]) -> Limits:
        denied = {number: self.denied(number, own) for number in self.by_number}
        hidden = {number for number, each in denied.items() if Limited.OPEN in each}
        facets = frozenset(each.facet for each in self.by_number.values() if each.facet and each.number in hidden)
        # Rows of deleted elements can have the number of a set that was removed.
        shown = denied.keys() - hidden | {NONE}
        bits = ["0" if number in shown else "1" for number in range(max(self.by_number, default=0) + 1)]
        return Limits("".join(bits) + "1" * SPARE_BITS if hidden else "", denied, facets)


NO_SETS = PermissionSets()


def read_sets(rows: Iterable[SimpleNamespace], facets: Mapping[str, str]) -> PermissionSets:
    """Return the sets of rows of `PermissionSet`. `facets` are names by id; the set of a deleted facet limits
    nothing."""
    sets = [
        StoredSet(
            each.id,
            each.number,
            each.creation_id,
            facets[each.facet_id] if each.facet_id else None,
            each.mode,
            each.entries,
            each.outer_number,
        )
        for each in rows
        if each.facet_id is None or each.facet_id in facets
    ]
    return PermissionSets(sets) if sets else NO_SETS
