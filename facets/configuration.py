"""The compiled configuration of a storage: immutable, and cached in each process for all hot paths.

The cache key is the revision of the storage. A database trigger replaces it with every change of a configuration
row, and each request reads it with the statement that enters its scope (D207). All workers see a change on their next
request, and no request queries configuration tables in between.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar, cast
from uuid import UUID
from weakref import WeakValueDictionary

from django.utils.translation import gettext as _

from facets.blueprint.cycles import Category, ReleaseCycle, State, Transition
from facets.blueprint.definitions import Blueprint, ElementType, Facet, LayoutDefinition, Property, View, ViewType
from facets.permission_sets import NO_SETS, PermissionSets
from facets.rows.reading import read_rows
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, ask
from repository_site.core.problems import NotFound
from repository_site.core.wording import similar_hint
from storage.localisation.cultures import CultureSet
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

T = TypeVar("T")
# Limits of the cache: storages, and configurations that differ, which take about a megabyte each. The least recently
# used go first.
MAX_CACHED = 10_000
MAX_DIFFERENT = 256


@dataclass(frozen=True, slots=True)
class TypeInView:
    """A type as a view shows it, with properties in the order of the view and the layouts that it offers."""

    type: ElementType
    is_root: bool
    properties: Mapping[str, Property]
    layouts: tuple[LayoutDefinition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledView:
    view: View
    facet: Facet
    """Not the compiled facet: a reference cycle would stay in memory until the garbage collector finds it."""
    types: Mapping[str, TypeInView]
    _folded: Mapping[str, TypeInView]

    def type(self, key: str) -> TypeInView:
        """Find by name or key, ignoring letter case (D1)."""
        found = self._folded.get(key.casefold())
        if found is None:
            words = {"key": key, "view": self.view.name, "facet": self.facet.name}
            text = _("There is no type %(key)s in the view %(view)s of the facet %(facet)s.") % words
            raise _not_found(text, key, self.types)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class CompiledFacet:
    facet: Facet
    views: Mapping[str, CompiledView]
    """By name in lower case."""

    def view(self, name: str) -> CompiledView:
        found = self.views.get(name.casefold())
        if found is None:
            text = _("There is no view %(view)s in the facet %(facet)s.") % {"view": name, "facet": self.facet.name}
            raise _not_found(text, name, (each.name for each in self.facet.views))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class CompiledCycle:
    cycle: ReleaseCycle
    categories: Mapping[str, Category]
    """By the key of a state."""
    _folded: Mapping[str, Transition]
    waiting: Mapping[str, State]
    """The states whose versions wait for a task."""

    @property
    def first_state(self) -> str:
        return self._first(Category.DRAFT)

    @property
    def published_state(self) -> str:
        return self._first(Category.PUBLISHED)

    @property
    def retired_state(self) -> str:
        return self._first(Category.RETIRED)

    def _first(self, category: Category) -> str:
        return next(state for state, each in self.categories.items() if each is category)

    def transition(self, key: str) -> Transition:
        """Find by name or key, ignoring letter case (D1)."""
        found = self._folded.get(key.casefold())
        if found is None:
            known = ", ".join(each.key for each in self.cycle.transitions) or _("none")
            text = _("There is no transition %(key)r in the release cycle %(cycle)s; it has %(known)s.")
            raise NotFound(text % {"key": key[:100], "cycle": self.cycle.key, "known": known})
        return found

    def enters_published(self, transition: Transition) -> bool:
        """Return whether the transition makes a release: from draft or review to published (D21)."""
        return (
            self.categories[transition.target] is Category.PUBLISHED
            and self.categories[transition.source] is not Category.PUBLISHED
        )


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Configuration:
    """A compiled configuration.

    Storages with equal configurations share everything but the revision, so a process keeps one copy for a thousand
    storages from the same template.
    """

    revision: int
    cultures: CultureSet
    blueprint: Blueprint
    facets: Mapping[str, CompiledFacet]
    types: Mapping[str, ElementType]
    type_ids: Mapping[str, UUID]
    cycles: Mapping[str, CompiledCycle]
    """By the key of a versioned type."""
    closed: frozenset[str] = frozenset()
    """Ids of the types whose elements this part of a configuration does not show (D396)."""
    named: Mapping[str, ElementType] = field(default_factory=lambda: MappingProxyType({}))
    """Those of them that references still name, by id."""
    partial: frozenset[str] = frozenset()
    """Ids of the types of which this part does not show every property (D398)."""
    hidden_texts: frozenset[str] = frozenset()
    """Those of them that have texts in a property that this part does not show (D390)."""
    sets: PermissionSets = field(default=NO_SETS, repr=False)
    """Permission sets of the storage (D490); storages with equal configurations do not share them."""
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _original: Configuration | None = field(default=None, repr=False)
    """The first of equal configurations, kept alive by the others."""

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value that depends on this configuration alone, such as a whole answer; make it on first use.

        It must not depend on anything else of the storage, such as its address, nor on the revision.
        """
        if key not in self._kept:
            self._kept[key] = make()
        return cast("T", self._kept[key])

    @property
    def hidden(self) -> frozenset[str]:
        """Ids of the types whose elements are not even shown as references."""
        return self.keep("hidden", lambda: self.closed.difference(self.named))

    @property
    def types_by_id(self) -> Mapping[str, ElementType]:
        return self.keep(
            "types by id", lambda: {**self.named, **{str(row): self.types[key] for key, row in self.type_ids.items()}}
        )

    @property
    def living_in_diagrams(self) -> Sequence[str]:
        types = self.types_by_id
        return self.keep("in diagrams", lambda: [row for row, type in types.items() if type.lives_in_diagrams])

    def category(self, type: ElementType, state: str) -> Category:
        """Return the category of a state; elements without versions are static."""
        return self.cycles[type.key].categories[state] if type.is_versioned else Category.STATIC

    def facet(self, name: str) -> CompiledFacet:
        """Find by name or key, ignoring letter case (D1)."""
        found = self.facets.get(name.casefold())
        if found is None:
            text = _("There is no facet %(name)s.") % {"name": name}
            raise _not_found(text, name, (each.name for each in self.blueprint.facets))
        return found


