"""Permalinks: short addresses of elements, versions, selections and facets (D413 to D415)."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.finding import permalink_serializers as bodies
from elements.api.query import QueryParameters
from elements.api.reading_viewset import ElementReadingViewSet
from elements.models import LinkType, Permalink
from elements.permalinks import PermalinkQuery, create_permalink, permalink_document, visible_permalinks
from repository_site.core.problems import placed
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, listed, printable
from storage.api.preferences import prefers_minimal

TAG = "permalinks"
FIRST = ApiVersions.up_to("1.0")


class PermalinkViewSet(ElementReadingViewSet):
    @Operation(
        "listPermalinks",
        tag=TAG,
        summary="List permalinks",
        versions=FIRST,
        parameters=bodies.LIST,
        responses=bodies.PermalinksSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return the permalinks whose target the caller can see, oldest first, in pages.

        Viewers and anonymous readers find the permalink of a selection only by its `id`.
        """
        query = self.query(request)
        wanted = _wanted(query)
        paging = query.page()
        query.finish()
        found = visible_permalinks(self.reader, wanted)
        start = (paging.page - 1) * paging.size
        response = answer(counted("values", [self._wire(each) for each in found[start : start + paging.size]]))
        self.add_page_headers(response, paging.page, paging.size, found.count())
        return response

    @Operation(
        "createPermalink",
        tag=TAG,
        summary="Create a permalink",
        versions=FIRST,
        writes=True,
        reads_without_body=True,
        body=bodies.PermalinkTargetSerializer,
        responses=bodies.PermalinksSerializer,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Create a permalink of something that the caller can see, or return the one that it already has.

        `ofElement` leads to the version that the visitor may see at that time, `ofVersion` to one version,
        `ofSelection` to the elements of a facet that match a filter, `ofOverview` to a facet. With an empty body this
        operation reads, as GET does.
        """
        self.query(request).finish()
        link = self._wire(create_permalink(self.caller, self.reader, request.data))
        headers = {"Location": str(link["url"])} if prefers_minimal(request) else {}
        return answer(counted("values", [link]), headers=headers)

    def _wire(self, link: Permalink) -> dict[str, object]:
        return permalink_document(link, self.storage_address, self.reader.zone)


def _wanted(query: QueryParameters) -> PermalinkQuery:
    link_type, element = query.text(bodies.LINK_TYPE) or "", query.text(bodies.ELEMENT) or ""
    if link_type and link_type not in LinkType.values:
        query.problems.append(placed(bodies.LINK_TYPE, f"expected {listed(LinkType.values, 'or')}."))
    if element and not GUID.fullmatch(element):
        query.problems.append(placed(bodies.ELEMENT, f"{printable(element, 40)!r} is not a GUID."))
    return PermalinkQuery(printable(query.text(bodies.ID) or "", 40), link_type, element)
