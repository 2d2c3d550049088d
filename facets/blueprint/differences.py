"""Differences between two blueprints as readable lines, and those that could orphan stored content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from facets.blueprint.cycles import ReleaseCycle
from facets.blueprint.definitions import Blueprint, Property
from repository_site.core.problems import placed


@dataclass(frozen=True, slots=True)
class BlueprintDifference:
    """An addition (`+`), removal (`-`) or change (`~`). A change without values is a change of order."""

    sign: str
    path: tuple[str, ...]
    before: Any = None
    after: Any = None

    @property
    def is_order(self) -> bool:
        return self.sign == "~" and self.before is None and self.after is None

    def __str__(self) -> str:
        place = ".".join(self.path)
        if self.sign != "~":
            return f"{self.sign} {place}"
        if self.is_order:
            return placed(f"~ {place}", _("different order"))
        return f"~ {place}: {_shown(self.before)} -> {_shown(self.after)}"


def describe_differences(old: Blueprint, new: Blueprint) -> list[str]:
    return [str(each) for each in find_differences(old, new)]


def find_differences(old: Blueprint, new: Blueprint) -> list[BlueprintDifference]:
    return list(_compare(old, new, ()))


def _compare(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[BlueprintDifference]:
    for field in fields(old):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if before == after:
            continue
        here = (*path, field.name)
        if _is_named_list(before) or _is_named_list(after):
            yield from _compare_lists(before, after, here)
        elif is_dataclass(before) and is_dataclass(after):
            yield from _compare(before, after, here)
        elif is_dataclass(before) or is_dataclass(after):
            # An attribute becomes a related context, or the other way round.
            yield BlueprintDifference("-" if after is None else "+", here)
        else:
            # Two values of None would mean a change of order, so a missing value becomes an empty text.
            yield BlueprintDifference("~", here, "" if before is None else before, "" if after is None else after)


def _compare_lists(old: tuple[Any, ...], new: tuple[Any, ...], path: tuple[str, ...]) -> Iterator[BlueprintDifference]:
    before, after = {_name(item): item for item in old}, {_name(item): item for item in new}
    for name in before:
        if name not in after:
            yield BlueprintDifference("-", (*path, name))
    for name, item in after.items():
        if name not in before:
            yield BlueprintDifference("+", (*path, name))
        elif before[name] != item:
            yield from _compare(before[name], item, (*path, name))
    kept = [name for name in before if name in after]
    if kept != [name for name in after if name in before]:
        yield BlueprintDifference("~", path)


def _is_named_list(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and is_dataclass(value[0])


def _name(item: Any) -> str:
    for field in ("name", "key", "type"):
        if hasattr(item, field):
            return str(getattr(item, field) or _("(no key)"))
    raise TypeError(f"{item!r} has no name")


def _shown(value: Any) -> str:
    if value in (None, "", ()):
        return _("nothing")
    if isinstance(value, tuple) and isinstance(value[0], tuple):
        return "{" + ", ".join(f"{lcid}: {text!r}" for lcid, text in value) + "}"
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Hazard:
    """A change that could orphan stored content of a type, narrowed down by `property` and `value`, or by `state`.

    `what` is a translatable text in English.
    """

    what: str
    type: str
    property: str | None = None
    value: str | None = None
    state: str | None = None


def hazards(old: Blueprint, new: Blueprint) -> list[Hazard]:
    """Return the changes that could leave stored elements with a type, property or value that no longer exists."""
    found: list[Hazard] = []
    after = {each.key: each for each in new.types}
    old_cycles, new_cycles = ({each.key: each for each in found.cycles} for found in (old, new))
    for before in old.types:
        now = after.get(before.key)
        if now is None:
            found.append(Hazard(gettext_noop("the type is removed"), before.key))
            continue
        if now.facet != before.facet:
            found.append(Hazard(gettext_noop("the type moves to another facet"), before.key))
        if now.is_versioned != before.is_versioned:
            found.append(Hazard(gettext_noop("the type starts or stops having versions"), before.key))
        if before.has_diagram and not now.has_diagram:
            found.append(Hazard(gettext_noop("the type no longer has a diagram"), before.key))
        if now.lives_in_diagrams != before.lives_in_diagrams:
            found.append(Hazard(gettext_noop("the type starts or stops existing in diagrams only"), before.key))
        if before.is_versioned and now.is_versioned:
            found += _state_hazards(before.key, old_cycles[before.release_cycle], new_cycles[now.release_cycle])
        properties = {each.key: each for each in now.properties}
        for each in before.properties:
            found += _property_hazards(before.key, each, properties.get(each.key))
    return found


def _state_hazards(type_key: str, before: ReleaseCycle, now: ReleaseCycle) -> Iterator[Hazard]:
    kept = {each.key: each.category for each in now.states}
    for state in before.states:
        if state.key not in kept:
            yield Hazard(gettext_noop("the state is removed from its release cycle"), type_key, state=state.key)
        elif state.category is not kept[state.key]:
            yield Hazard(gettext_noop("the category of the state changes"), type_key, state=state.key)


def _property_hazards(type_key: str, before: Property, now: Property | None) -> Iterator[Hazard]:
    if now is None:
        yield Hazard(gettext_noop("the property is removed"), type_key, before.key)
        return
    if (before.attribute is None) != (now.attribute is None):
        yield Hazard(gettext_noop("the property changes between attribute and related context"), type_key, before.key)
        return
    if before.attribute and now.attribute:
        if before.attribute.data_type != now.attribute.data_type:
            yield Hazard(gettext_noop("the data type of the attribute changes"), type_key, before.key)
        if before.attribute.is_invariant_culture != now.attribute.is_invariant_culture:
            yield Hazard(
                gettext_noop("the attribute changes between one value for all cultures and one per culture"),
                type_key,
                before.key,
            )
        kept = {value.key for value in now.attribute.selectable_values}
        for value in before.attribute.selectable_values:
            if value.key is not None and value.key not in kept:
                yield Hazard(gettext_noop("the selectable value is removed"), type_key, before.key, value.key)
    if before.related and now.related and before.related.facet != now.related.facet:
        yield Hazard(gettext_noop("the related context refers to another facet"), type_key, before.key)
