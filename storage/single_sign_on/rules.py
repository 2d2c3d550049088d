"""Rules that map the claims of a person to roles in storages (D503). Pure: no database, no requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from storage.models import AccessRule
from storage.options import Role

Claims = Mapping[str, Any]
MOST_RULES = 200
MOST_VALUES = 500
LONGEST_VALUE = 1000


@dataclass(frozen=True, slots=True)
class Grant:
    """The access of a person to one storage. `user_attribute` and `user_value` find the user element."""

    storage_id: UUID
    roles: frozenset[Role]
    rules: tuple[int, ...]
    """Places of the rules that apply, from 1 on."""
    user_attribute: str = ""
    user_value: str = ""


def grants_of(rules: Iterable[AccessRule], claims: Claims) -> dict[UUID, Grant]:
    """Return what the rules grant, by storage. Roles of several rules add up; the first named user element counts."""
    found: dict[UUID, Grant] = {}
    for place, rule in enumerate(rules, start=1):
        if not applies(rule, claims):
            continue
        before = found.get(rule.storage_id) or Grant(rule.storage_id, frozenset(), ())
        attribute, value = before.user_attribute, before.user_value
        named = values_of(claims, rule.user_claim) if rule.user_claim and rule.user_attribute else []
        if not attribute and named:
            attribute, value = rule.user_attribute, named[0]
        roles = before.roles | {Role(role) for role in rule.roles}
        found[rule.storage_id] = Grant(rule.storage_id, roles, (*before.rules, place), attribute, value)
    return found


def applies(rule: AccessRule, claims: Claims) -> bool:
    values = values_of(claims, rule.claim)
    text = rule.value
    if rule.comparison == "any":
        return bool(values)
    if rule.comparison == "equals":
        return text in values
    if rule.comparison == "contains":
        return bool(text) and any(text in value for value in values)
    return rule.comparison == "pattern" and any(matches(text, value) for value in values)


def values_of(claims: Claims, name: str) -> list[str]:
    """Return the values of a claim as texts. A name with dots leads into nested claims, if no claim has this name."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    items = found if isinstance(found, list) else [found]
    return [text for each in items[:MOST_VALUES] if (text := _text(each))]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Texts that the database refuses look for no user element.
        return value[:LONGEST_VALUE].replace("\0", "").encode("utf-8", "replace").decode()
    return str(value) if isinstance(value, int | float) else ""


def matches(pattern: str, text: str) -> bool:
    """Tell whether a text matches a pattern in which `*` means any characters. Finds the parts one after the other."""
    first, *middle = pattern.split("*")
    if not middle:
        return text == first
    *middle, last = middle
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True
