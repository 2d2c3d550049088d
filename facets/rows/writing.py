"""Writes a blueprint to the rows of the storage in scope: inserts new rows, updates changed ones, deletes the rest.

Rows are found by their names, so rows that content refers to, such as types, keep their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from django.db import connection

from facets import models
from facets.blueprint import definitions as blueprint
from facets.blueprint.cycles import ReleaseCycle
from facets.blueprint.definitions import Blueprint
from facets.blueprint.texts import texts_by_culture
from facets.models.base import ConfigurationModel, Texts
from facets.rows.reading import TABLES, Row, Rows, read_blueprint
from storage.tenancy.bulk import insert_rows, update_rows

Model = type[ConfigurationModel]
NewRow = tuple[Model, Row]
# Ids of new rows derive from their names, so rows with the same names have the same ids in every storage. Ids only need
# to be unique within a storage.
NAMESPACE = uuid5(NAMESPACE_URL, "content-repository:configuration")


def row_id(*path: str) -> str:
    return str(uuid5(NAMESPACE, "\x1f".join(path)))


def write_blueprint(stored: Rows, new: Blueprint) -> None:
    """Replace the configuration of the storage in scope, whose rows are `stored`."""
    rows: Rows = {model: [] for model in TABLES}
    positions: Counter[tuple[Model, str | None]] = Counter()
    for model, row in _rows(new, _Ids(stored)):
        owner = (model, getattr(row, OWNERS.get(model, ""), None))
        row.position = positions[owner]
        positions[owner] += 1
        rows[model].append(row)
    write_rows(stored, rows, new)


def write_rows(before: Rows, after: Rows, meaning: Blueprint) -> None:
    """Change the rows in scope from `before`, as they are stored now, to `after`, which mean this blueprint."""
    there: dict[Model, dict[str, Row]] = {}
    wanted: dict[Model, dict[str, Row]] = {}
    for model in TABLES:
        old, new = ({row.id: row for row in rows[model]} for rows in (before, after))
        wanted[model] = {row.id: row for row in after[model] if row != old.get(row.id)}
        there[model] = {row.id: row for row in before[model] if row != new.get(row.id)}
    for model in reversed(TABLES):
        _delete(model, wanted[model], there[model])
    for model in TABLES:
        changed = [row for row in wanted[model].values() if row.id in there[model]]
        _free_names(model, changed, there[model])
        insert_rows(model, [row for row in wanted[model].values() if row.id not in there[model]])
        update_rows(model, changed)
    if read_blueprint() != meaning:
        raise RuntimeError("The rows of the configuration do not say what was written.")


# Rows that are found by a name of their own; all others are links between them.
NAMED: dict[Model, str] = {
    models.Layout: "key",
    models.Facet: "name",
    models.ElementType: "key",
    models.Property: "key",
    models.FacetView: "name",
    models.ReleaseCycle: "key",
    models.CycleState: "key",
}
# Positions are counted per owner, so a new row moves only its neighbours.
OWNERS: dict[Model, str] = {
    models.CycleState: "cycle_id",
    models.Transition: "cycle_id",
    models.AllowedParent: "type_id",
    models.InsertableType: "type_id",
    models.Property: "type_id",
    models.RelatedType: "property_id",
    models.SelectableValue: "property_id",
    models.FacetView: "facet_id",
    models.ViewType: "view_id",
    models.ViewProperty: "view_type_id",
    models.ViewLayout: "view_type_id",
}


class _Ids:
    """Row ids by name: those of existing rows first, then new ones. Names are case-sensitive here."""

    def __init__(self, stored: Rows) -> None:
        facets, types, cycles = (
            {row.id: row for row in stored[model]} for model in (models.Facet, models.ElementType, models.ReleaseCycle)
        )
        self._known: dict[tuple[str, ...], str] = {
            **{("facet", row.name): row.id for row in facets.values()},
            **{("type", row.key): row.id for row in types.values()},
            **{("layout", row.key): row.id for row in stored[models.Layout]},
            **{("property", types[row.type_id].key, row.key): row.id for row in stored[models.Property]},
            **{("view", facets[row.facet_id].name, row.name): row.id for row in stored[models.FacetView]},
            **{("cycle", row.key): row.id for row in cycles.values()},
            **{("state", cycles[row.cycle_id].key, row.key): row.id for row in stored[models.CycleState]},
        }
        self._taken = set(self._known.values())

    def __call__(self, *path: str) -> str:
        """Return the id for a name. A renamed row keeps its id, so a new row with the old name gets another."""
        found = self._known.get(path)
        if found is None:
            found = row_id(*path)
            if found in self._taken:
                found = str(uuid4())
            self._known[path] = found
            self._taken.add(found)
        return found


def _delete(model: Model, wanted: Mapping[str, Row], there: dict[str, Row]) -> None:
    """Delete rows that are no longer wanted, and changed links, which could collide with their replacements."""
    gone = [row_id for row_id in there if row_id not in wanted or model not in NAMED]
    for row_id in gone:
        del there[row_id]
    if gone:
        with connection.cursor() as cursor:
            cursor.execute(f'DELETE FROM "{model._meta.db_table}" WHERE id = ANY(%s::uuid[])', [gone])  # noqa: S608  a table's name


def _free_names(model: Model, changed: Sequence[Row], there: Mapping[str, Row]) -> None:
    """Give renamed rows temporary names first, so two rows can swap their names."""
    name = NAMED.get(model)
    renamed = [row.id for row in changed if name and getattr(row, name) != getattr(there[row.id], name)]
    if renamed:
        table = model._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(f'UPDATE "{table}" SET "{name}" = id::text WHERE id = ANY(%s::uuid[])', [renamed])  # noqa: S608  names of the model


def _columns(model: Model, value: Any) -> dict[str, Any]:
    """Return the columns of a model that have the name of a field of the value; relations are up to the caller."""
    names = _same_names(model, type(value))  # type: ignore[arg-type]  # mypy does not see that classes are hashable
    return {name: _stored(getattr(value, name), is_text) for name, is_text in names}


@cache
def _same_names(model: Model, kind: type[Any]) -> list[tuple[str, bool]]:
    """Return the names that columns share with fields of a value, and whether they are texts; cached for speed."""
    plain = {field.name: field for field in model._meta.concrete_fields if not field.is_relation}
    return [(each.name, isinstance(plain[each.name], Texts)) for each in fields(kind) if each.name in plain]


def _stored(value: Any, is_text: bool) -> Any:
    if is_text:
        return texts_by_culture(value)
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _new(model: Model, **columns: Any) -> NewRow:
    return model, Row(**(_defaults(model) | columns))


@cache
def _defaults(model: Model) -> dict[str, Any]:
    columns = [field for field in model._meta.concrete_fields if field.name != "storage_id"]
    return {field.attname: field.get_default() for field in columns}


def _rows(new: Blueprint, ids: _Ids) -> Iterable[NewRow]:
    for layout in new.layouts:
        yield _new(models.Layout, id=ids("layout", layout.key), **_columns(models.Layout, layout))
    for cycle in new.cycles:
        yield from _cycle_rows(cycle, ids)
    for rule in new.rules:
        yield _new(models.ValidationRule, id=row_id("rule", rule.key), **_columns(models.ValidationRule, rule))
    for facet in new.facets:
        yield _new(models.Facet, id=ids("facet", facet.name), **_columns(models.Facet, facet))
    for type in new.types:
        yield from _type_rows(type, ids)
    for facet in new.facets:
        for view in facet.views:
            yield from _view_rows(facet, view, ids)


def _cycle_rows(cycle: ReleaseCycle, ids: _Ids) -> Iterable[NewRow]:
    cycle_id = ids("cycle", cycle.key)
    yield _new(models.ReleaseCycle, id=cycle_id, **_columns(models.ReleaseCycle, cycle))
    for state in cycle.states:
        yield _new(
            models.CycleState,
            id=ids("state", cycle.key, state.key),
            cycle_id=cycle_id,
            **_columns(models.CycleState, state),
        )
    for each in cycle.transitions:
        yield _new(
            models.Transition,
            id=row_id("transition", cycle.key, each.key),
            cycle_id=cycle_id,
            source_id=ids("state", cycle.key, each.source),
            target_id=ids("state", cycle.key, each.target),
            **_columns(models.Transition, each),
        )


def _type_rows(type: blueprint.ElementType, ids: _Ids) -> Iterable[NewRow]:
    type_id = ids("type", type.key)
    yield _new(
        models.ElementType,
        id=type_id,
        facet_id=ids("facet", type.facet),
        release_cycle_id=ids("cycle", type.release_cycle) if type.release_cycle else None,
        **_columns(models.ElementType, type),
    )
    for key in type.parents:
        yield _new(
            models.AllowedParent, id=row_id("parent", type.key, key), type_id=type_id, parent_id=ids("type", key)
        )
    for key in type.insertables:
        yield _new(
            models.InsertableType, id=row_id("insertable", type.key, key), type_id=type_id, inserted_id=ids("type", key)
        )
    for value in type.properties:
        yield from _property_rows(type.key, value, ids)


def _property_rows(type_key: str, value: blueprint.Property, ids: _Ids) -> Iterable[NewRow]:
    property_id = ids("property", type_key, value.key)
    columns = _columns(models.Property, value)
    if value.attribute is not None:
        columns |= _columns(models.Property, value.attribute)
        for choice in value.attribute.selectable_values:
            yield _new(
                models.SelectableValue,
                id=row_id("value", type_key, value.key, choice.key or ""),
                property_id=property_id,
                **_columns(models.SelectableValue, choice),
            )
    if value.related is not None:
        columns |= _columns(models.Property, value.related)
        columns["target_facet_id"] = ids("facet", value.related.facet)
        for key in value.related.types:
            yield _new(
                models.RelatedType,
                id=row_id("relatedType", type_key, value.key, key),
                property_id=property_id,
                type_id=ids("type", key),
            )
    yield _new(models.Property, id=property_id, type_id=ids("type", type_key), **columns)


def _view_rows(facet: blueprint.Facet, view: blueprint.View, ids: _Ids) -> Iterable[NewRow]:
    view_id = ids("view", facet.name, view.name)
    yield _new(models.FacetView, id=view_id, facet_id=ids("facet", facet.name), **_columns(models.FacetView, view))
    for shown in view.types:
        path = (facet.name, view.name, shown.type)
        view_type_id = row_id("viewType", *path)
        yield _new(
            models.ViewType,
            id=view_type_id,
            view_id=view_id,
            type_id=ids("type", shown.type),
            **_columns(models.ViewType, shown),
        )
        for key in shown.properties:
            yield _new(
                models.ViewProperty,
                id=row_id("viewProperty", *path, key),
                view_type_id=view_type_id,
                property_id=ids("property", shown.type, key),
            )
        for key in shown.layouts:
            yield _new(
                models.ViewLayout,
                id=row_id("viewLayout", *path, key),
                view_type_id=view_type_id,
                layout_id=ids("layout", key),
            )
