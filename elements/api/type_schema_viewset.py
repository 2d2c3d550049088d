"""The configured types as JSON Schemas."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.element_serializers import TYPE_SCHEMA, TypeSchemasSerializer
from elements.api.reading_viewset import ElementReadingViewSet
from elements.schemas.type_schemas import all_type_schemas, one_type_schema
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import JSON_TYPE
from repository_site.core.rest.versioning import ApiVersions


class TypeSchemaViewSet(ElementReadingViewSet):
    @Operation(
        "listTypeSchemas",
        tag="document",
        summary="List the JSON Schemas of all types",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        responses=TypeSchemasSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return a JSON Schema for each configured type, for forms and for validation before an update."""
        self.query(request).finish()
        return HttpResponse(all_type_schemas(self.configuration), content_type=JSON_TYPE)

    @Operation(
        "getTypeSchema",
        tag="document",
        summary="Get the JSON Schema of a type",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        responses={(200, JSON_TYPE): TYPE_SCHEMA},
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return the JSON Schema (draft 2020-12) of one type, without an envelope, as validators expect it."""
        self.query(request).finish()
        return HttpResponse(one_type_schema(self.configuration, names["type"]), content_type=JSON_TYPE)
