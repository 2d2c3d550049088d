"""A tiny API over the shelves, for requests that must touch tenant rows."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework.request import Request

from repository_site.core.rest.rendering import answer
from repository_site.core.rest.versioning import ApiVersions
from repository_site.urls import handler400, handler404, handler500
from storage.api.operation import Operation, ReadOperation
from tests.shelves.models import Shelf

__all__ = ["handler400", "handler404", "handler500"]


class ShelvesView(ReadOperation):
    operation_id = "listShelves"
    versions = ApiVersions.up_to("1.0")

    def read(self, request: Request, **names: str) -> HttpResponse:
        shelves = sorted(Shelf.objects.values_list("name", flat=True))
        if "fail" in request.query_params:
            raise RuntimeError("a fault inside the scope")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            row = cursor.fetchone()
        return answer({"shelves": shelves, "backend": row[0] if row else 0})


class EchoView(Operation):
    """Takes a body, as the first operations that write will."""

    operation_id = "echo"
    versions = ApiVersions.up_to("1.0")

    def post(self, request: Request, **names: str) -> HttpResponse:
        return answer({"body": repr(request.data)})


def unscoped(request: HttpRequest, **names: str) -> HttpResponse:
    """What nobody may write: a query on a tenant table without a scope."""
    return answer({"shelves": Shelf.objects.count(), "backend": 0})


urlpatterns = [
    path("<str:collectionId>/<str:storageId>/_api/echo", EchoView.as_view()),
    path("<str:collectionId>/<str:storageId>/_api/unscoped", unscoped),
    path("<str:collectionId>/<str:storageId>/_api/shelves", ShelvesView.as_view()),
]
