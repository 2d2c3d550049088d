"""Reporting: elements of the view `reporting` with children, content and versions in full (operation 15)."""

from __future__ import annotations

from dataclasses import replace

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from elements.api import query_parameters
from elements.api.element_serializers import ReportSerializer
from elements.api.reading_viewset import ElementReadingViewSet, view_names
from elements.filters.binding import Vocabulary
from elements.permissions import require_reporting
from elements.reading.assembly.projection import REPORTING_ATTRIBUTES, REPORTING_RESOURCES, Wanted
from elements.reading.assembly.response_addresses import REPORTING
from elements.reading.lists import selection as selecting
from elements.reading.lists.filtering import vocabulary_of
from elements.reading.lists.narrowing import narrowed
from elements.reading.reporting import ReportAssembler
from facets.blueprint.definitions import Attribute, ElementType, Property
from facets.configuration import CompiledView
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.versioning import ApiVersions
from storage.api.conditional_requests import Prepared


class ReportingViewSet(ElementReadingViewSet):
    """Reads the facet through its view `reporting`, with additional attributes (D14)."""

    list_name = "values"

    @Operation(
        "listReporting",
        tag="reporting",
        summary="List elements of a facet for reporting",
        versions=ApiVersions.up_to("4.0"),
        parameters=query_parameters.REPORT,
        is_conditional=True,
        responses=ReportSerializer,
    )
    def list(self, request: Request, **names: str) -> Prepared:
        """Return the root elements of the view `reporting`, with children, content and versions in full.

        Requires the role Analyzer or a higher one. Without `$page` and `$pageSize` the whole list is streamed.
        """
        return self._report(request, names["facetId"])

    @Operation(
        "getReporting",
        tag="reporting",
        summary="Get an element for reporting",
        versions=ApiVersions.up_to("4.0"),
        parameters=query_parameters.ONE_REPORT,
        is_conditional=True,
        responses=ReportSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return one element with children, content and versions in full.

        Requires the role Analyzer or a higher one.
        """
        return self._report(request, names["facetId"], names["elementId"])

    def _report(self, request: Request, facet: str, element_id: str | None = None) -> Prepared:
        require_reporting(self.caller)
        view = self.view(facet, REPORTING)
        query = self.query(request)
        plain = view_names(self.configuration, view)
        allowed = replace(plain, properties=plain.properties | REPORTING_ATTRIBUTES.keys())
        wanted = Wanted(
            query.resources(REPORTING_RESOURCES),
            query.select(allowed),
            query.expand(allowed),
            also=frozenset(REPORTING_ATTRIBUTES),
        )
        condition, order = self.condition(query, self._vocabulary(view)), self.order(query, self._vocabulary(view))
        paging = query.paging(smallest=0)
        query.finish()
        if element_id is None:
            selection = self.list_selection(view).ordered_by(order)
        else:
            selection = selecting.these_versions([self.element_in(view, element_id).version])

        def report() -> HttpResponseBase:
            assembler = ReportAssembler(self.reader, view, wanted)
            matching = selection.matching(narrowed(condition) if element_id is None else condition)
            return self.answer_list(assembler, matching, paging, for_reporting=True)

        return Prepared(report, is_whole=paging is None and element_id is None)

    def _vocabulary(self, view: CompiledView) -> Vocabulary:
        def make() -> Vocabulary:
            return vocabulary_of(self.configuration, map(_reporting_type, (each.type for each in view.types.values())))

        return self.configuration.keep(("reporting vocabulary", view.facet.name), make)


def _reporting_type(type: ElementType) -> ElementType:
    if not type.is_versioned:
        return type
    own = {each.key for each in type.properties}
    extras = tuple(
        Property(name, (), attribute=Attribute(data_type, is_invariant_culture=True))
        for name, data_type in REPORTING_ATTRIBUTES.items()
        if name not in own
    )
    return replace(type, properties=(*type.properties, *extras))
