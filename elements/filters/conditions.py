"""SQL conditions and their combination. NULL counts as false, so missing values need no special care."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from elements.filters.clues import Way, best_ways, joint_way


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean SQL expression with %s for each parameter. The text contains constants only."""

    sql: str
    parameters: tuple[Any, ...]
    ways: tuple[Way, ...] = ()
    """Ways of the search index to the matches, best first (D406)."""
    of_few: Condition | None = None
    """The same condition, to be tested on few versions that were found by one of the ways."""

    def reached(self, ways: tuple[Way, ...]) -> Condition:
        return self if self == NEVER else replace(self, ways=ways)


ALWAYS = Condition("TRUE", ())
NEVER = Condition("FALSE", ())


def all_of(conditions: Iterable[Condition]) -> Condition:
    parts = [each for each in conditions if each != ALWAYS]
    if NEVER in parts:
        return NEVER
    return _joined(" AND ", parts, ALWAYS, best_ways(way for each in parts for way in each.ways))


def any_of(conditions: Iterable[Condition]) -> Condition:
    parts = [each for each in conditions if each != NEVER]
    if ALWAYS in parts:
        return ALWAYS
    return _joined(" OR ", parts, NEVER, joint_way([each.ways for each in parts]))


def negation(condition: Condition) -> Condition:
    """True where the condition is false or NULL."""
    if condition in (ALWAYS, NEVER):
        return NEVER if condition == ALWAYS else ALWAYS
    return Condition(f"({condition.sql}) IS NOT TRUE", condition.parameters)


def exists(rows: str, *parameters: Any, where: Condition) -> Condition:
    """Return the condition that one of the rows meets a condition. `rows` is the text after FROM."""
    if where == NEVER:
        return NEVER
    return Condition(f"EXISTS (SELECT FROM {rows} WHERE {where.sql})", (*parameters, *where.parameters))


def _joined(joint: str, parts: list[Condition], none: Condition, ways: tuple[Way, ...]) -> Condition:
    if len(parts) < 2:
        return parts[0] if parts else none
    parameters = tuple(value for each in parts for value in each.parameters)
    return Condition(joint.join(f"({each.sql})" for each in parts), parameters, ways)
