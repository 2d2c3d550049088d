"""Reads the rows of a storage into a blueprint with a single statement.

A single statement has one snapshot, so a concurrent change cannot mix two configurations or leave a row without the
row that it refers to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext as _

from facets import models
from facets.blueprint import definitions as blueprint
from facets.blueprint.cycles import Category, ReleaseCycle, Severity, State, Transition, ValidationRule
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Blueprint
from facets.blueprint.texts import texts
from facets.models.base import ConfigurationModel
from repository_site.core.problems import NotFound
from storage.localisation.cultures import CultureSet
from storage.models.tenant import SCOPE_PARAMETER

# In the order of writing: a row comes after the rows that it refers to.
TABLES: tuple[type[ConfigurationModel], ...] = (
    models.Layout,
    models.ReleaseCycle,
    models.CycleState,
    models.Transition,
    models.ValidationRule,
    models.Facet,
    models.ElementType,
    models.AllowedParent,
    models.InsertableType,
    models.Property,
    models.RelatedType,
    models.SelectableValue,
    models.FacetView,
    models.ViewType,
    models.ViewProperty,
    models.ViewLayout,
)
_SCOPE = f"current_setting('{SCOPE_PARAMETER}')::uuid"
_SELECTS = ",\n".join(
    f"(SELECT coalesce(json_agg(t ORDER BY t.position, t.id), '[]') FROM \"{model._meta.db_table}\" t)"  # noqa: S608  names of tables, no values
    for model in TABLES
)
STATEMENT = (
    f"SELECT s.configuration_revision, (SELECT json_agg(c ORDER BY c.position) FROM storage_culture c"  # noqa: S608  names of tables, no values
    f" WHERE c.storage_id = s.id), {_SELECTS} FROM storage_storage s WHERE s.id = {_SCOPE}"
)


Row = SimpleNamespace
Rows = dict[type[ConfigurationModel], list[Row]]


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of a storage in their order, from one snapshot, with ids as text."""

    revision: int
    cultures: CultureSet
    rows: Rows


@dataclass(frozen=True, slots=True)
class StoredConfiguration:
    """The configuration of a storage from one snapshot."""

    revision: int
    cultures: CultureSet
    blueprint: Blueprint
    type_ids: dict[str, UUID]


def read_configuration() -> StoredConfiguration:
    """Return the configuration of the storage in scope; raise NotFound if the storage was removed."""
    stored = read_rows()
    type_ids = {row.key: UUID(row.id) for row in stored.rows[models.ElementType]}
    return StoredConfiguration(stored.revision, stored.cultures, blueprint_of(stored.rows), type_ids)


def read_rows() -> StoredRows:
    with connection.cursor() as cursor:
        cursor.execute(STATEMENT)
        found = cursor.fetchone()
    if found is None or not found[1]:
        raise NotFound(_("There is no storage at this address."))
    revision, cultures, *tables = found
    rows: Rows = {model: [Row(**row) for row in table] for model, table in zip(TABLES, tables, strict=True)}
    return StoredRows(
        revision,
        CultureSet(
            data=tuple(row["lcid"] for row in cultures),
            default=next(row["lcid"] for row in cultures if row["is_default"]),
            mandatory=tuple(row["lcid"] for row in cultures if row["is_mandatory"]),
        ),
        rows,
    )


def read_blueprint() -> Blueprint:
    return read_configuration().blueprint


def blueprint_of(rows: Rows) -> Blueprint:
    """Build a blueprint from rows; every row that another refers to must exist."""
    facet_names = {row.id: row.name for row in rows[models.Facet]}
    type_keys = {row.id: row.key for row in rows[models.ElementType]}
    layout_keys = {row.id: row.key for row in rows[models.Layout]}
    cycle_keys = {row.id: row.key for row in rows[models.ReleaseCycle]}
    return Blueprint(
        facets=_facets(rows, type_keys, layout_keys),
        types=_types(rows, facet_names, type_keys, cycle_keys),
        layouts=tuple(blueprint.LayoutDefinition(row.key, texts(row.display_names)) for row in rows[models.Layout]),
        cycles=_cycles(rows),
        rules=tuple(
            ValidationRule(
                row.key,
                row.property,
                Severity(row.severity),
                texts(row.messages),
                tuple(row.states),
                tuple(row.transitions),
                row.per_culture,
            )
            for row in rows[models.ValidationRule]
        ),
    )


