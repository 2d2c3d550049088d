"""The configured types as JSON Schemas: ask, answer."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from elements.api import schema
from elements.api.operation import ElementOperation
from elements.schemas.types import all_type_schemas, one_type_schema
from repository_site.core.rest.rendering import JSON_TYPE
from repository_site.core.rest.versioning import ApiVersions


@extend_schema(tags=["document"], summary="JSON Schemas of all types", responses=schema.TypeSchemas)
class TypeSchemasView(ElementOperation):
    """What an element of each type may hold when it is posted, for forms and for checks before posting."""

    operation_id = "listTypeSchemas"
    versions = ApiVersions.up_to("1.0")

    def read(self, request: Request, **names: str) -> HttpResponse:
        self.query(request).finish()
        return HttpResponse(all_type_schemas(self.configuration), content_type=JSON_TYPE)


@extend_schema(tags=["document"], summary="JSON Schema of one type", responses={(200, JSON_TYPE): schema.TYPE_SCHEMA})
class TypeSchemaView(ElementOperation):
    """The schema itself (draft 2020-12), as validators take it."""

    operation_id = "getTypeSchema"
    versions = ApiVersions.up_to("1.0")

    def read(self, request: Request, **names: str) -> HttpResponse:
        self.query(request).finish()
        return HttpResponse(one_type_schema(self.configuration, names["type"]), content_type=JSON_TYPE)
