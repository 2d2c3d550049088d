"""Facets, their views, and the type configuration of a view: operations 1, 2 and 14."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.functional import cached_property
from rest_framework.request import Request

from facets import rendering
from facets.api.facet_serializers import ElementTypesSerializer
from facets.clearance import visible_to_caller
from facets.configuration import CompiledFacet, CompiledView, Configuration, configuration_of
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import JSON_TYPE, answer, counted
from repository_site.core.rest.versioning import ApiVersions
from storage.api.storage_serializers import FacetsSerializer, FacetViewsSerializer
from storage.api.viewset import ApiViewSet


class ConfiguredViewSet(ApiViewSet):
    """A viewset that reads the configuration of its storage."""

    @cached_property
    def configuration(self) -> Configuration:
        """The part of the configuration that the caller sees; the same for the whole request, even if it changes
        meanwhile."""
        return visible_to_caller(self.caller, configuration_of(self.storage))

    def begin_attempt(self) -> None:
        self.__dict__.pop("configuration", None)

    def facet(self, name: str) -> CompiledFacet:
        return self.configuration.facet(name)

    def view(self, facet_name: str, name: str) -> CompiledView:
        return self.facet(facet_name).view(name)

    def naming(self, names: dict[int, str]) -> dict[str, object]:
        return self.named(names, self.configuration.cultures.default)


class FacetViewSet(ConfiguredViewSet):
    @Operation(
        "listFacets",
        tag="facets",
        summary="List facets",
        versions=ApiVersions.up_to("4.0"),
        by_facet=True,
        uses_language=True,
        responses=FacetsSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return the facets of the storage in configured order, each with the address of its views."""
        values = rendering.list_facets(self.configuration, self.facets_address, self.naming)
        return answer(counted("values", values))


class FacetViewViewSet(ConfiguredViewSet):
    @Operation(
        "listViews",
        tag="facets",
        summary="List the views of a facet",
        versions=ApiVersions.up_to("4.0", default="1.0"),
        uses_language=True,
        responses=FacetViewsSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return the views of a facet in configured order, each with the address of its elements."""
        facet = self.facet(names["facetId"]).facet
        values = rendering.list_views(self.configuration, facet, self.facets_address, self.naming)
        return answer(counted("values", values))

    @Operation(
        "getViewConfiguration",
        tag="facets",
        summary="Get the type configuration of a view",
        versions=ApiVersions.up_to("1.0"),
        responses=ElementTypesSerializer,
    )
    def get_view_configuration(self, request: Request, **names: str) -> HttpResponse:
        """Return the types of a view, each with the properties and layouts that the view shows."""
        return self._answer_types(names["facetId"], names["viewId"])

    @Operation(
        "getTypeConfiguration",
        tag="facets",
        summary="Get the configuration of one type in a view",
        versions=ApiVersions.up_to("1.0"),
        responses=ElementTypesSerializer,
    )
    def get_type_configuration(self, request: Request, **names: str) -> HttpResponse:
        """Return one type of a view with the properties and layouts that the view shows."""
        return self._answer_types(names["facetId"], names["viewId"], names["type"])

    def _answer_types(self, facet: str, view: str, only: str | None = None) -> HttpResponse:
        found = self.view(facet, view)
        body = rendering.render_view_configuration(self.configuration, found, only)
        return HttpResponse(body, content_type=JSON_TYPE)
