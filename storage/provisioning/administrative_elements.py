"""Elements of the administrative contexts (D24): storages of a collection, collections of the site.

Their rows are not in a tenant table, so this module renders them in the wire form of elements (D8, D9, D10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings

from repository_site.core.problems import NotFound
from repository_site.core.rest.datetimes import wire_datetime
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.models import Storage, StorageCollection
from storage.tenancy.contexts import Context, ContextType

Names = dict[int, str]
GERMAN, ENGLISH = 1031, 1033


@dataclass(frozen=True, slots=True)
class AdministrationView:
    name: str
    display_names: Names
    attributes: frozenset[str] | None
    """Names of the attributes to show; None shows all."""


@dataclass(frozen=True, slots=True)
class AdministrationFacet:
    name: str
    type: str
    display_names: Names
    type_names: Names
    views: tuple[AdministrationView, ...]
    rows: Callable[[Context], Iterable[Any]]
    attributes: Callable[[Any, str], dict[str, Any]]


def facet_of(context: Context, name: str | None = None) -> AdministrationFacet:
    """Return the only facet of an administrative context; raise NotFound for another name."""
    facet = STORAGES if context.type is ContextType.COLLECTION else COLLECTIONS
    if name is not None and name.lower() != facet.name:
        raise NotFound(f"There is no facet {name}.")
    return facet


def view_of(facet: AdministrationFacet, name: str) -> AdministrationView:
    for view in facet.views:
        if view.name == name.lower():
            return view
    raise NotFound(f"There is no view {name} in the facet {facet.name}.")


def list_elements(
    context: Context, facet: AdministrationFacet, view: AdministrationView, base: str
) -> list[dict[str, Any]]:
    """Return the elements sorted by name, ignoring case, then by id (D9)."""
    rows = sorted(facet.rows(context), key=lambda row: (row.key.lower(), str(row.id)))
    return [_element(facet, view, row, base) for row in rows]


def get_element(
    context: Context, facet: AdministrationFacet, view: AdministrationView, element_id: UUID, base: str
) -> dict[str, Any]:
    for row in facet.rows(context):
        if row.id == element_id:
            return _element(facet, view, row, base)
    raise NotFound(f"There is no element {element_id} in the facet {facet.name}.")


def storage_documents(storages: Iterable[Storage], base: str) -> list[dict[str, Any]]:
    """Return storages as plain objects in the same order (D582)."""
    rows = sorted(storages, key=lambda row: (row.key.lower(), str(row.id)))
    return [{"id": str(row.id), **_storage_attributes(row, base)} for row in rows]


def _element(facet: AdministrationFacet, view: AdministrationView, row: Any, base: str) -> dict[str, Any]:
    values = facet.attributes(row, base)
    shown = sorted(values if view.attributes is None else view.attributes)
    return {
        "facetName": facet.name,
        "id": str(row.id),
        "creationId": str(row.id),
        "type": facet.type,
        "displayNames": facet.type_names,
        "attributes": {name: {INVARIANT_CULTURE: values[name]} for name in shown},
    }


def _storages(context: Context) -> Iterator[Storage]:
    # Each storage knows its collection, without the join that would leave a reference cycle (D211).
    return context.collection.storages.iterator() if context.collection else iter(())


def _collections(context: Context) -> Iterator[StorageCollection]:
    return StorageCollection.objects.all().iterator()


def _storage_attributes(storage: Storage, base: str) -> dict[str, Any]:
    address = f"{base}/{storage.collection.key}/{storage.key}"
    return {
        "anonymousAccess": storage.anonymous_access,
        "apiUrl": f"{address}/_api",
        "appUrl": address,
        "createdOn": wire_datetime(storage.created_on, ZoneInfo(storage.time_zone)),
        "description": storage.description,
        "isValid": storage.is_valid,
        "name": storage.key,
        "region": storage.region,
        "template": storage.template,
        "timeZone": storage.time_zone,
        "title": storage.title,
    }


def _collection_attributes(collection: StorageCollection, base: str) -> dict[str, Any]:
    return {
        "apiUrl": f"{base}/{collection.key}/_admin/_api",
        "createdOn": wire_datetime(collection.created_on, ZoneInfo(settings.DEFAULT_TIME_ZONE)),
        "description": collection.description,
        "name": collection.key,
        "title": collection.title,
    }


def _views(listed: frozenset[str]) -> tuple[AdministrationView, ...]:
    return (
        AdministrationView("detail", {GERMAN: "Alle Angaben", ENGLISH: "All information"}, None),
        AdministrationView("list", {GERMAN: "Liste", ENGLISH: "List"}, listed),
    )


STORAGES = AdministrationFacet(
    name="storages",
    type="storage",
    display_names={GERMAN: "Speicher", ENGLISH: "Storages"},
    type_names={GERMAN: "Speicher", ENGLISH: "Storage"},
    views=_views(frozenset({"apiUrl", "isValid", "name", "template", "title"})),
    rows=_storages,
    attributes=_storage_attributes,
)
COLLECTIONS = AdministrationFacet(
    name="collections",
    type="collection",
    display_names={GERMAN: "Sammlungen", ENGLISH: "Collections"},
    type_names={GERMAN: "Sammlung", ENGLISH: "Collection"},
    views=_views(frozenset({"apiUrl", "name", "title"})),
    rows=_collections,
    attributes=_collection_attributes,
)
