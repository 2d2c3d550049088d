"""SQL conditions and their combination. NULL counts as false, so missing values need no special care."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean SQL expression with %s for each parameter. The text contains constants only."""

    sql: str
    parameters: tuple[Any, ...]


ALWAYS = Condition("TRUE", ())
NEVER = Condition("FALSE", ())


def all_of(conditions: Iterable[Condition]) -> Condition:
    parts = [each for each in conditions if each != ALWAYS]
    return NEVER if NEVER in parts else _joined(" AND ", parts, ALWAYS)


def any_of(conditions: Iterable[Condition]) -> Condition:
    parts = [each for each in conditions if each != NEVER]
    return ALWAYS if ALWAYS in parts else _joined(" OR ", parts, NEVER)


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


def _joined(joint: str, parts: list[Condition], none: Condition) -> Condition:
    if len(parts) < 2:
        return parts[0] if parts else none
    parameters = tuple(value for each in parts for value in each.parameters)
    return Condition(joint.join(f"({each.sql})" for each in parts), parameters)
