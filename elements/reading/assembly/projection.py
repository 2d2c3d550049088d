"""Projection of elements (D7, D8): the properties of the view or of `$select`, and the resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from elements import derived
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType, Property
from facets.configuration import CompiledView, Configuration
from facets.rendering import display_names

ATTRIBUTES, RELATED, CHILDREN, CONTENT = "attributes", "related", "children", "content"
# In place of attributes, in one culture (D482).
VALUES = "values"
DISPLAY_NAMES, ROOT_PATH, VERSIONS = "displayNames", "rootPath", "versions"
# Not a part: the references of all parts have names (D574).
NAMES = "names"
RESOURCES = (ATTRIBUTES, RELATED, CHILDREN, CONTENT, DISPLAY_NAMES, ROOT_PATH, VERSIONS)
USUAL_RESOURCES = frozenset(RESOURCES) - {VERSIONS}
REPORTING_RESOURCES = frozenset(RESOURCES) - {ROOT_PATH}
# Attributes that come from columns other than the stored attributes.
DERIVED = frozenset(
    {
        *derived.STAMPS, derived.VERSION, derived.STATE, derived.IS_RELEASED, derived.STEREOTYPE, derived.PAGE_ADDRESS,
        derived.AUTHOR_NOTE,
    }
)  # fmt: skip
# Contexts that come from columns and versions.
NOT_STORED = frozenset({*derived.CALLERS, derived.RELEASE_HISTORY})
# In reporting, versioned types also have these (D14), with the data types that filters assume.
REPORTING_ATTRIBUTES = {
    derived.MAJOR: DataType.INTEGER,
    derived.MINOR: DataType.INTEGER,
    derived.RELEASED_OR_OPEN: DataType.BOOLEAN,
    derived.OPEN_OR_RELEASED: DataType.BOOLEAN,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Parts that a request asks for. `select` None means the properties of the view."""

    resources: frozenset[str] = USUAL_RESOURCES
    select: frozenset[str] | None = None
    expand: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    """Properties that the operation adds to those of the view."""
    fields: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Attributes that references have in addition (D574), by related context, or by part such as `children`."""
    names: bool = False
    """Whether all references have the names of their targets."""


@dataclass(frozen=True, slots=True)
class TypeProjection:
    """Attributes and contexts that elements of one type show, in order."""

    type: ElementType
    display_names: Mapping[str, str]
    stored: frozenset[str] = frozenset()
    derived: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Stored attributes that contain files, whose fields also have an order."""
    is_exact: bool = False
    """Whether the type has decimals, shown or not: their stored values need a parser for numbers of any size."""
    stored_contexts: frozenset[str] = field(init=False)
    other_contexts: tuple[str, ...] = field(init=False)
    """Contexts that columns and other versions tell."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "stored_contexts", frozenset(self.contexts) - NOT_STORED)
        object.__setattr__(self, "other_contexts", tuple(each for each in self.contexts if each in NOT_STORED))


@dataclass(frozen=True, slots=True)
class Projection:
    """Projections of all types of the storage, by the id of the type's row; types outside the view show nothing."""

    types: Mapping[str, TypeProjection]
    shows: frozenset[str]
    """Types of the view, by the ids of their rows."""
    stored: bool = field(init=False)
    contexts: frozenset[str] = field(init=False)
    stored_contexts: tuple[str, ...] = field(init=False)
    """Contexts that are read from the table of references, in order; with those that decide about the author note."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "stored", any(self.types[each].stored for each in self.shows))
        contexts = (context for each in self.shows for context in self.types[each].contexts)
        object.__setattr__(self, "contexts", frozenset(contexts))
        has_note = any(derived.AUTHOR_NOTE in self.types[each].derived for each in self.shows)
        stored = self.contexts - NOT_STORED | (frozenset(derived.AUTHOR_CONTEXTS) if has_note else frozenset())
        object.__setattr__(self, "stored_contexts", tuple(sorted(stored)))


def view_projection(configuration: Configuration, view: CompiledView, wanted: Wanted) -> Projection:
    """Return the projection of a view after `$select` and `$resources`. Common ones are cached with the
    configuration."""
    if wanted.select is None:
        key = ("projection", view.facet.name, view.view.name, wanted.resources, wanted.also)
        return configuration.keep(key, lambda: _view_projection(configuration, view, wanted))
    return _view_projection(configuration, view, wanted)


def _view_projection(configuration: Configuration, view: CompiledView, wanted: Wanted) -> Projection:
    def shown(type: ElementType) -> Iterable[str]:
        in_view = view.types.get(type.key)
        if in_view is None:
            return ()
        return {*in_view.properties, *wanted.also} if wanted.select is None else wanted.select

    return project(configuration, shown, wanted.resources, view.types)


def whole_projection(configuration: Configuration) -> Projection:
    """Return the projection of all properties of all types, as an expanded reference shows its target."""

    def make() -> Projection:
        resources = frozenset({ATTRIBUTES, RELATED})
        return project(configuration, lambda type: {each.key for each in type.properties}, resources)

    return configuration.keep("whole projection", make)


def project(
    configuration: Configuration,
    shown: Callable[[ElementType], Iterable[str]],
    resources: frozenset[str],
    types: Iterable[str] | None = None,
) -> Projection:
    """Return the projection of one type. `shown` names the wanted properties; unknown names are ignored."""
    type_ids = {key: str(row_id) for key, row_id in configuration.type_ids.items()}
    return Projection(
        {
            row: _type_projection(configuration, type, frozenset(shown(type)), resources)
            for row, type in configuration.types_by_id.items()
        },
        frozenset(type_ids[key] for key in (configuration.types if types is None else types)),
    )


def _type_projection(
    configuration: Configuration, type: ElementType, shown: frozenset[str], resources: frozenset[str]
) -> TypeProjection:
    properties = [each for each in type.properties if each.key in shown]
    attributes = {each.key: each for each in properties if each.attribute} if ATTRIBUTES in resources else {}
    extras = shown & REPORTING_ATTRIBUTES.keys() if type.is_versioned and ATTRIBUTES in resources else frozenset()
    contexts = [each.key for each in properties if each.related] if RELATED in resources else []
    stored = attributes.keys() - DERIVED - extras
    return TypeProjection(
        type=type,
        display_names=type_names(configuration)[type.key],
        stored=frozenset(stored),
        derived=tuple(sorted((attributes.keys() & DERIVED) | extras)),
        contexts=tuple(sorted(contexts)),
        files=tuple(sorted(name for name in stored if _data_type(attributes[name]) is DataType.FILES)),
        is_exact=any(_data_type(each) is DataType.DECIMAL for each in type.properties),
    )


def type_names(configuration: Configuration) -> Mapping[str, Mapping[str, str]]:
    """Return the displayNames of each type, with culture ids as texts, as in all other parts of an element."""

    def make() -> dict[str, Any]:
        names = {}
        for type in configuration.types_by_id.values():
            by_culture = display_names(type.display_names, configuration.cultures, type.key)
            names[type.key] = {str(lcid): text for lcid, text in by_culture.items()}
        return names

    return configuration.keep("type names", make)


def _data_type(property: Property) -> DataType | None:
    return property.attribute.data_type if property.attribute else None
