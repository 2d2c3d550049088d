"""What the operations on elements share: the view of the address, its vocabulary, the reader, and how lists answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.encoding import iri_to_uri
from rest_framework.request import Request

from elements.api.conditional_requests import asks_for_any
from elements.api.parameters import FILTER, PAGE, PAGE_SELECTION_KEY, PAGE_SIZE, Names, Paging, Query
from elements.filters import read_filter
from elements.filters.binding import Vocabulary
from elements.filters.compiling import FilterCompiler
from elements.filters.conditions import Condition
from elements.permissions import sees_drafts
from elements.reading import selection as selecting
from elements.reading.assembly.assembler import Assembler, Reader
from elements.reading.rows import Audience, VersionRow, find_version, read_versions
from elements.reading.selection import Milestone, Selection
from elements.reading.state import content_state, milestone_before, total_of
from elements.reading.streams import Stream, limit_idleness
from facets.api.views import ConfiguredOperation
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView, Configuration
from repository_site.core.database.statements import begun_with_current_plans
from repository_site.core.problems import NotFound, Unreadable
from repository_site.core.rest.rendering import JSON_TYPE, answer, counted, stream_counted
from repository_site.core.wording import GUID, printable
from storage.tenancy.scope import tenant_scope

# Elements that are read and written at a time when a whole list is asked for.
BATCH = 500


class ElementOperation(ConfiguredOperation):
    """`parameters` are the `$` parameters it takes; any other is refused, since it would have no effect."""

    parameters: ClassVar[tuple[str, ...]] = ()
    content_state: str = ""
    """Of the snapshot that is read; costs a statement, and is known where it is needed."""

    @cached_property
    def reader(self) -> Reader:
        audience = Audience(sees_drafts(self.caller))
        zone = ZoneInfo(self.storage.time_zone)
        return Reader(self.configuration, audience, zone, self.storage_address, self.content_state)

    @property
    def storage_address(self) -> str:
        return f"{self.base}{self.context.path}"

    def query(self, request: Request) -> Query:
        return Query(request._request.GET, self.parameters)

    def view_of(self, names: dict[str, str]) -> CompiledView:
        return self.configuration.facet(names["facetId"]).view(names["viewId"])

    def element_in(self, view: CompiledView, element_id: str) -> VersionRow:
        """The version that the address names, when it is of a type that the view contains."""
        row = self.find_element(element_id)
        if row is None or self.reader.types[row.type].key not in view.types:
            where = f"the view {view.view.name} of the facet {view.facet.name}"
            raise NotFound(f"There is no element {element_id.lower()} in {where}.")
        return row

    def find_element(self, element_id: str) -> VersionRow | None:
        """The version that an id names for this caller, of whatever type."""
        if not GUID.fullmatch(element_id):
            raise Unreadable(f"{printable(element_id, 80)!r} is no GUID.")
        return find_version(self.reader.audience, element_id)

    def element(self, element_id: str) -> VersionRow:
        found = self.find_element(element_id)
        if found is None:
            raise NotFound(f"There is no element {element_id.lower()}.")
        return found

    def condition(self, query: Query, vocabulary: Vocabulary) -> Condition | None:
        """What `$filter` says, if there is one."""
        text = query.text(FILTER)
        if text is None:
            return None
        reader = self.reader
        compiler = FilterCompiler(
            reader.configuration, reader.zone, reader.storage_address, sees_drafts=reader.audience.sees_drafts
        )
        return query.attempt(lambda: compiler.compile(read_filter(text, vocabulary)))

    def matches(self, row: VersionRow, condition: Condition | None) -> bool:
        if condition is None:
            return True
        return bool(selecting.version_ids(selecting.these_versions([row.version]).matching(condition)))

    @property
    def list_name(self) -> str:
        """What a list of elements is called at this api-version (D5)."""
        return "elements" if self.api_version == "4.0" else "values"

    def answer_list(
        self, assembler: Assembler, selection: Selection, paging: Paging | None, *, for_reporting: bool = False
    ) -> HttpResponseBase:
        if paging is not None:
            return self._answer_page(assembler, selection, paging, for_reporting)
        rows = self._read_page(assembler, selection, BATCH + 1, 0, for_reporting)
        if len(rows) <= BATCH:
            return answer(counted(self.list_name, assembler.elements(rows)))
        if self.request.method == "HEAD" or asks_for_any(self.request):
            # Not read for its headers alone; and, as with GET, without a length.
            return StreamingHttpResponse(iter(()), content_type=JSON_TYPE)
        batches = begun_with_current_plans(lambda: self._batches(assembler, selection, for_reporting))
        stream = Stream(stream_counted(self.list_name, batches))
        return StreamingHttpResponse(stream, content_type=JSON_TYPE)

    def _answer_page(
        self, assembler: Assembler, selection: Selection, paging: Paging, for_reporting: bool
    ) -> HttpResponseBase:
        page = paging.page
        if paging.key is not None:
            place = selecting.place_of(selection, self.reader.audience, paging.key)
            if place is None:
                raise NotFound(f"There is no element {paging.key} in this list.")
            page = place // paging.size + 1
        total, offset = total_of(selection, self.content_state), (page - 1) * paging.size
        rows: list[VersionRow] = []
        if offset < total:
            start = milestone_before(selection, self.content_state, offset)
            rows = self._read_page(assembler, selection, paging.size, offset, for_reporting, start)
        response = answer(counted(self.list_name, assembler.elements(rows)))
        self.add_page_headers(response, page, paging.size, total)
        return response

    def _read_page(
        self,
        assembler: Assembler,
        selection: Selection,
        limit: int,
        offset: int,
        for_reporting: bool,
        start: Milestone | None = None,
    ) -> list[VersionRow]:
        with_attributes = assembler.needs_attributes
        return selecting.read_page(
            selection, limit, offset, start=start, with_attributes=with_attributes, for_reporting=for_reporting
        )

    def add_page_headers(self, response: HttpResponse, page: int, size: int, total: int) -> None:
        response["X-Total-Count"] = str(total)
        response["Link"] = self._links(page, size, total)

    def _batches(
        self, assembler: Assembler, selection: Selection, for_reporting: bool
    ) -> Iterator[tuple[int, Iterable[Any]]]:
        """In a scope of its own, since that of the request has ended when these are read; closing it ends the scope."""
        with tenant_scope(self.storage, snapshot=True, timeout=settings.STATEMENT_TIMEOUT):
            assembler.read_in(content_state())
            for total, versions in selecting.stream_keys(selection, BATCH):
                found = read_versions(versions, with_attributes=assembler.needs_attributes, for_reporting=for_reporting)
                elements = assembler.elements([found[version] for version in versions])
                # Anew for each piece: the driver ends a trip of several statements with a message that stops the clock.
                limit_idleness(settings.STREAM_TIMEOUT)
                yield total, elements

    def _links(self, page: int, size: int, total: int) -> str:
        last = max(1, -(-total // size))
        pages = {"first": 1, "last": last}
        if page > 1:
            pages["prev"] = min(page - 1, last)
        if page < last:
            pages["next"] = page + 1
        request = self.request._request
        parameters = request.GET.copy()
        parameters.pop(PAGE_SELECTION_KEY, None)
        links = []
        for relation in ("first", "prev", "next", "last"):
            if relation in pages:
                parameters[PAGE], parameters[PAGE_SIZE] = str(pages[relation]), str(size)
                address = f"{self.base}{iri_to_uri(request.path)}?{parameters.urlencode(safe='$,')}"
                links.append(f'<{address}>; rel="{relation}"')
        return ", ".join(links)


def view_vocabulary(configuration: Configuration, view: CompiledView) -> Vocabulary:
    key = ("vocabulary", view.facet.name, view.view.name)
    types = [each.type for each in view.types.values()]
    return configuration.keep(key, lambda: vocabulary_of(configuration, types))


def vocabulary_of(configuration: Configuration, types: Iterable[ElementType]) -> Vocabulary:
    return Vocabulary.of(types, configuration.cultures.data)


def view_names(configuration: Configuration, view: CompiledView) -> Names:
    """What `$select` and `$expandRelated` may name: every property of the types that the view contains."""

    def make() -> Names:
        properties = [each for shown in view.types.values() for each in shown.type.properties]
        contexts = frozenset(each.key for each in properties if each.related)
        return Names(frozenset(each.key for each in properties), contexts)

    return configuration.keep(("names", view.facet.name, view.view.name), make)
