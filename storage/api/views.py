"""Storage info in every context, and the four operations of the administrative ones."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from repository_site.core.problems import Unreadable
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from storage.api import schema
from storage.api.operation import ReadOperation
from storage.provisioning import administrative_elements
from storage.provisioning.info import storage_info
from storage.tenancy.contexts import ContextType


@extend_schema(tags=["storage"], summary="Storage info", responses=schema.StorageInfo)
class InfoView(ReadOperation):
    """What this storage (or administrative context) is: ids, addresses, cultures, region and time zone."""

    operation_id = "getStorageInfo"
    versions = ApiVersions.up_to("1.0")
    contexts = frozenset(ContextType)

    def read(self, request: Request, **names: str) -> HttpResponse:
        return answer(storage_info(self.context, self.base))


class AdministrationOperation(ReadOperation):
    contexts = frozenset({ContextType.COLLECTION, ContextType.SITE})
    versions = ApiVersions.up_to("4.0")

    def refuse_parameters(self, request: Request) -> None:
        given = sorted(name for name in request.query_params if name.startswith("$"))
        if given:
            raise Unreadable(f"The administrative contexts take no {', '.join(given)}.")

    def elements(self, found: list[dict[str, Any]]) -> HttpResponse:
        return answer(counted("elements" if self.api_version == "4.0" else "values", found))

    @property
    def facets_address(self) -> str:
        return f"{self.base}{self.context.path}/_api/rest/facets"


@extend_schema(tags=["administration"], summary="Facets of an administrative context", responses=schema.Facets)
class FacetsView(AdministrationOperation):
    """The one facet of the context: `storages` of a collection, or `collections` of the site."""

    operation_id = "listAdministrationFacets"
    speaks = True

    def read(self, request: Request, **names: str) -> HttpResponse:
        facet = administrative_elements.facet_of(self.context)
        shown = self.named(facet.display_names, administrative_elements.ENGLISH)
        return answer(
            counted("values", [{"name": facet.name, **shown, "views": f"{self.facets_address}/{facet.name}/views"}])
        )


@extend_schema(tags=["administration"], summary="Views of an administrative facet", responses=schema.FacetViews)
class ViewsView(AdministrationOperation):
    """The views of the facet: `detail` and `list`."""

    operation_id = "listAdministrationViews"
    speaks = True
    versions = ApiVersions.up_to("4.0", default="1.0")

    def read(self, request: Request, **names: str) -> HttpResponse:
        facet = administrative_elements.facet_of(self.context, names["facetId"])
        address = f"{self.facets_address}/{facet.name}/views"
        values = [
            {
                "name": view.name,
                **self.named(view.display_names, administrative_elements.ENGLISH),
                "isHierarchical": False,
                "elements": f"{address}/{view.name}/elements",
            }
            for view in facet.views
        ]
        return answer(counted("values", values))


@extend_schema(tags=["administration"], summary="Storages or collections", responses=schema.AdministrationElements)
class ElementsView(AdministrationOperation):
    """Every storage of the collection, or every collection of the site, by name."""

    operation_id = "listAdministrationElements"

    def read(self, request: Request, **names: str) -> HttpResponse:
        self.refuse_parameters(request)
        facet = administrative_elements.facet_of(self.context, names["facetId"])
        view = administrative_elements.view_of(facet, names["viewId"])
        return self.elements(administrative_elements.list_elements(self.context, facet, view, self.base))


@extend_schema(tags=["administration"], summary="One storage or collection", responses=schema.AdministrationElements)
class ElementView(AdministrationOperation):
    """One storage or collection by its id."""

    operation_id = "getAdministrationElement"

    def read(self, request: Request, **names: str) -> HttpResponse:
        self.refuse_parameters(request)
        facet = administrative_elements.facet_of(self.context, names["facetId"])
        view = administrative_elements.view_of(facet, names["viewId"])
        try:
            identity = UUID(names["elementId"])
        except ValueError:
            raise Unreadable(f"{names['elementId'][:80]!r} is no GUID.") from None
        return self.elements([administrative_elements.get_element(self.context, facet, view, identity, self.base)])
