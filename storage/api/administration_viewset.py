"""The administrative contexts: the storages of a collection and the collections of the site, as elements."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from repository_site.core.problems import Unreadable
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import printable
from storage.api.storage_serializers import (
    AdministrationElementsSerializer,
    FacetsSerializer,
    FacetViewsSerializer,
    NodesSerializer,
)
from storage.api.viewset import ApiViewSet
from storage.provisioning import administrative_elements
from storage.tenancy.contexts import ContextType
from storage.tenancy.nodes import DatabaseNode, list_nodes

ADMINISTRATION = frozenset({ContextType.COLLECTION, ContextType.SITE})


class AdministrationViewSet(ApiViewSet):
    @Operation(
        "listAdministrationFacets",
        tag="administration",
        summary="List the facets of an administrative context",
        versions=ApiVersions.up_to("4.0"),
        contexts=ADMINISTRATION,
        uses_language=True,
        responses=FacetsSerializer,
    )
    def list_administration_facets(self, request: Request, **names: str) -> HttpResponse:
        """Return the only facet of the context: `storages` in a collection, `collections` in the site.

        Requires an administrator.
        """
        facet = administrative_elements.facet_of(self.context)
        shown = self.named(facet.display_names, administrative_elements.ENGLISH)
        return answer(
            counted("values", [{"name": facet.name, **shown, "views": f"{self.facets_address}/{facet.name}/views"}])
        )

    @Operation(
        "listAdministrationViews",
        tag="administration",
        summary="List the views of an administrative facet",
        versions=ApiVersions.up_to("4.0", default="1.0"),
        contexts=ADMINISTRATION,
        uses_language=True,
        responses=FacetViewsSerializer,
    )
    def list_administration_views(self, request: Request, **names: str) -> HttpResponse:
        """Return the views `detail` and `list` of the facet. Requires an administrator."""
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

    @Operation(
        "listAdministrationElements",
        tag="administration",
        summary="List storages or collections",
        versions=ApiVersions.up_to("4.0"),
        contexts=ADMINISTRATION,
        responses=AdministrationElementsSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return all storages of the collection, or all collections of the site, sorted by name.

        Requires an administrator. There is no paging and no filter.
        """
        refuse_parameters(request)
        facet = administrative_elements.facet_of(self.context, names["facetId"])
        view = administrative_elements.view_of(facet, names["viewId"])
        return self._answer_elements(administrative_elements.list_elements(self.context, facet, view, self.base))

    @Operation(
        "getAdministrationElement",
        tag="administration",
        summary="Get a storage or collection",
        versions=ApiVersions.up_to("4.0"),
        contexts=ADMINISTRATION,
        responses=AdministrationElementsSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return one storage or collection by its id. Requires an administrator."""
        refuse_parameters(request)
        facet = administrative_elements.facet_of(self.context, names["facetId"])
        view = administrative_elements.view_of(facet, names["viewId"])
        try:
            identity = UUID(names["elementId"])
        except ValueError:
            raise Unreadable(f"{printable(names['elementId'], 80)!r} is not a GUID.") from None
        element = administrative_elements.get_element(self.context, facet, view, identity, self.base)
        return self._answer_elements([element])

    @Operation(
        "listNodes",
        tag="administration",
        summary="List the nodes of the database",
        versions=ApiVersions.up_to("1.0"),
        contexts=frozenset({ContextType.SITE}),
        responses=NodesSerializer,
    )
    def list_nodes(self, request: Request, **names: str) -> HttpResponse:
        """Return the database servers of the installation, and whether they are available now.

        Only in the site (`_sysadmin`); requires an administrator. A pool has the nodes with the same rows: a primary
        and its replicas. PostgreSQL has the pool `default`; a Citus cluster has `coordinator` and a pool for each
        worker, such as `worker-1`. A node that does not answer within about three seconds is not available.
        """
        refuse_parameters(request)
        return answer(counted("values", [_node(each) for each in list_nodes(names.get("pool"))]))

    def _answer_elements(self, found: Any) -> HttpResponse:
        return answer(counted("elements" if self.api_version == "4.0" else "values", found))


def refuse_parameters(request: Request) -> None:
    given = sorted(name for name in request.query_params if name.startswith("$"))
    if given:
        raise Unreadable(f"Administrative contexts do not support {', '.join(given)}; leave it out.")


def _node(node: DatabaseNode) -> dict[str, Any]:
    return {
        "name": f"{node.host}:{node.port}",
        "pool": node.pool,
        "role": node.role,
        "host": node.host,
        "port": node.port,
        "isAvailable": not node.problem,
        "storages": node.storages,
        **({"problem": node.problem} if node.problem else {}),
    }
