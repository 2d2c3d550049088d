"""Elements for existing tools (D581): attributes as a list of keys and values."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from elements.api.compatible import bodies
from elements.api.query import QueryParameters
from elements.api.reading_viewset import ElementReadingViewSet
from elements.filters.conditions import Condition
from elements.reading.assembly.data_form import DataAssembler
from elements.reading.assembly.response_addresses import DETAIL, detail_view_of
from elements.reading.bounds import TooHeavy, checked
from elements.reading.lists.batches import ElementBatches
from elements.reading.lists.filtering import compile_filter, view_vocabulary
from elements.reading.lists.narrowing import narrowed
from facets.configuration import CompiledFacet, CompiledView
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import DATA, JSON_TYPE, to_json
from repository_site.core.rest.versioning import ApiVersions
from storage.api.conditional_requests import Prepared

SECOND = ApiVersions.up_to("2.0")


class DataViewSet(ElementReadingViewSet):
    list_name = DATA
    page_names = (bodies.DATA_PAGE, bodies.DATA_PAGE_SIZE)

    @Operation(
        "listDataElements",
        tag=bodies.TAG,
        summary="List elements with attributes as lists",
        versions=SECOND,
        parameters=bodies.DATA_LIST,
        by_facet=True,
        is_conditional=True,
        responses=bodies.DataElementsSerializer,
    )
    def list(self, request: Request, **names: str) -> Prepared:
        """Return the root elements of a hierarchical view, or all elements of a flat view.

        `Page` or `PageSize` ask for one page; without them the whole list is streamed.
        """
        query = self.query(request)
        facet, culture = query.required(bodies.DATA_FACET, "processes"), self._culture(query)
        paging = query.paging()
        if not facet:
            query.finish()
        view = self._view(query, self.facet(facet))
        condition = self._condition(query, view, culture)
        query.finish()

        def list_elements() -> HttpResponseBase:
            selection = self.list_selection(view).matching(narrowed(condition))
            return self.answer_list(DataAssembler(self.reader, view, culture), selection, paging)

        return Prepared(list_elements, is_whole=paging is None)

    @Operation(
        "getDataElement",
        tag=bodies.TAG,
        summary="Get an element with attributes as a list",
        versions=SECOND,
        parameters=bodies.DATA_ONE,
        by_facet=True,
        is_conditional=True,
        responses=bodies.DataElementSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return one element by its id, or one of its versions by the id of the version, without an envelope."""
        self.show_own(names["elementId"])
        query = self.query(request)
        facet, culture = query.text(bodies.DATA_FACET), self._culture(query)
        query.finish()
        type = self.reader.types[self.element(names["elementId"]).type]
        if facet is None and query.text(bodies.VIEW) is None:
            view = detail_view_of(self.configuration, type)
        else:
            view = self._view(query, self.facet(facet or type.facet))
        row = self.element_in(view, names["elementId"])

        def show() -> HttpResponseBase:
            assembler = DataAssembler(self.reader, view, culture)
            try:
                return HttpResponse(checked(to_json(next(assembler.iterate([row])))), content_type=JSON_TYPE)
            except TooHeavy:
                batches = ElementBatches(assembler, after_reading=self.limit_further_pieces)
                return self.answer_pieces(lambda: chain.from_iterable(batches.pieces([row.version], 1)))

        return Prepared(show, self.version_tag(row))

    def _culture(self, query: QueryParameters) -> int | None:
        return query.culture(bodies.LCID, self.configuration.cultures)

    def _view(self, query: QueryParameters, facet: CompiledFacet) -> CompiledView:
        name = query.text(bodies.VIEW)
        if name is None and DETAIL not in facet.views:
            return next(iter(facet.views.values()))
        return facet.view(name or DETAIL)

    def _condition(self, query: QueryParameters, view: CompiledView, culture: int | None) -> Condition | None:
        text = query.text(bodies.FILTER)
        if text is None:
            return None
        reader = self.reader if culture is None else replace(self.reader, cultures=(culture,))
        return query.attempt(lambda: compile_filter(reader, text, view_vocabulary(self.configuration, view)))
