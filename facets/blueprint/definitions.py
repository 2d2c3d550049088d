"""The type configuration as immutable values, read from a template file or from rows.

Two storages have the same configuration if their blueprints are equal. Most values share their noun with a model;
application code refers to the models as `models.Facet`, `models.Property` and so on.
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
    """A related context. It accepts every type of the facet if `types` is empty."""

    facet: str
    max_occurrence: int
    types: tuple[str, ...] = ()
    can_add_new: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Property:
    """A property of one type: either `attribute` or `related` is set."""

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
    """Empty for types without versions."""
    parents: tuple[str, ...] = ()
    insertables: tuple[str, ...] = ()
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewType:
    """A type in a view. With `shows_all` the view shows every property of the type, and `properties` is empty."""

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
    for_readers: bool = True
    """Whether viewers and anonymous readers see the facet (D397)."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A whole type configuration; each part is in its configured order, types across all facets."""

    facets: tuple[Facet, ...] = ()
    types: tuple[ElementType, ...] = ()
    layouts: tuple[LayoutDefinition, ...] = ()
    cycles: tuple[ReleaseCycle, ...] = ()
    rules: tuple[ValidationRule, ...] = ()
