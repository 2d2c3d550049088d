"""Clearance of callers: the part of a configuration, and so of the content, that they see (D396 to D399).

A facet, type or property that callers must not see does not exist in their part of the configuration. Lists, views,
selection, filters, schemas, pages, reports, hints and the change feed all work on that part, so none of them has a rule
of its own. Code that finds content in other ways (by its id, by a reference, as an event) checks `closed`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType

from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Blueprint, ElementType, Facet, Property, View, ViewType
from facets.blueprint.private_content import PRIVATE, TOKEN_TYPE, TRACES, USER_TYPE
from facets.configuration import Configuration, compile_blueprint
from facets.permission_sets import Limits
from repository_site.core.database.statements import engine
from storage.access.callers import Caller
from storage.options import Role

# Parts for tokens that are limited to facets, which a configuration keeps; each takes as much memory as the whole.
MOST_LIMITED = 8


class Clearance(StrEnum):
    READER = "reader"
    """Viewers and anonymous readers."""
    COLLEAGUE = "colleague"
    """Every role above viewer, except administrator."""
    ADMINISTRATOR = "administrator"


HIDDEN: Mapping[Clearance, frozenset[str]] = {
    Clearance.READER: PRIVATE | TRACES,
    Clearance.COLLEAGUE: PRIVATE,
    Clearance.ADMINISTRATOR: frozenset(),
}

# Data types whose values the search index leaves out.
WITHOUT_WORDS = frozenset({DataType.BOOLEAN, DataType.INTEGER, DataType.DECIMAL, DataType.DATE, DataType.DATE_TIME})


def clearance_of(roles: Collection[Role]) -> Clearance:
    if Role.ADMINISTRATOR in roles:
        return Clearance.ADMINISTRATOR
    return Clearance.COLLEAGUE if any(role is not Role.VIEWER for role in roles) else Clearance.READER


def scope_limits() -> Limits | None:
    """Return what permission sets deny the caller of the scope (D490)."""
    found = engine().narrowing
    return found if isinstance(found, Limits) else None


def visible_to_caller(caller: Caller, whole: Configuration) -> Configuration:
    return visible_to(clearance_of(caller.roles), whole, caller.scope.facets)


def visible_to(clearance: Clearance, whole: Configuration, facets: frozenset[str] | None = None) -> Configuration:
    """Return the part of a configuration that a caller sees, optionally of some facets only (D489), and without the
    facets that permission sets hide from the caller of the scope (D490). It is made once and kept with the
    configuration."""
    limits = scope_limits()
    if limits is not None and limits.facets:
        known = frozenset(each.name for each in whole.blueprint.facets) if facets is None else facets
        facets = known - limits.facets
    if facets is not None:
        seen = _limited(clearance, whole, facets)
    elif clearance is Clearance.ADMINISTRATOR:
        return whole
    else:
        seen = whole.keep(("visible to", clearance), lambda: _Part(clearance, whole).configuration())
    # Storages with equal configurations share everything but the revision and the sets.
    return seen if seen.revision == whole.revision else replace(seen, revision=whole.revision, sets=whole.sets)


def _limited(clearance: Clearance, whole: Configuration, facets: frozenset[str]) -> Configuration:
    kept: dict[tuple[Clearance, frozenset[str]], Configuration] = whole.keep("limited to facets", dict)
    found = kept.get((clearance, facets))
    if found is None:
        if len(kept) >= MOST_LIMITED:
            kept.clear()
        found = kept[clearance, facets] = _Part(clearance, whole, facets).configuration()
    return found


class _Part:
    def __init__(self, clearance: Clearance, whole: Configuration, facets: frozenset[str] | None = None) -> None:
        self.clearance, self.whole, self.is_limited = clearance, whole, facets is not None
        is_reader = clearance is Clearance.READER
        self.facets = {
            each.name
            for each in whole.blueprint.facets
            if (each.for_readers or not is_reader) and (facets is None or each.name in facets)
        }
        is_administrator = clearance is Clearance.ADMINISTRATOR
        types = [
            each
            for each in whole.types.values()
            if each.facet in self.facets and (each.key != TOKEN_TYPE or is_administrator)
        ]
        self.types = {each.key for each in types}
        if is_reader:
            # A facet that had nothing but tokens.
            emptied = {each.facet for each in whole.types.values()} - {each.facet for each in types}
            self.facets -= emptied

    def configuration(self) -> Configuration:
        whole = self.whole
        ids = {key: row for key, row in whole.type_ids.items() if key in self.types}
        closed = {str(row): whole.types[key] for key, row in whole.type_ids.items() if key not in self.types}
        # Colleagues see which program has changed an element (D206).
        is_colleague = self.clearance is Clearance.COLLEAGUE
        seen = {row: type for row, type in closed.items() if is_colleague and type.facet in self.facets}
        named = {row: replace(type, properties=()) for row, type in seen.items()}
        part = compile_blueprint(whole.revision, whole.cultures, self._blueprint(), ids)
        users = frozenset({str(ids[USER_TYPE])} if USER_TYPE in ids else ())
        hidden = [each for each in self._properties_of_users() if each.key in HIDDEN[self.clearance]]
        has_texts = any(each.attribute and each.attribute.data_type not in WITHOUT_WORDS for each in hidden)
        return replace(
            part,
            closed=frozenset(closed),
            named=MappingProxyType(named),
            partial=users if hidden else frozenset(),
            hidden_texts=users if has_texts else frozenset(),
            sets=whole.sets,
        )

    def _properties_of_users(self) -> tuple[Property, ...]:
        users = self.whole.types.get(USER_TYPE)
        return users.properties if users else ()

    def _blueprint(self) -> Blueprint:
        types = tuple(self._type(each) for each in self.whole.blueprint.types if each.key in self.types)
        left = {type.key: {each.key for each in type.properties} for type in types}
        facets = (each for each in self.whole.blueprint.facets if each.name in self.facets)
        return replace(self.whole.blueprint, facets=tuple(self._facet(each, left) for each in facets), types=types)

    def _facet(self, facet: Facet, left: Mapping[str, Collection[str]]) -> Facet:
        return replace(facet, views=tuple(self._view(each, left) for each in facet.views))

    def _view(self, view: View, left: Mapping[str, Collection[str]]) -> View:
        def shown(each: ViewType) -> ViewType:
            return replace(each, properties=tuple(key for key in each.properties if key in left[each.type]))

        return replace(view, types=tuple(shown(each) for each in view.types if each.type in left))

    def _type(self, type: ElementType) -> ElementType:
        hidden = HIDDEN[self.clearance] if type.key == USER_TYPE else frozenset[str]()
        properties = (self._property(each) for each in type.properties if each.key not in hidden)
        return replace(
            type,
            parents=tuple(key for key in type.parents if key in self.types),
            insertables=tuple(key for key in type.insertables if key in self.types),
            properties=tuple(each for each in properties if each is not None),
        )

    def _property(self, property: Property) -> Property | None:
        """Leave out contexts that refer only to elements that the caller does not see, even by reference."""
        related = property.related
        is_colleague = self.clearance is Clearance.COLLEAGUE
        if related is None or (is_colleague and not self.is_limited):
            return property
        named = {TOKEN_TYPE} if is_colleague else set[str]()
        targets = tuple(key for key in related.types if key in self.types | named)
        if related.facet not in self.facets or (related.types and not targets):
            return None
        return replace(property, related=replace(related, types=targets))
