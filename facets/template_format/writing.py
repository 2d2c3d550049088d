"""Writes a blueprint as a template document, which reads back as an equal blueprint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from facets.blueprint import definitions as blueprint
from facets.blueprint.cycles import ReleaseCycle, State, ValidationRule
from facets.blueprint.definitions import Blueprint
from facets.blueprint.private_content import TOKENS_FACET
from facets.blueprint.texts import texts_by_culture
from facets.template_format.document_nodes import MAX_INTEGER
from storage.localisation.cultures import CultureSet


def write_template(
    name: str, title: str, cultures: CultureSet, source: Blueprint, *, sharing: bool = True
) -> dict[str, Any]:
    """Return a template document without default values.

    With `sharing`, definitions that several types have in common are written once, under `properties`.
    """
    shared = _shared(source.types) if sharing else {}
    return {
        "name": name,
        "title": title,
        "cultures": {
            "data": list(cultures.data),
            "default": cultures.default,
            "mandatory": list(cultures.mandatory),
        },
        "layouts": {each.key: {"displayNames": texts_by_culture(each.display_names)} for each in source.layouts},
        "properties": {key: _property(value) for key, value in shared.items()},
        "facets": {each.name: _facet(each) for each in source.facets},
        "types": {each.key: _type(each, shared) for each in source.types},
        "releaseCycles": {each.key: _cycle(each) for each in source.cycles},
        "validationRules": {each.key: _rule(each) for each in source.rules},
    }


def _shared(types: Sequence[blueprint.ElementType]) -> dict[str, blueprint.Property]:
    """Return for each key the most frequent definition, if more than one type has it."""
    counts: dict[str, dict[blueprint.Property, int]] = defaultdict(lambda: defaultdict(int))
    for each in types:
        for value in each.properties:
            counts[value.key][value] += 1
    best = {key: max(found, key=lambda value: found[value]) for key, found in counts.items()}
    return {key: value for key, value in best.items() if counts[key][value] > 1}


def _without_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, False, {}, [], "")}


def _property(value: blueprint.Property) -> dict[str, Any]:
    return {
        **_without_defaults(
            {
                "displayNames": texts_by_culture(value.display_names),
                "descriptions": texts_by_culture(value.descriptions),
                "tooltips": texts_by_culture(value.tooltips),
                "editableInReleased": value.editable_in_released,
            }
        ),
        **({"attribute": _attribute(value.attribute)} if value.attribute else {}),
        **({"related": _related(value.related)} if value.related else {}),
    }


def _attribute(attribute: blueprint.Attribute) -> dict[str, Any]:
    written = _without_defaults(
        {"dataType": attribute.data_type.value, "isInvariantCulture": attribute.is_invariant_culture}
    )
    if attribute.data_type.has_selectable_values:
        written["selectableValues"] = [
            _without_defaults(
                {
                    "key": value.key,
                    "displayNames": texts_by_culture(value.display_names),
                    "descriptions": texts_by_culture(value.descriptions),
                    "tooltips": texts_by_culture(value.tooltips),
                }
            )
            for value in attribute.selectable_values
        ]
    return written


def _related(related: blueprint.Related) -> dict[str, Any]:
    return _without_defaults(
        {
            "facet": related.facet,
            "relatedTypes": list(related.types),
            "canAddNew": related.can_add_new,
            "maxOccurrence": None if related.max_occurrence == MAX_INTEGER else related.max_occurrence,
            "readOnly": related.read_only,
        }
    )


def _type(type: blueprint.ElementType, shared: dict[str, blueprint.Property]) -> dict[str, Any]:
    return _without_defaults(
        {
            "facet": type.facet,
            "displayNames": texts_by_culture(type.display_names),
            "descriptions": texts_by_culture(type.descriptions),
            "color": type.color,
            "isVersioned": type.is_versioned,
            "isArchitectural": type.is_architectural,
            "hasDiagram": type.has_diagram,
            "livesInDiagrams": type.lives_in_diagrams,
            "elementTypeName": type.element_type_name,
            "entityTypeName": type.entity_type_name,
            "staticState": type.static_state,
            "releaseCycle": type.release_cycle,
            "parents": list(type.parents),
            "insertables": list(type.insertables),
            "properties": [
                value.key if shared.get(value.key) == value else {"key": value.key, **_property(value)}
                for value in type.properties
            ],
        }
    )


def _facet(facet: blueprint.Facet) -> dict[str, Any]:
    return {
        "displayNames": texts_by_culture(facet.display_names),
        "typeName": facet.type_name,
        **({} if facet.for_readers is (facet.name != TOKENS_FACET) else {"forReaders": facet.for_readers}),
        "views": {view.name: _view(view) for view in facet.views},
    }


def _view(view: blueprint.View) -> dict[str, Any]:
    """Write each type with its own properties and layouts; an export does not restore view sets."""
    return {
        **_without_defaults(
            {
                "displayNames": texts_by_culture(view.display_names),
                "key": view.key,
                "isHierarchical": view.is_hierarchical,
            }
        ),
        "types": [each.type for each in view.types],
        **_without_defaults({"rootTypes": [each.type for each in view.types if each.is_root]}),
        "properties": "all",
        "typeOverrides": {
            each.type: {"properties": "all" if each.shows_all else list(each.properties), "layouts": list(each.layouts)}
            for each in view.types
            if not each.shows_all or each.layouts
        },
    }


def _cycle(cycle: ReleaseCycle) -> dict[str, Any]:
    return {
        "displayNames": texts_by_culture(cycle.display_names),
        "states": {
            each.key: {
                "category": each.category.value,
                "displayNames": texts_by_culture(each.display_names),
                **({"task": _state_task(each)} if each.task else {}),
            }
            for each in cycle.states
        },
        "transitions": {
            each.key: _without_defaults(
                {
                    "displayNames": texts_by_culture(each.display_names),
                    "from": each.source,
                    "to": each.target,
                    "task": each.task,
                    "endsVersion": each.ends_version,
                }
            )
            for each in cycle.transitions
        },
        **_without_defaults({"takesEffect": cycle.takes_effect}),
    }


def _state_task(state: State) -> dict[str, Any]:
    return {
        "type": state.task,
        "accept": state.accept,
        "reject": state.reject,
        **({} if state.approvals == 1 else {"approvals": state.approvals or "all"}),
        **_without_defaults({"assignees": list(state.assignees), "dueDays": state.due_days}),
    }


def _rule(rule: ValidationRule) -> dict[str, Any]:
    return _without_defaults(
        {
            "property": rule.property,
            "severity": rule.severity.value,
            "messages": texts_by_culture(rule.messages),
            "states": list(rule.states),
            "transitions": list(rule.transitions),
            "perCulture": rule.per_culture,
        }
    )
