"""The content of a diagram: reading, drawing and erasing shapes (operations 10 and 11), and replacing them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api import query_parameters
from elements.api.diagrams.content_serializers import (
    ContentSerializer,
    ContentToDrawSerializer,
    ContentToReplaceSerializer,
    DrawnContentSerializer,
    ReplacedContentSerializer,
)
from elements.api.element_serializers import SuccessSerializer
from elements.api.query import DETAILS, DRY_RUN
from elements.api.writing_viewset import ElementWritingViewSet, refuse_many, success
from elements.reading.diagrams.content import ContentAssembler, content_wanted
from elements.writing.diagrams.drawing import draw
from elements.writing.diagrams.drawing_inputs import ItemReader
from elements.writing.diagrams.erasing import erase_shape
from elements.writing.diagrams.rewiring import replace_diagram
from elements.writing.diagrams.wanted_diagrams import WantedLane, WantedShape
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
        parameters=query_parameters.CONTENT,
        is_conditional=True,
        responses=ContentSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return the shapes of the element's diagram in drawing order.

        Each item has the element that the shape shows, and in `properties` the id and the predecessors of the shape.
        With `$details=true`, `properties` also has the bounds, the lane, the container and the host of the shape, each
        predecessor has the label of the flow from it, and the response has `lanes`.
        """
        view, query = self.view_of(names), self.query(request)
        has_details = query.boolean(DETAILS, query.text(DETAILS))
        query.finish()
        row = self.element_in(view, names["elementId"])

        def list_shapes() -> HttpResponse:
            assembler = ContentAssembler(self.reader, view, content_wanted())
            if not has_details:
                return self.answer_bounded(counted("elements", assembler.shapes(row)))
            shapes, lanes = assembler.detailed(row)
            return self.answer_bounded({**counted("elements", shapes), "lanes": lanes})

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

        Requires the permission EditElement. Items refer to each other by `index`, to existing shapes by `id`. An
        existing shape gets further predecessors, or with `replacePredecessors` only those. The response has the id of
        each new shape. An empty body is an error: this operation never reads.
        """
        writer = self.writer(request)
        view = self.view_of(names)
        self.query(request).finish()
        owner = self.element_in(view, names["elementId"])
        findings = Findings()
        items = ItemReader(findings).items(request.data)
        refuse_many(len(items) + sum(each.element.makes for each in items if each.element), "items")
        shapes = draw(writer, view, owner, items, findings, lambda rows: self.check_match(request, rows))
        drawn = [{"id": shape, "index": item.index} for shape, item in zip(shapes, items, strict=True)]
        return answer({"values": drawn})

    @Operation(
        "replaceContent",
        tag="elements",
        summary="Replace a diagram",
        versions=ApiVersions.up_to("3.0"),
        parameters=query_parameters.REPLACEMENT,
        writes=True,
        body=ContentToReplaceSerializer,
        responses=ReplacedContentSerializer,
    )
    def update(self, request: Request, **names: str) -> HttpResponse:
        """Make the diagram of an element the one in the request, and report the differences.

        Requires the permission EditElement. Shapes and lanes that the request names by `id` stay, others are removed.
        A shape that stays keeps everything that its item does not mention, except its predecessors: they are exactly
        those of the item. `element` of such a shape can have new values of an element that lives in diagrams. Without
        `lanes`, all lanes stay. In the response to a dry run, the ids of new parts are valid in that response only.
        """
        writer = self.writer(request)
        view = self.view_of(names)
        query = self.query(request)
        is_dry_run = query.boolean(DRY_RUN, query.text(DRY_RUN)) is True
        query.finish()
        owner = self.element_in(view, names["elementId"])
        findings = Findings()
        wanted = ItemReader(findings).diagram(request.data)
        # Not all shapes count: a diagram can have more of them than a request can make.
        refuse_many(sum(1 + each.element.makes for each in wanted.shapes if each.element), "items with an element")
        report = replace_diagram(
            writer,
            view,
            owner,
            wanted,
            findings,
            lambda rows: self.check_match(request, rows),
            dry_run=is_dry_run,
        )
        return answer(
            {
                "values": numbered(report.shapes, wanted.shapes),
                "lanes": numbered(report.lanes, wanted.lanes or ()),
                "added": report.added,
                "changed": report.changed,
                "removed": report.removed,
            }
        )

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
        erase_shape(writer, owner, shape, Findings(), lambda rows: self.check_match(request, rows))
        return success(f"The shape {shape} has been deleted.")


def numbered(ids: Sequence[str], wanted: Sequence[WantedShape | WantedLane]) -> list[dict[str, Any]]:
    """Return the ids of shapes or lanes, each with the index of its item."""
    return [{"id": id, "index": int(each.key)} for id, each in zip(ids, wanted, strict=True)]