def _not_found(text: str, name: str, known: Iterable[str]) -> NotFound:
    """Return the refusal of an unknown name, with similar names as a hint."""
    return NotFound(f"{text.removesuffix('.')}{similar_hint(name, known)}.")


_cache: OrderedDict[UUID, Configuration] = OrderedDict()
# The first of equal configurations by their contents, while any of them is in use.
_originals: WeakValueDictionary[tuple[CultureSet, Blueprint, tuple[tuple[str, UUID], ...]], Configuration]
_originals = WeakValueDictionary()
_lock = threading.Lock()


def known_configuration(storage: Storage, revision: int) -> Configuration | None:
    """Return the configuration of the storage at a revision if the cache has it."""
    with _lock:
        found = _cache.get(storage.id)
        if found is None or found.revision != revision:
            return None
        _cache.move_to_end(storage.id)
        return found


def configuration_of(storage: Storage) -> Configuration:
    """Return the configuration at the revision that the storage was read with, from the cache if possible."""
    known = known_configuration(storage, storage.configuration_revision)
    if known is not None:
        return known
    compiled = _load(storage)
    with _lock:
        _cache[storage.id] = compiled
        _cache.move_to_end(storage.id)
        while len(_cache) > MAX_CACHED or (len(_originals) > MAX_DIFFERENT and len(_cache) > 1):
            _cache.popitem(last=False)
    return compiled


_SETTLE = "SELECT configuration_revision FROM storage_storagerevision WHERE storage_id = %s FOR SHARE"


def settled_configuration(storage: Storage) -> Configuration:
    """Return the current configuration, and prevent changes to it until the transaction ends."""
    return ask(settling(storage))


def settling(storage: Storage) -> Question[Configuration]:
    def understand(rows: list[Row]) -> Configuration:
        if not rows:
            raise NotFound(_("There is no storage at this address."))
        storage.configuration_revision = rows[0][0]
        return configuration_of(storage)

    return Question(_SETTLE, [storage.id], understand)


def forget_configurations() -> None:
    with _lock:
        _cache.clear()


def _load(storage: Storage) -> Configuration:
    """Read in the scope of this storage, whatever the scope of the caller: no rows of another storage may get in."""
    with tenant_scope(storage):
        stored = read_rows()
    found = compile_configuration(stored.revision, stored.cultures, stored.blueprint, stored.type_ids)
    return replace(found, sets=stored.sets, _original=found._original or found) if stored.sets else found


def compile_configuration(
    revision: int, cultures: CultureSet, blueprint: Blueprint, type_ids: Mapping[str, UUID]
) -> Configuration:
    key = cultures, blueprint, tuple(type_ids.items())
    original = _originals.get(key)
    if original is not None:
        return replace(original, revision=revision, _original=original)
    found = _originals[key] = compile_blueprint(revision, cultures, blueprint, type_ids)
    return found


def compile_blueprint(
    revision: int, cultures: CultureSet, blueprint: Blueprint, type_ids: Mapping[str, UUID]
) -> Configuration:
    types = {each.key: each for each in blueprint.types}
    layouts = {each.key: each for each in blueprint.layouts}
    return Configuration(
        revision=revision,
        cultures=cultures,
        blueprint=blueprint,
        facets=MappingProxyType({each.name.casefold(): _facet(each, types, layouts) for each in blueprint.facets}),
        types=MappingProxyType(types),
        type_ids=MappingProxyType(dict(type_ids)),
        cycles=MappingProxyType(_cycles(blueprint)),
    )


def _cycles(blueprint: Blueprint) -> dict[str, CompiledCycle]:
    compiled = {
        each.key: CompiledCycle(
            each,
            MappingProxyType({state.key: state.category for state in each.states}),
            MappingProxyType({transition.key.casefold(): transition for transition in each.transitions}),
            MappingProxyType({state.key: state for state in each.states if state.task}),
        )
        for each in blueprint.cycles
    }
    return {each.key: compiled[each.release_cycle] for each in blueprint.types if each.release_cycle}


def _facet(facet: Facet, types: Mapping[str, ElementType], layouts: Mapping[str, LayoutDefinition]) -> CompiledFacet:
    views: dict[str, CompiledView] = {}
    for view in facet.views:
        shown = {each.type: _type_in_view(each, types[each.type], layouts) for each in view.types}
        folded = {key.casefold(): value for key, value in shown.items()}
        views[view.name.casefold()] = CompiledView(view, facet, MappingProxyType(shown), MappingProxyType(folded))
    return CompiledFacet(facet, MappingProxyType(views))


def _type_in_view(view_type: ViewType, type: ElementType, layouts: Mapping[str, LayoutDefinition]) -> TypeInView:
    all_properties = {each.key: each for each in type.properties}
    shown = all_properties if view_type.shows_all else {key: all_properties[key] for key in view_type.properties}
    return TypeInView(
        type, view_type.is_root, MappingProxyType(shown), tuple(layouts[key] for key in view_type.layouts)
    )
