"""The configuration in the wire form of operations 1, 2, 14 and 17."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from facets.blueprint.cycles import Transition
from facets.blueprint.data_types import RUNTIME_NAMES
from facets.blueprint.definitions import Attribute, Facet, Property, Related, SelectableValue
from facets.blueprint.texts import Texts
from facets.configuration import CompiledView, Configuration, TypeInView
from repository_site.core.rest.rendering import counted, to_json
from storage.localisation.cultures import CultureSet, fallback_culture

Names = dict[int, str]
# Renders the names of a facet or view for an api-version (D5).
Naming = Callable[[Names], Mapping[str, object]]


def display_names(texts: Texts, cultures: CultureSet, key: str) -> Names:
    """Return a name in every data culture, with the key where no text can be shown (D40)."""
    known = {lcid: text for lcid, text in texts if text}
    chosen = {lcid: fallback_culture(lcid, known, cultures) for lcid in sorted(cultures.data)}
    return {lcid: key if other is None else known[other] for lcid, other in chosen.items()}


def other_texts(texts: Texts, cultures: CultureSet) -> Names:
    """Return descriptions or tooltips in every data culture, empty where there is none (D40)."""
    known = dict(texts)
    return {lcid: known.get(lcid, "") for lcid in sorted(cultures.data)}


@lru_cache(1_000)
def segment(name: str) -> str:
    return quote(name, safe="")


def list_facets(configuration: Configuration, address: str, named: Naming) -> list[dict[str, Any]]:
    """Operation 1; `address` is the address of the list of facets."""
    return [
        {
            "name": facet.name,
            **named(display_names(facet.display_names, configuration.cultures, facet.name)),
            "views": f"{address}/{segment(facet.name)}/views",
        }
        for facet in configuration.blueprint.facets
    ]


def list_views(configuration: Configuration, facet: Facet, address: str, named: Naming) -> list[dict[str, Any]]:
    """Operation 2; `address` is the address of the list of facets."""
    return [
        {
            "name": view.name,
            **named(display_names(view.display_names, configuration.cultures, view.name)),
            "isHierarchical": view.is_hierarchical,
            "elements": f"{address}/{segment(facet.name)}/views/{segment(view.name)}/elements",
        }
        for view in facet.views
    ]


def list_transitions(transitions: Iterable[Transition]) -> list[dict[str, str]]:
    return [{"transitionId": each.key, "sourceState": each.source, "targetState": each.target} for each in transitions]


def render_view_configuration(configuration: Configuration, view: CompiledView, type_key: str | None) -> bytes:
    """Render the whole answer of operation 14 once per configuration, on which alone it depends."""
    shown = list(view.types.values()) if type_key is None else [view.type(type_key)]
    key = (view.facet.name, view.view.name, None if type_key is None else shown[0].type.key)
    return configuration.keep(
        ("config", *key), lambda: to_json(counted("values", [_type(each, configuration.cultures) for each in shown]))
    )


def _type(shown: TypeInView, cultures: CultureSet) -> dict[str, Any]:
    type = shown.type
    return {
        "key": type.key,
        "displayNames": display_names(type.display_names, cultures, type.key),
        "descriptions": other_texts(type.descriptions, cultures),
        "properties": [_property(each, cultures) for each in shown.properties.values()],
        "layouts": [
            {"key": layout.key, "displayNames": display_names(layout.display_names, cultures, layout.key)}
            for layout in shown.layouts
        ],
    }


def _property(value: Property, cultures: CultureSet) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "key": value.key,
        "displayNames": display_names(value.display_names, cultures, value.key),
        "descriptions": other_texts(value.descriptions, cultures),
        "tooltips": other_texts(value.tooltips, cultures),
    }
    if value.attribute is not None:
        rendered["attribute"] = _attribute(value.attribute, cultures)
    if value.related is not None:
        rendered["related"] = _related(value.related)
    return rendered


def _attribute(attribute: Attribute, cultures: CultureSet) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "type": RUNTIME_NAMES[attribute.data_type],
        "dataType": attribute.data_type.value,
        "isInvariantCulture": attribute.is_invariant_culture,
    }
    if attribute.data_type.has_selectable_values:
        rendered["selectableValues"] = [_value(each, cultures) for each in attribute.selectable_values]
    return rendered


def _value(value: SelectableValue, cultures: CultureSet) -> dict[str, Any]:
    return {
        **({} if value.key is None else {"key": value.key}),
        "displayNames": display_names(value.display_names, cultures, value.key or ""),
        "descriptions": other_texts(value.descriptions, cultures),
        "tooltips": other_texts(value.tooltips, cultures),
    }


def _related(related: Related) -> dict[str, Any]:
    return {
        "relatedTypes": list(related.types),
        "canAddNew": related.can_add_new,
        "maxOccurrence": related.max_occurrence,
        "readOnly": related.read_only,
        "facet": related.facet,
    }
