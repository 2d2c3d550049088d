"""Portions of a storage: a page whose filter no index answers tests a bounded number of versions (D650)."""

from __future__ import annotations

from dataclasses import dataclass

from elements.filters.conditions import ALWAYS, Condition, all_of
from repository_site.core.database.statements import fetch

# The name of the version where the portion begins, and the version where it ends.
BOUNDS = """SELECT {start}, u.sort_name, u.id FROM (SELECT 1) one LEFT JOIN LATERAL (
    SELECT v.sort_name, v.id::text AS id FROM elements_elementversion v {after}
        ORDER BY v.sort_name {direction}, v.id {direction} OFFSET %s LIMIT 1) u ON TRUE"""
START = "(SELECT w.sort_name FROM elements_elementversion w WHERE w.id = %s::uuid)"


@dataclass(frozen=True, slots=True)
class NameKey:
    """A version in the order of names. The id decides between equal names."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Portion:
    """Versions in the order of their names, after one of them and up to another one. None is the beginning or the end.

    The bounds are those of an index, whatever the filter is: a limit on matches would read all versions to find none.
    """

    most: int
    after: NameKey | None
    until: NameKey | None
    is_descending: bool = False

    def condition(self, version: str) -> Condition:
        """Return the condition that a version is in the portion, for a table with this name."""
        later, earlier = ("<", ">=") if self.is_descending else (">", "<=")
        bounds = ((later, self.after), (earlier, self.until))
        return all_of(_compared(version, sign, place) if place else ALWAYS for sign, place in bounds)


def read_portion(most: int, after: str | None, *, is_descending: bool = False) -> Portion:
    """Return the portion of at most so many versions after one of them. If that version no
    longer exists, return the first portion."""
    sign, direction = ("<", "DESC") if is_descending else (">", "ASC")
    start, condition, given = "NULL", "", list[object]()
    if after:
        start, condition = START, f"WHERE (v.sort_name, v.id) {sign} ({START}, %s::uuid)"
        given = [after, after, after]
    sql = BOUNDS.format(start=start, after=condition, direction=direction)
    [[name, until, version]] = fetch(sql, [*given, most - 1])
    if after and name is None:
        return read_portion(most, None, is_descending=is_descending)
    end = NameKey(until, version) if version else None
    return Portion(most, NameKey(name, after) if after else None, end, is_descending)


def _compared(version: str, sign: str, place: NameKey) -> Condition:
    # PostgreSQL cannot estimate a comparison of rows, and would read the whole table.
    estimated = f"{version}.sort_name {sign[0]}= %s"
    sql = f"({estimated} AND ({version}.sort_name, {version}.id) {sign} (%s, %s::uuid))"
    return Condition(sql, (place.name, place.name, place.version))
