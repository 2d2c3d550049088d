"""Operations 1, 2 and 14: parse, ask the compiled configuration, render."""

from __future__ import annotations

from functools import cached_property

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from facets import rendering
from facets.api import schema
from facets.configuration import Configuration, configuration_of
from repository_site.core.rest.rendering import JSON_TYPE, answer, counted
from repository_site.core.rest.versioning import ApiVersions
from storage.api import schema as storage_schema
from storage.api.operation import ReadOperation


class ConfiguredOperation(ReadOperation):
    """An operation driven by the configuration of its storage."""

    @cached_property
    def configuration(self) -> Configuration:
        """One for the whole request, whatever changes meanwhile."""
        return configuration_of(self.storage)

    @property
    def facets_address(self) -> str:
        return f"{self.base}{self.context.path}/_api/rest/facets"

    def naming(self, names: dict[int, str]) -> dict[str, object]:
        return self.named(names, self.configuration.cultures.default)


@extend_schema(tags=["facets"], summary="Facets of a storage", responses=storage_schema.Facets)
class FacetsView(ConfiguredOperation):
    """The facets in their configured order, each with the address of its views."""

    operation_id = "listFacets"
    speaks = True
    versions = ApiVersions.up_to("4.0")

    def read(self, request: Request, **names: str) -> HttpResponse:
        values = rendering.list_facets(self.configuration, self.facets_address, self.naming)
        return answer(counted("values", values))


@extend_schema(tags=["facets"], summary="Views of a facet", responses=storage_schema.FacetViews)
class ViewsView(ConfiguredOperation):
    """The views of a facet in their configured order, each with the address of its elements."""

    operation_id = "listViews"
    speaks = True
    versions = ApiVersions.up_to("4.0", default="1.0")

    def read(self, request: Request, **names: str) -> HttpResponse:
        facet = self.configuration.facet(names["facetId"]).facet
        values = rendering.list_views(self.configuration, facet, self.facets_address, self.naming)
        return answer(counted("values", values))


@extend_schema(tags=["facets"], summary="Type configuration of a view", responses=schema.ElementTypes)
class ConfigurationView(ConfiguredOperation):
    """The types a view contains, each with the properties and layouts the view shows of it."""

    operation_id = "getViewConfiguration"
    versions = ApiVersions.up_to("1.0")

    def read(self, request: Request, **names: str) -> HttpResponse:
        configuration = self.configuration
        view = configuration.facet(names["facetId"]).view(names["viewId"])
        body = rendering.render_view_configuration(configuration, view, names.get("type"))
        return HttpResponse(body, content_type=JSON_TYPE)


@extend_schema(tags=["facets"], summary="Configuration of one type in a view", responses=schema.ElementTypes)
class TypeConfigurationView(ConfigurationView):
    """The one type of the view that the address names, in any letter case."""

    operation_id = "getTypeConfiguration"
