"""Reporting for existing tools (D580): pages of all elements of a facet, or of all facets, with their versions."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from elements.api.compatible import bodies
from elements.api.element_serializers import ReportSerializer
from elements.api.query_parameters import PAST
from elements.api.reading_viewset import ElementReadingViewSet
from elements.permissions import require_reporting
from elements.reading.assembly.projection import REPORTING_ATTRIBUTES, REPORTING_RESOURCES, Wanted
from elements.reading.assembly.response_addresses import REPORTING
from elements.reading.lists import selection as selecting
from elements.reading.reporting import ReportAssembler
from facets.configuration import CompiledView, Configuration
from repository_site.core.problems import NotFound
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.versioning import ApiVersions
from storage.api.conditional_requests import Prepared

FIRST = ApiVersions.up_to("1.0")
WANTED = Wanted(REPORTING_RESOURCES, also=frozenset(REPORTING_ATTRIBUTES))


class CompatibleReportViewSet(ElementReadingViewSet):
    list_name = "values"
    page_names = (bodies.PAGE, bodies.PAGE_SIZE)

    @Operation(
        "listReport",
        tag=bodies.TAG,
        summary="List elements with their versions",
        versions=FIRST,
        parameters=bodies.REPORT,
        by_facet=True,
        is_conditional=True,
        responses=ReportSerializer,
    )
    def list(self, request: Request, **names: str) -> Prepared:
        """Return a page of the elements of a facet, or of all facets that have the view `reporting`, sorted by name.

        Each element is as in `rest/facets/{facetId}/reporting/{elementId}`: with children, content and versions in
        full. The list has elements at all levels of a tree, but not those that live only in diagrams; they are the
        content of other elements. Requires the role Analyzer or a higher one.
        """
        require_reporting(self.caller)
        query = self.query(request)
        query.required(bodies.PAGE, "1")
        facet, paging = query.text(bodies.FACET), query.paging()
        query.finish()
        view = self.view(facet, REPORTING) if facet else all_reports(self.configuration)

        def report() -> HttpResponseBase:
            types = [each for each in view.types.values() if not each.type.lives_in_diagrams]
            ids = [str(self.configuration.type_ids[each.type.key]) for each in types]
            selection = selecting.of_types(self.reader.audience, ids)
            return self.answer_list(ReportAssembler(self.reader, view, WANTED), selection, paging, for_reporting=True)

        return Prepared(report)

    @Operation(
        "getReport",
        tag=bodies.TAG,
        summary="Get an element with its versions",
        versions=FIRST,
        parameters=PAST,
        by_facet=True,
        is_conditional=True,
        responses=ReportSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return one element with children, content and versions in full, as `rest/facets/{facetId}/reporting` does.

        Requires the role Analyzer or a higher one.
        """
        require_reporting(self.caller)
        self.query(request).finish()
        row = self.element(names["elementId"])
        view = self.view(self.reader.types[row.type].facet, REPORTING)
        selection = selecting.these_versions([self.element_in(view, names["elementId"]).version])

        def report() -> HttpResponseBase:
            return self.answer_list(ReportAssembler(self.reader, view, WANTED), selection, None, for_reporting=True)

        return Prepared(report)


def all_reports(configuration: Configuration) -> CompiledView:
    """Return the views `reporting` of all facets as one."""

    def make() -> CompiledView | None:
        views = [each.views[REPORTING] for each in configuration.facets.values() if REPORTING in each.views]
        types = MappingProxyType({key: type for view in views for key, type in view.types.items()})
        # Without a name, which is part of the keys of everything that is kept for a view.
        return CompiledView(views[0].view, replace(views[0].facet, name=""), types, types) if views else None

    found = configuration.keep("all reports", make)
    if found is None:
        raise NotFound("No facet has the view reporting.")
    return found
