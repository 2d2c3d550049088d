"""A tiny API over the shelves, for requests that must touch tenant rows."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework.request import Request

from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer
from repository_site.core.rest.versioning import ApiVersions
from repository_site.urls import handler400, handler404, handler500
from storage.api.viewset import ApiViewSet, reads
from tests.shelves.models import Shelf

__all__ = ["handler400", "handler404", "handler500"]


class ShelfViewSet(ApiViewSet):
    @Operation("listShelves", tag="shelves", summary="", versions=ApiVersions.up_to("1.0"), responses=dict)
    def list(self, request: Request, **names: str) -> HttpResponse:
        shelves = sorted(Shelf.objects.values_list("name", flat=True))
        if "fail" in request.query_params:
            raise RuntimeError("a fault inside the scope")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            row = cursor.fetchone()
        return answer({"shelves": shelves, "backend": row[0] if row else 0})

    @Operation("echo", tag="shelves", summary="", versions=ApiVersions.up_to("1.0"), writes=True, responses=dict)
    def echo(self, request: Request, **names: str) -> HttpResponse:
        return answer({"body": repr(request.data)})


def unscoped(request: HttpRequest, **names: str) -> HttpResponse:
    """Query a tenant table without a scope, which must fail."""
    return answer({"shelves": Shelf.objects.count(), "backend": 0})


urlpatterns = [
    path("<str:collectionId>/<str:storageId>/_api/echo", ShelfViewSet.as_view({"post": "echo"})),
    path("<str:collectionId>/<str:storageId>/_api/unscoped", unscoped),
    path("<str:collectionId>/<str:storageId>/_api/shelves", ShelfViewSet.as_view(reads("list"))),
]
