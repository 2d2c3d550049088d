"""The content of a diagram: reading shapes, drawing and erasing them (operations 10 and 11)."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.element_serializers import (
    ContentSerializer,
    ContentToDrawSerializer,
    DrawnContentSerializer,
    SuccessSerializer,
)
from elements.api.writing_viewset import ElementWritingViewSet, refuse_many, success
from elements.reading.content import ContentAssembler, content_wanted
from elements.writing.drawing import draw, erase_shape
from elements.writing.drawing_inputs import ItemReader
from elements.writing.findings import Findings
from repository_site.core.problems import Unreadable
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, printable
from storage.api.conditional_requests import Prepared


class ContentViewSet(ElementWritingViewSet):
    @Operation(
        "getContent",
        tag="elements",
        summary="Get the content of a diagram",
        versions=ApiVersions.up_to("2.0"),
        is_conditional=True,
        responses=ContentSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return the shapes of the element's diagram in drawing order.

        Each item has the element that the shape shows, and in `properties` the id and the predecessors of the shape.
        """
        view = self.view_of(names)
        self.query(request).finish()
        row = self.element_in(view, names["elementId"])

        def list_shapes() -> HttpResponse:
            return answer(counted("elements", ContentAssembler(self.reader, view, content_wanted()).shapes(row)))

        return Prepared(list_shapes)

    @Operation(
        "createContent",
        tag="elements",
        summary="Add shapes to a diagram",
        versions=ApiVersions.up_to("3.0"),
        writes=True,
        body=ContentToDrawSerializer,
        responses=DrawnContentSerializer,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Add shapes for existing or new elements to the diagram of an element.

        Requires the permission EditElement. Items refer to each other by `index`, to existing shapes by `id`. The
        response has the id of each new shape. An empty body is an error: this operation never reads.
        """
        writer = self.writer(request)
        view = self.view_of(names)
        self.query(request).finish()
        owner = self.element_in(view, names["elementId"])
        findings = Findings()
        items = ItemReader(findings).items(request.data)
        refuse_many(len(items), "items")
        shapes = draw(writer, view, owner, items, findings, lambda rows: self.check_match(request, rows))
        drawn = [{"id": shape, "index": item.index} for shape, item in zip(shapes, items, strict=True)]
        return answer({"values": drawn})

    @Operation(
        "deleteShape",
        tag="elements",
        summary="Remove a shape from a diagram",
        versions=ApiVersions.up_to("3.0"),
        writes=True,
        responses=SuccessSerializer,
    )
    def destroy(self, request: Request, **names: str) -> HttpResponse:
        """Remove a shape and connect its predecessors to its successors. Requires the permission EditElement.

        An element that exists only in this diagram is deleted with its last shape.
        """
        return self._erase(request, names)

    @Operation(
        "deleteShapeByPost",
        tag="elements",
        summary="Remove a shape from a diagram (POST)",
        versions=ApiVersions.up_to("3.0"),
        writes=True,
        responses=SuccessSerializer,
    )
    def delete_shape_by_post(self, request: Request, **names: str) -> HttpResponse:
        """Same as DELETE of the shape, for clients that cannot send DELETE."""
        return self._erase(request, names)

    def _erase(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.writer(request)
        view = self.view_of(names)
        self.refuse_parameters_and_body(request)
        shape = names["shapeId"].lower()
        if not GUID.fullmatch(shape):
            raise Unreadable(f"{printable(names['shapeId'], 80)!r} is not a GUID.")
        owner = self.element_in(view, names["elementId"])
        erase_shape(writer, view, owner, shape, Findings(), lambda rows: self.check_match(request, rows))
        return success(f"The shape {shape} has been deleted.")
