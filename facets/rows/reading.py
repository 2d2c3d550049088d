"""Reads the rows of a storage into a blueprint with a single statement.

A single statement has one snapshot, so a concurrent change cannot mix two configurations or leave a row without the
row that it refers to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

import orjson
from django.db import connection
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from facets import models
from facets.blueprint import definitions as blueprint
from facets.blueprint.cycles import Category, ReleaseCycle, Severity, State, Transition, ValidationRule
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Blueprint
from facets.blueprint.texts import texts
from facets.models.base import ConfigurationModel
from facets.permission_sets import NO_SETS, PermissionSets, read_sets
from repository_site.core.database.statements import engine
from repository_site.core.problems import NotFound
from storage.localisation.cultures import CultureSet

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
# As text, because orjson reads it faster than the driver reads JSON.
_SELECTS = ",\n".join(
    f"(SELECT coalesce(json_agg(t ORDER BY t.position, t.id), '[]')::text FROM \"{model._meta.db_table}\" t)"  # noqa: S608  names of tables, no values
    for model in TABLES
)
SETS = "SELECT coalesce(json_agg(p ORDER BY p.number), '[]') FROM facets_permissionset p"
STATEMENT = (
    f"SELECT s.configuration_revision, (SELECT json_agg(c ORDER BY c.position) FROM storage_culture c"  # noqa: S608  names of tables, no values
    f" WHERE c.storage_id = s.storage_id), ({SETS}), {_SELECTS} FROM storage_storagerevision s WHERE s.storage_id = %s"
)

T = TypeVar("T")
Row = SimpleNamespace
Rows = dict[type[ConfigurationModel], list[Row]]


@dataclass(frozen=True)
class StoredRows:
    """The rows of a storage in their order, from one snapshot, with ids as text and without the id of the storage."""

    revision: int
    cultures: CultureSet
    rows: Rows
    sets: PermissionSets = NO_SETS

    @cached_property
    def blueprint(self) -> Blueprint:
        return blueprint_of(self.rows)

    @property
    def type_ids(self) -> dict[str, UUID]:
        return {row.key: UUID(row.id) for row in self.rows[models.ElementType]}


def read_rows() -> StoredRows:
    """Return the configuration of the storage in scope; raise NotFound if the storage was removed."""
    with connection.cursor() as cursor:
        cursor.execute(STATEMENT, [engine().tenant])
        found = cursor.fetchone()
    if found is None or not found[1]:
        raise NotFound(_("There is no storage at this address."))
    revision, cultures, sets, *tables = found
    rows: Rows = {
        model: [_row(row) for row in orjson.loads(table)] for model, table in zip(TABLES, tables, strict=True)
    }
    return StoredRows(
        revision,
        CultureSet(
            data=tuple(row["lcid"] for row in cultures),
            default=next(row["lcid"] for row in cultures if row["is_default"]),
            mandatory=tuple(row["lcid"] for row in cultures if row["is_mandatory"]),
        ),
        rows,
        read_sets((_row(each) for each in sets), {row.id: row.name for row in rows[models.Facet]}),
    )


def _row(columns: dict[str, Any]) -> Row:
    del columns["storage_id"]
    return Row(**columns)


def read_blueprint() -> Blueprint:
    return read_rows().blueprint


def blueprint_of(rows: Rows) -> Blueprint:
    """Build a blueprint from rows; every row that another refers to must exist."""
    facet_names = {row.id: row.name for row in rows[models.Facet]}
    type_keys = {row.id: row.key for row in rows[models.ElementType]}
    return Blueprint(
        facets=_facets(rows, type_keys),
        types=_types(rows, facet_names, type_keys),
        layouts=tuple(_value(blueprint.LayoutDefinition, row) for row in rows[models.Layout]),
        cycles=_cycles(rows),
        rules=tuple(
            _value(ValidationRule, row, severity=Severity(row.severity)) for row in rows[models.ValidationRule]
        ),
    )


def _value(kind: type[T], row: Row, **others: Any) -> T:
    """Build a value from the columns that have the names of its fields, and from `others`."""
    names = _names(kind)  # type: ignore[arg-type]  # mypy does not see that classes are hashable
    return kind(**{name: _plain(getattr(row, name)) for name in names if name not in others}, **others)


@cache
def _names(kind: type[Any]) -> list[str]:
    return [each.name for each in fields(kind)]


def _plain(column: Any) -> Any:
    if isinstance(column, dict):
        return texts(column)
    return tuple(column) if isinstance(column, list) else column


def _grouped(pairs: Iterable[tuple[str, Any]]) -> dict[str, tuple[Any, ...]]:
    groups: dict[str, tuple[Any, ...]] = defaultdict(tuple)
    for owner, value in pairs:
        groups[owner] += (value,)
    return groups


def _cycles(rows: Rows) -> tuple[ReleaseCycle, ...]:
    keys = {row.id: row.key for row in rows[models.CycleState]}
    states = _grouped(
        (row.cycle_id, _value(State, row, category=Category(row.category))) for row in rows[models.CycleState]
    )
    transitions = _grouped(
        (row.cycle_id, _value(Transition, row, source=keys[row.source_id], target=keys[row.target_id]))
        for row in rows[models.Transition]
    )
    return tuple(
        _value(ReleaseCycle, row, states=states[row.id], transitions=transitions[row.id])
        for row in rows[models.ReleaseCycle]
    )


def _properties(
    rows: Rows, facet_names: dict[str, str], type_keys: dict[str, str]
) -> dict[str, tuple[blueprint.Property, ...]]:
    values = _grouped((row.property_id, _value(blueprint.SelectableValue, row)) for row in rows[models.SelectableValue])
    accepted = _grouped((row.property_id, type_keys[row.type_id]) for row in rows[models.RelatedType])

    def property_of(row: Row) -> blueprint.Property:
        attribute = related = None
        if row.target_facet_id is None:
            attribute = blueprint.Attribute(DataType(row.data_type), row.is_invariant_culture, values[row.id])
        else:
            related = _value(blueprint.Related, row, facet=facet_names[row.target_facet_id], types=accepted[row.id])
        return _value(blueprint.Property, row, attribute=attribute, related=related)

    return _grouped((row.type_id, property_of(row)) for row in rows[models.Property])


def _types(rows: Rows, facet_names: dict[str, str], type_keys: dict[str, str]) -> tuple[blueprint.ElementType, ...]:
    properties = _properties(rows, facet_names, type_keys)
    parents = _grouped((row.type_id, type_keys[row.parent_id]) for row in rows[models.AllowedParent])
    inserted = _grouped((row.type_id, type_keys[row.inserted_id]) for row in rows[models.InsertableType])
    cycle_keys = {row.id: row.key for row in rows[models.ReleaseCycle]}
    return tuple(
        _value(
            blueprint.ElementType,
            row,
            facet=facet_names[row.facet_id],
            release_cycle=cycle_keys[row.release_cycle_id] if row.release_cycle_id else "",
            parents=parents[row.id],
            insertables=inserted[row.id],
            properties=properties[row.id],
        )
        for row in rows[models.ElementType]
    )


def _facets(rows: Rows, type_keys: dict[str, str]) -> tuple[blueprint.Facet, ...]:
    property_keys = {row.id: row.key for row in rows[models.Property]}
    layout_keys = {row.id: row.key for row in rows[models.Layout]}
    shown = _grouped((row.view_type_id, property_keys[row.property_id]) for row in rows[models.ViewProperty])
    layouts = _grouped((row.view_type_id, layout_keys[row.layout_id]) for row in rows[models.ViewLayout])
    types = _grouped(
        (
            row.view_id,
            _value(
                blueprint.ViewType, row, type=type_keys[row.type_id], properties=shown[row.id], layouts=layouts[row.id]
            ),
        )
        for row in rows[models.ViewType]
    )
    views = _grouped((row.facet_id, _value(blueprint.View, row, types=types[row.id])) for row in rows[models.FacetView])
    return tuple(_value(blueprint.Facet, row, views=views[row.id]) for row in rows[models.Facet])
