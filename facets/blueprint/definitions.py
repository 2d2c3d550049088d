"""The type configuration as plain immutable values, whether it comes from a template file or from rows.

Equality is by value: two storages have the same configuration when their blueprints are equal. Pure: knows neither
files nor database.
"""

from __future__ import annotations

from dataclasses import dataclass

from facets.blueprint.cycles import ReleaseCycle, ValidationRule
from facets.blueprint.data_types import DataType
from facets.blueprint.texts import Texts


@dataclass(frozen=True, slots=True)
class SelectableValue:
    key: str | None
    display_names: Texts
    descriptions: Texts = ()
    tooltips: Texts = ()


@dataclass(frozen=True, slots=True)
class Attribute:
    data_type: DataType
    is_invariant_culture: bool
    selectable_values: tuple[SelectableValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Related:
    """A related context. `types` empty means every type of the facet."""

    facet: str
    max_occurrence: int
    types: tuple[str, ...] = ()
    can_add_new: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Property:
    """Exactly one of `attribute` and `related` is there."""

    key: str
    display_names: Texts
    descriptions: Texts = ()
    tooltips: Texts = ()
    editable_in_released: bool = False
    attribute: Attribute | None = None
    related: Related | None = None


@dataclass(frozen=True, slots=True)
class LayoutDefinition:
    key: str
    display_names: Texts


@dataclass(frozen=True, slots=True)
class ElementType:
    key: str
    facet: str
    display_names: Texts
    color: str
    element_type_name: str
    entity_type_name: str
    descriptions: Texts = ()
    is_versioned: bool = False
    is_architectural: bool = False
    has_diagram: bool = False
    lives_in_diagrams: bool = False
    static_state: str = ""
    release_cycle: str = ""
    """Of a versioned type; empty for the others."""
    parents: tuple[str, ...] = ()
    insertables: tuple[str, ...] = ()
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewType:
    """A type in a view. With `shows_all` it shows every property of the type and names none."""

    type: str
    shows_all: bool = False
    is_root: bool = False
    properties: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    name: str
    key: str
    display_names: Texts
    is_hierarchical: bool = False
    types: tuple[ViewType, ...] = ()


@dataclass(frozen=True, slots=True)
class Facet:
    name: str
    type_name: str
    display_names: Texts
    views: tuple[View, ...] = ()


@dataclass(frozen=True, slots=True)
class Blueprint:
    """Everything in its order: facets, then types (over all facets), layouts, and what governs releases."""

    facets: tuple[Facet, ...] = ()
    types: tuple[ElementType, ...] = ()
    layouts: tuple[LayoutDefinition, ...] = ()
    cycles: tuple[ReleaseCycle, ...] = ()
    rules: tuple[ValidationRule, ...] = ()
