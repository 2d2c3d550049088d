"""From the rows of the scope's storage to a blueprint: twelve statements, whatever the size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from facets import blueprint, models
from facets.blueprint import Blueprint, texts
from facets.data_types import DataType


def read_blueprint() -> tuple[Blueprint, dict[str, UUID]]:
    """The configuration of the scope, and the row id of each type."""
    facets = list(models.Facet.objects.all())
    facet_names = {row.id: row.name for row in facets}
    types = {row.id: row for row in models.ElementType.objects.all()}
    type_keys = {row.id: row.key for row in types.values()}
    properties = _read_properties(facet_names, type_keys)
    property_keys = {row_id: value.key for row_id, _, value in properties}
    layouts = list(models.Layout.objects.all())
    result = Blueprint(
        facets=_read_facets(facets, type_keys, property_keys, {row.id: row.key for row in layouts}),
        types=_read_types(types, facet_names, type_keys, properties),
        layouts=tuple(blueprint.Layout(row.key, texts(row.display_names)) for row in layouts),
    )
    return result, {key: row_id for row_id, key in type_keys.items()}


def _grouped(rows: Iterable[tuple[UUID, Any]]) -> dict[UUID, list[Any]]:
    groups: dict[UUID, list[Any]] = defaultdict(list)
    for owner, value in rows:
        groups[owner].append(value)
    return groups


def _read_properties(
    facet_names: dict[UUID, str], type_keys: dict[UUID, str]
) -> list[tuple[UUID, UUID, blueprint.Property]]:
    """Row id, type's row id and value of each property, in order."""
    values = _grouped(
        (
            row.property_id,
            blueprint.SelectableValue(row.key, texts(row.display_names), texts(row.descriptions), texts(row.tooltips)),
        )
        for row in models.SelectableValue.objects.all()
    )
    related_types = _grouped((row.property_id, type_keys[row.type_id]) for row in models.RelatedType.objects.all())
    found = []
    for row in models.Property.objects.all():
        attribute = related = None
        if row.target_facet_id is None:
            attribute = blueprint.Attribute(
                DataType(row.data_type), row.is_invariant_culture, tuple(values.get(row.id, ()))
            )
        else:
            related = blueprint.Related(
                facet=facet_names[row.target_facet_id],
                max_occurrence=row.max_occurrence or 0,
                types=tuple(related_types.get(row.id, ())),
                can_add_new=row.can_add_new,
                read_only=row.read_only,
            )
        value = blueprint.Property(
            row.key,
            texts(row.display_names),
            texts(row.descriptions),
            texts(row.tooltips),
            row.editable_in_released,
            attribute,
            related,
        )
        found.append((row.id, row.type_id, value))
    return found


def _read_types(
    types: dict[UUID, models.ElementType],
    facet_names: dict[UUID, str],
    type_keys: dict[UUID, str],
    properties: list[tuple[UUID, UUID, blueprint.Property]],
) -> tuple[blueprint.ElementType, ...]:
    own = _grouped((type_id, value) for _, type_id, value in properties)
    parents = _grouped((row.type_id, type_keys[row.parent_id]) for row in models.AllowedParent.objects.all())
    inserted = _grouped((row.type_id, type_keys[row.inserted_id]) for row in models.InsertableType.objects.all())
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
            parents=tuple(parents.get(row.id, ())),
            insertables=tuple(inserted.get(row.id, ())),
            properties=tuple(own.get(row.id, ())),
        )
        for row in types.values()
    )


def _read_facets(
    facets: list[models.Facet], type_keys: dict[UUID, str], property_keys: dict[UUID, str], layout_keys: dict[UUID, str]
) -> tuple[blueprint.Facet, ...]:
    shown = _grouped((row.view_type_id, property_keys[row.property_id]) for row in models.ViewProperty.objects.all())
    layouts = _grouped((row.view_type_id, layout_keys[row.layout_id]) for row in models.ViewLayout.objects.all())
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
        for row in models.ViewType.objects.all()
    )
    views = _grouped(
        (
            row.facet_id,
            blueprint.View(
                row.name, row.key, texts(row.display_names), row.is_hierarchical, tuple(view_types.get(row.id, ()))
            ),
        )
        for row in models.FacetView.objects.all()
    )
    return tuple(
        blueprint.Facet(row.name, row.type_name, texts(row.display_names), tuple(views.get(row.id, ())))
        for row in facets
    )
