"""Conditions on attributes that the server derives instead of storing them (`elements/derived.py`).

They are recognised by name and have the form of responses; templates cannot define them otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from itertools import groupby
from types import MappingProxyType

from elements import derived
from elements.filters.conditions import NEVER, Condition, all_of, any_of, exists
from elements.filters.probes import Probe
from facets.blueprint.cycles import OPEN, Category
from facets.configuration import Configuration
from storage.localisation.cultures import INVARIANT_CULTURE

TEXTS = MappingProxyType(
    {derived.VERSION: "(v.major::text || '.' || v.minor::text)", derived.STEREOTYPE: "NULLIF(v.stereotype, '')"}
)
NUMBERS = MappingProxyType({derived.MAJOR: "v.major", derived.MINOR: "v.minor"})
# On versioned types only.
TRUTHS = MappingProxyType(
    {
        derived.IS_RELEASED: Condition("v.category = %s", (Category.PUBLISHED.value,)),
        derived.RELEASED_OR_OPEN: Condition(
            "(v.id = coalesce(e.published_id, CASE WHEN v.category = ANY(%s::text[]) THEN e.newest_id END)) IS TRUE",
            (sorted(OPEN),),
        ),
        derived.OPEN_OR_RELEASED: Condition(
            "(v.id = coalesce((SELECT n.id FROM elements_elementversion n WHERE n.id = e.newest_id"
            " AND n.category = ANY(%s::text[])), e.published_id)) IS TRUE",
            (sorted(OPEN),),
        ),
    }
)
DERIVED_ATTRIBUTES = frozenset(
    {*derived.STAMPS, *TEXTS, *NUMBERS, *TRUTHS, derived.STATE, derived.PAGE_ADDRESS, derived.AUTHOR_NOTE}
)


def of_types(configuration: Configuration, keys: Iterable[str]) -> Condition:
    ids = [configuration.type_ids[key] for key in sorted(keys)]
    return Condition("e.type_id = ANY(%s::uuid[])", (ids,)) if ids else NEVER


class DerivedAttributes:
    def __init__(self, configuration: Configuration, storage_address: str) -> None:
        self.configuration = configuration
        self.storage_address = storage_address
        self.versioned = frozenset(key for key, type in configuration.types.items() if type.is_versioned)

    def condition(self, name: str, cultures: Collection[int], types: Set[str], probe: Probe) -> Condition:
        """Return the condition that the probe accepts a value of the attribute in one of the cultures, on elements of
        the types."""
        if name == derived.PAGE_ADDRESS:
            return self.page_address(cultures, types, probe)
        if name == derived.AUTHOR_NOTE:
            return self.author_note(cultures, types, probe)
        if INVARIANT_CULTURE not in cultures:
            return NEVER
        if name == derived.STATE:
            return self.state(types, probe)
        if name in TRUTHS:
            return self.on(types & self.versioned, probe.truth(TRUTHS[name]))
        if name in NUMBERS:
            return self.on(types, probe.number(NUMBERS[name]))
        if name in TEXTS:
            return self.on(types, probe.text(TEXTS[name]))
        return self.on(types, probe.instant(f"v.{derived.STAMPS[name]}"))

    def on(self, types: Iterable[str], condition: Condition) -> Condition:
        return all_of([of_types(self.configuration, types), condition])

    def state(self, types: Set[str], probe: Probe) -> Condition:
        """A column for versions; for a type without versions a constant, or no value."""
        fixed = {key: self.configuration.types[key].static_state for key in types - self.versioned}
        passing = [key for key, state in fixed.items() if state and probe.constant(state)]
        versions = self.on(types & self.versioned, probe.text("NULLIF(v.state, '')"))
        return any_of([versions, of_types(self.configuration, passing)])

    def page_address(self, cultures: Collection[int], types: Set[str], probe: Probe) -> Condition:
        condition = probe.text("(p.prefix || v.id::text)")
        lcids = [lcid for lcid in self.configuration.cultures.data if lcid in cultures]

        def facet(key: str) -> str:
            return self.configuration.types[key].facet

        return any_of(
            self.on(
                keys,
                exists(
                    "unnest(%s::text[]) AS p(prefix)",
                    [derived.page_prefix(self.storage_address, lcid, name) for lcid in lcids],
                    where=condition,
                ),
            )
            for name, keys in groupby(sorted(types, key=facet), facet)
        )

    def author_note(self, cultures: Collection[int], types: Set[str], probe: Probe) -> Condition:
        """A constant text on versions with authors, in contexts that the type has."""
        lcids = [lcid for lcid in self.configuration.cultures.data if lcid in cultures]
        if not any((note := derived.author_note(lcid)) and probe.constant(note) for lcid in lcids):
            return NEVER

        def contexts(key: str) -> list[str]:
            own = {each.key for each in self.configuration.types[key].properties if each.related}
            return sorted(own.intersection(derived.AUTHOR_CONTEXTS))

        named = "r.version_id = v.id AND r.context = ANY(%s::text[])"
        return any_of(
            self.on(keys, exists("elements_reference r", where=Condition(named, (names,))))
            for names, keys in groupby(sorted(types, key=contexts), contexts)
            if names
        )
