"""SQL conditions of bound filters (D13): they test an element in the database.

In the SQL, `e` is the element and `v` its version to test. A predicate that is NULL counts as false, and IS NOT TRUE
implements NOT, so that plain comparisons stay plain and can use indexes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from copy import copy
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.functional import cached_property

from elements import derived
from elements.filters import binding
from elements.filters.binding import AttributeValues, BoundExpression, ElementField, Values
from elements.filters.conditions import ALWAYS, Condition, all_of, any_of, exists, negation
from elements.filters.derived_values import DERIVED_ATTRIBUTES, DerivedAttributes, of_types
from elements.filters.probes import Filled, Passes, Probe
from elements.naming import NAME
from facets.blueprint.cycles import EVER_PUBLISHED
from facets.configuration import Configuration
from storage.localisation.cultures import INVARIANT_CULTURE

FILLED = Filled()
# Whether a value of an attribute can be the fallback for another culture (D482).
FIRST_FILLED = FILLED.json("y.value")


def _derived_cultures(values: AttributeValues) -> tuple[int, ...]:
    """Return the cultures of a derived attribute, which has the same values in every element."""
    if not values.first_only:
        return values.cultures
    return tuple(lcid for lcid in values.cultures if values.name != derived.AUTHOR_NOTE or derived.author_note(lcid))[
        :1
    ]


class FilterCompiler:
    """Compiles filters for one reader: `sees_drafts` and the `closed` and `hidden` types decide about the visible
    targets of references (D6, D396, D489)."""

    def __init__(
        self,
        configuration: Configuration,
        zone: ZoneInfo,
        storage_address: str,
        sees_drafts: bool,
        closed: Collection[str] = (),
        hidden: Collection[str] = (),
    ) -> None:
        self.configuration = configuration
        self.zone = zone
        self.sees_drafts = sees_drafts
        self.closed = closed
        self.hidden = hidden
        self.for_few = False
        self.derived = DerivedAttributes(configuration, storage_address)
        self.versioned = self.derived.versioned
        self.unversioned = configuration.types.keys() - self.versioned

    def compile(self, expression: BoundExpression) -> Condition:
        found = self.condition(expression)
        if not found.ways:
            return found
        few = copy(self)
        few.for_few = True
        return replace(found, of_few=few.condition(expression))

    def condition(self, expression: BoundExpression) -> Condition:
        match expression:
            case binding.BoundOr():
                return any_of(self.condition(each) for each in expression.operands)
            case binding.BoundAnd():
                return all_of(self.condition(each) for each in expression.operands)
            case binding.BoundNot():
                return negation(self.condition(expression.operand))
            case binding.IsNull():
                return negation(self.some(expression.values, FILLED, on_all_types=True))
            case binding.ValueTest():
                return self.some(expression.values, Passes(expression.kind, expression.test, self.zone))

    def some(self, values: Values, probe: Probe, *, on_all_types: bool = False) -> Condition:
        """Return the condition that the probe accepts one of the values, on elements of their types or of all types."""
        match values:
            case binding.FieldValue():
                return self.field(values.field, probe)
            case binding.TargetIds():
                types = self.holders.get((values.context, False), frozenset()) if on_all_types else values.types
                return self.targets(values.context, types, probe)
            case AttributeValues() | binding.AnyAttributeValues():
                each = (values,) if isinstance(values, AttributeValues) else values.attributes
                return self.attributes({one: self.types(one, on_all_types) for one in each}, probe)

    def types(self, values: AttributeValues, on_all_types: bool) -> Set[str]:
        """Reporting has attributes that no type is configured with, so these types always count."""
        return values.types | self.holders.get((values.name, True), frozenset()) if on_all_types else values.types

    @cached_property
    def holders(self) -> Mapping[tuple[str, bool], Set[str]]:
        """Return the types that have a property, by its name and whether it is an attribute."""
        found: dict[tuple[str, bool], set[str]] = {}
        for type in self.configuration.types.values():
            for each in type.properties:
                found.setdefault((each.key, each.attribute is not None), set()).add(type.key)
        return found

    def on(self, types: Iterable[str], *conditions: Condition) -> Condition:
        return all_of([of_types(self.configuration, types), *conditions])

    def field(self, field: ElementField, probe: Probe) -> Condition:
        types = self.configuration.types
        match field:
            case ElementField.ID:
                return probe.id("e.id")
            case ElementField.VERSION_ID:
                return self.on(self.versioned, probe.id("v.id"))
            case ElementField.CREATION_ID:
                return self.on(self.unversioned, probe.id("e.creation_id"))
            case ElementField.TYPE:
                return self.on(key for key in types if probe.constant(key))
            case ElementField.FACET_NAME:
                return self.on(key for key, type in types.items() if probe.constant(type.facet))
            case ElementField.STATE:
                return self.on(self.versioned, probe.text("NULLIF(v.state, '')"))
            case ElementField.STEREOTYPE:
                return probe.text("NULLIF(v.stereotype, '')")

    def targets(self, context: str, types: Set[str], probe: Probe) -> Condition:
        """Only targets that the reader can see count."""
        if context in derived.CALLERS:
            column = f"v.{derived.CALLERS[context]}"
            return self.on(types, probe.id(column), self.visible(column))
        if context == derived.RELEASE_HISTORY:
            return self.on(types & self.versioned, probe.id("e.id"), self.ever_released())
        named = Condition("r.version_id = v.id AND r.context = %s::text", (context,))
        found = all_of([named, probe.id("r.target_id"), self.visible("r.target_id")])
        return self.on(types, exists("elements_reference r", where=found))

    def visible(self, column: str) -> Condition:
        if self.sees_drafts:
            shown = Condition(f"t.id = {column} AND t.type_id <> ALL(%s::uuid[])", (sorted(self.hidden),))
            return exists("elements_element t", where=shown) if self.hidden else ALWAYS
        published = Condition(f"t.id = {column} AND t.published_id IS NOT NULL", ())
        if self.closed:
            published = all_of([published, Condition("t.type_id <> ALL(%s::uuid[])", (sorted(self.closed),))])
        return exists("elements_element t", where=published)

    def ever_released(self) -> Condition:
        """The release history refers to the element itself, once for each version that the reader can see."""
        released = "h.element_id = e.id AND (h.released_on IS NOT NULL OR h.category = ANY(%s::text[]))"
        seen = "" if self.sees_drafts else " AND h.id = e.published_id"
        return exists("elements_elementversion h", where=Condition(released + seen, (sorted(EVER_PUBLISHED),)))

    def attributes(self, values: Mapping[AttributeValues, Set[str]], probe: Probe) -> Condition:
        stored = {each: types for each, types in values.items() if each.name not in DERIVED_ATTRIBUTES}
        others = [
            self.derived.condition(each.name, _derived_cultures(each), types, probe)
            for each, types in values.items()
            if each.name in DERIVED_ATTRIBUTES
        ]
        found = self.stored_attribute if len(stored) == 1 else self.stored_attributes
        return any_of([found(stored, probe), *others])

    def stored_attribute(self, values: Mapping[AttributeValues, Set[str]], probe: Probe) -> Condition:
        """OFFSET 0 prevents PostgreSQL from merging the inner query, so that a long row of attributes is unpacked once
        for all cultures."""
        ((attribute, types),) = values.items()
        cultures = [str(lcid) for lcid in attribute.cultures]
        rows = ", ".join("(a.stored -> %s::text)" for _ in cultures)
        source, given = f"(VALUES {rows}) AS x(value)", (attribute.name, *cultures)
        if attribute.first_only:
            rows, filled = ", ".join(f"({place}, a.stored -> %s::text)" for place in range(len(cultures))), FIRST_FILLED
            source = f"(SELECT y.value FROM (VALUES {rows}) AS y(place, value) WHERE {filled.sql} ORDER BY y.place LIMIT 1) AS x"  # noqa: E501, S608  constants
            given += filled.parameters
        source = f"(SELECT v.attributes -> %s::text AS stored OFFSET 0) AS a, LATERAL {source}"
        found = exists(source, *given, where=probe.json("x.value"))
        whole = self.on(types, *self.named(attribute.name, probe), found)
        return whole.reached(probe.ways(in_name=attribute.name == NAME))

    def named(self, attribute: str, probe: Probe) -> list[Condition]:
        """For names, an index finds the candidates without reading all versions.

        With ways of the search index (D407), it only helps if these lead to many versions.
        """
        candidates = probe.folded("n.folded") if attribute == NAME else ALWAYS
        if candidates == ALWAYS or (self.for_few and probe.ways(in_name=True)):
            return []
        found = f"v.id IN (SELECT n.version_id FROM elements_versionname n WHERE {candidates.sql})"  # noqa: S608  constants
        return [Condition(found, candidates.parameters)]

    def stored_attributes(self, values: Mapping[AttributeValues, Set[str]], probe: Probe) -> Condition:
        """One pass over all stored values, regardless of the number of attributes; attributes that types share are
        listed once."""
        names: dict[tuple[frozenset[str], tuple[int, ...]], list[str]] = {}
        for each, types in values.items():
            names.setdefault((frozenset(types), each.cultures), []).append(each.name)
        order = next((each.cultures for each in values if each.first_only), ())
        meant = f"a.name = ANY(%s::text[]) AND {'y' if order else 'x'}.culture = ANY(%s::text[])"
        groups = any_of(
            self.on(types, Condition(meant, (keys, [str(lcid) for lcid in lcids])))
            for (types, lcids), keys in names.items()
        )
        # Repeated for the whole row, so that most attributes are skipped before their values are unpacked.
        named = Condition("a.name = ANY(%s::text[])", (sorted({each.name for each in values}),))
        source, given = "jsonb_each(a.stored) AS x(culture, value)", list[Any]()
        if order:
            # A value that depends on no culture counts in any case.
            invariant = Condition("y.culture = %s", (str(INVARIANT_CULTURE),))
            meant_and_filled = all_of([groups, any_of([invariant, FIRST_FILLED])])
            source = f"""(SELECT y.value FROM jsonb_each(a.stored) AS y(culture, value) WHERE {meant_and_filled.sql}
                ORDER BY array_position(%s::text[], y.culture) LIMIT 1) AS x"""  # noqa: S608  constants
            given, groups = [*meant_and_filled.parameters, [*map(str, order)]], ALWAYS
        source = f"jsonb_each(v.attributes) AS a(name, stored), LATERAL {source}"
        found = exists(source, *given, where=all_of([named, groups, probe.json("x.value")]))
        return all_of([probe.within("v.attributes::text"), found])
