"""Deleting elements and shapes, and the record of changes."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from elements.api import schema
from elements.api.operation import ElementOperation
from elements.api.parameters import PAGE, PAGE_SIZE
from elements.api.writing import DeletingOperation, success
from elements.permissions import require_history
from elements.reading.history import count_changes, read_changes
from elements.writing.drawing import erase_shape
from elements.writing.findings import Findings
from repository_site.core.problems import Unreadable
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, printable


@extend_schema(tags=["elements"], summary="Delete an element or a draft", responses=schema.Success)
class ElementDeletionView(DeletingOperation):
    """As DELETE of the element, for clients that can only post."""

    operation_id = "deleteElementByPost"
    writing_ids = {"POST": "deleteElementByPost"}
    versions = ApiVersions.up_to("4.0")
    http_method_names = ["post"]

    def post(self, request: Request, **names: str) -> HttpResponseBase:
        return self.delete_element(request, names)


@extend_schema(tags=["elements"], summary="Take a shape out of a diagram", responses={200: schema.Success})
class ShapeView(DeletingOperation):
    """What came before the shape then comes before what came after it; an element that lives only there goes, too."""

    operation_id = "deleteShape"
    writing_ids = {"DELETE": "deleteShape"}
    versions = ApiVersions.up_to("3.0")
    http_method_names = ["delete"]

    def delete(self, request: Request, **names: str) -> HttpResponseBase:
        return self.once(request, lambda: self.erase(request, names))

    def erase(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.writer(request)
        view = self.view_of(names)
        self.refuse_body(request)
        shape = names["shapeId"].lower()
        if not GUID.fullmatch(shape):
            raise Unreadable(f"{printable(names['shapeId'], 80)!r} is no GUID.")
        owner = self.element_in(view, names["elementId"])
        erase_shape(writer, view, owner, shape, Findings(), lambda rows: self.check_match(request, rows))
        return success(f"The shape {shape} has been deleted.")


@extend_schema(tags=["elements"], summary="Take a shape out of a diagram", responses={200: schema.Success})
class ShapeDeletionView(ShapeView):
    """As DELETE of the shape, for clients that can only post."""

    operation_id = "deleteShapeByPost"
    writing_ids = {"POST": "deleteShapeByPost"}
    http_method_names = ["post"]

    def post(self, request: Request, **names: str) -> HttpResponseBase:
        return self.delete(request, **names)


@extend_schema(tags=["elements"], summary="Changes of an element", parameters=schema.PAGES, responses=schema.Changes)
class HistoryView(ElementOperation):
    """Who changed what and when, newest first."""

    operation_id = "listChanges"
    versions = ApiVersions.up_to("1.0")
    parameters = (PAGE, PAGE_SIZE)

    def read(self, request: Request, **names: str) -> HttpResponse:
        view = self.view_of(names)
        require_history(self.caller)
        query = self.query(request)
        paging = query.page()
        query.finish()
        row = self.element_in(view, names["elementId"])
        changes = read_changes(self.reader, row.element, paging.size, (paging.page - 1) * paging.size)
        response = answer(counted("values", changes))
        self.add_page_headers(response, paging.page, paging.size, count_changes(row.element))
        return response
