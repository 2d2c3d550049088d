"""Hits of a search by facet, type and state: the filter that narrows them, and how many there are of each (D401)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from elements import derived
from elements.search.finding import Found, HitFilter
from facets.blueprint.definitions import ElementType

Types = Mapping[str, ElementType]
"""Types by the ids of their rows."""


@dataclass(frozen=True, slots=True)
class HitGroup:
    """Hits of one type in one state; types without a state have None."""

    type: ElementType
    state: str | None
    number: int


def hit_groups(types: Types, found: Found) -> Sequence[HitGroup]:
    return [HitGroup(types[row], derived.state1(types[row], state), number) for row, state, number in found.counts]


def hit_filter(types: Types, facets: Collection[str], keys: Collection[str], states: Collection[str]) -> HitFilter:
    """Return a filter by names of facets, keys of types, and states. An empty collection means all."""
    chosen = [
        row for row, each in types.items() if (not facets or each.facet in facets) and (not keys or each.key in keys)
    ]
    static = [row for row, each in types.items() if not each.is_versioned and each.static_state in states]
    return HitFilter(chosen if facets or keys else None, states or None, static)