def _cycles(rows: Rows) -> tuple[ReleaseCycle, ...]:
    state_keys = {row.id: row.key for row in rows[models.CycleState]}
    states = _grouped(
        (row.cycle_id, State(row.key, Category(row.category), texts(row.display_names)))
        for row in rows[models.CycleState]
    )
    transitions = _grouped(
        (
            row.cycle_id,
            Transition(
                row.key,
                state_keys[row.source_id],
                state_keys[row.target_id],
                texts(row.display_names),
                row.task,
                row.ends_version,
            ),
        )
        for row in rows[models.Transition]
    )
    return tuple(
        ReleaseCycle(
            row.key,
            texts(row.display_names),
            tuple(states.get(row.id, ())),
            tuple(transitions.get(row.id, ())),
            row.takes_effect,
        )
        for row in rows[models.ReleaseCycle]
    )


def _grouped(pairs: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = defaultdict(list)
    for owner, value in pairs:
        groups[owner].append(value)
    return groups


def _properties(rows: Rows, facet_names: dict[str, str], type_keys: dict[str, str]) -> dict[str, list[Any]]:
    """Return the properties of each type by its row id."""
    values = _grouped(
        (
            row.property_id,
            blueprint.SelectableValue(row.key, texts(row.display_names), texts(row.descriptions), texts(row.tooltips)),
        )
        for row in rows[models.SelectableValue]
    )
    accepted = _grouped((row.property_id, type_keys[row.type_id]) for row in rows[models.RelatedType])
    return _grouped(
        (
            row.type_id,
            blueprint.Property(
                row.key,
                texts(row.display_names),
                texts(row.descriptions),
                texts(row.tooltips),
                row.editable_in_released,
                _attribute(row, values) if row.target_facet_id is None else None,
                None if row.target_facet_id is None else _related(row, accepted, facet_names),
            ),
        )
        for row in rows[models.Property]
    )


def _attribute(row: Row, values: dict[str, list[Any]]) -> blueprint.Attribute:
    return blueprint.Attribute(DataType(row.data_type), row.is_invariant_culture, tuple(values.get(row.id, ())))


def _related(row: Row, accepted: dict[str, list[Any]], facet_names: dict[str, str]) -> blueprint.Related:
    return blueprint.Related(
        facet=facet_names[row.target_facet_id],
        max_occurrence=row.max_occurrence,
        types=tuple(accepted.get(row.id, ())),
        can_add_new=row.can_add_new,
        read_only=row.read_only,
    )


def _types(
    rows: Rows, facet_names: dict[str, str], type_keys: dict[str, str], cycle_keys: dict[str, str]
) -> tuple[blueprint.ElementType, ...]:
    properties = _properties(rows, facet_names, type_keys)
    parents = _grouped((row.type_id, type_keys[row.parent_id]) for row in rows[models.AllowedParent])
    inserted = _grouped((row.type_id, type_keys[row.inserted_id]) for row in rows[models.InsertableType])
    return tuple(
        blueprint.ElementType(
            key=row.key,
            facet=facet_names[row.facet_id],
            display_names=texts(row.display_names),
            color=row.color,
            element_type_name=row.element_type_name,
            entity_type_name=row.entity_type_name,
            descriptions=texts(row.descriptions),
            is_versioned=row.is_versioned,
            is_architectural=row.is_architectural,
            has_diagram=row.has_diagram,
            lives_in_diagrams=row.lives_in_diagrams,
            static_state=row.static_state,
            release_cycle=cycle_keys[row.release_cycle_id] if row.release_cycle_id else "",
            parents=tuple(parents.get(row.id, ())),
            insertables=tuple(inserted.get(row.id, ())),
            properties=tuple(properties.get(row.id, ())),
        )
        for row in rows[models.ElementType]
    )


def _facets(rows: Rows, type_keys: dict[str, str], layout_keys: dict[str, str]) -> tuple[blueprint.Facet, ...]:
    property_keys = {row.id: row.key for row in rows[models.Property]}
    shown = _grouped((row.view_type_id, property_keys[row.property_id]) for row in rows[models.ViewProperty])
    layouts = _grouped((row.view_type_id, layout_keys[row.layout_id]) for row in rows[models.ViewLayout])
    view_types = _grouped(
        (
            row.view_id,
            blueprint.ViewType(
                type_keys[row.type_id],
                row.shows_all,
                row.is_root,
                tuple(shown.get(row.id, ())),
                tuple(layouts.get(row.id, ())),
            ),
        )
        for row in rows[models.ViewType]
    )
    views = _grouped(
        (
            row.facet_id,
            blueprint.View(
                row.name, row.key, texts(row.display_names), row.is_hierarchical, tuple(view_types.get(row.id, ()))
            ),
        )
        for row in rows[models.FacetView]
    )
    return tuple(
        blueprint.Facet(row.name, row.type_name, texts(row.display_names), tuple(views.get(row.id, ())))
        for row in rows[models.Facet]
    )
