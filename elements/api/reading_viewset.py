"""The base of viewsets that read elements: the view of the address, the reader, filters, lists and entity tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.encoding import iri_to_uri
from django.utils.functional import cached_property
from rest_framework.request import Request

from elements.api.entity_tags import code_digest
from elements.api.query import FILTER, ORDER_BY, PAGE, PAGE_SELECTION_KEY, PAGE_SIZE, Names, Paging, QueryParameters
from elements.filters.binding import Vocabulary
from elements.filters.conditions import Condition
from elements.permissions import sees_drafts
from elements.reading.assembly.assembler import REFERENCE_PARTS, Assembler, Reader
from elements.reading.assembly.projection import NAMES, RESOURCES, USUAL_RESOURCES, Wanted
from elements.reading.bounds import TooHeavy, checked
from elements.reading.content_state import (
    NO_STATE,
    ContentState,
    content_state,
    content_state_of_scope,
    milestone_before,
    total_of,
)
from elements.reading.lists import selection as selecting
from elements.reading.lists.batches import ElementBatches
from elements.reading.lists.filtering import compile_filter, view_vocabulary
from elements.reading.lists.ordering import read_order
from elements.reading.lists.selection import Selection
from elements.reading.lists.streams import Stream, limit_stream
from elements.reading.rows import Audience, VersionRow, any_version
from elements.tables.columns import TableColumns
from elements.tables.formats import TableFormat, whole_table
from elements.tables.rows import TableRows
from facets.api.facet_viewset import ConfiguredViewSet
from facets.clearance import clearance_of
from facets.configuration import CompiledView, Configuration, configuration_of
from repository_site.core.database.statements import Inquiry, ask
from repository_site.core.fairness.admission import stream_ticket
from repository_site.core.problems import NotFound, Unreadable
from repository_site.core.rest.rendering import JSON_TYPE, answer, stream_counted, to_json
from repository_site.core.rest.streamed_response import StreamedResponse
from repository_site.core.wording import GUID, printable
from storage.api.conditional_requests import asks_for_any

ALL_RESOURCES = (*RESOURCES, NAMES)
# Elements in one batch of a streamed list.
BATCH = 500
# A value of a streamed list as JSON in pieces, with the length of the list.
Counted = tuple[int, Iterable[bytes]]


class FoundPage(NamedTuple):
    page: int
    total: int
    versions: list[str]
    keys: Callable[[], Iterator[tuple[int, list[str]]]]
    """Returns the versions again, for a stream."""


class ElementReadingViewSet(ConfiguredViewSet):
    page_names = (PAGE, PAGE_SIZE)
    """Names of the parameters for the page and its size."""
    state = NO_STATE
    _asked_state: Callable[[], ContentState] | None = None
    _asked_element: tuple[str, Callable[[], VersionRow | None]] | None = None
    """Answers that came with the scope: the state of the content, and the element of the address with its id."""

    @cached_property
    def reader(self) -> Reader:
        audience = Audience(sees_drafts(self.caller), self.configuration.closed, self.configuration.hidden)
        zone = ZoneInfo(self.storage.time_zone)
        return Reader(self.configuration, audience, zone, self.storage_address, self.state)

    def show_own(self, element_id: str) -> None:
        """Let callers see everything about themselves (D399). For operations that show one element, and other elements
        only as references."""
        if element_id.lower() == str(self.caller.element_id):
            reader, whole = self.reader, configuration_of(self.storage)
            self.__dict__.update(configuration=whole, reader=replace(reader, configuration=whole, others=reader.nested))

    def version_tag(self, row: VersionRow) -> str:
        """Return the entity tag of a version; empty if its revision would reveal changes of hidden properties."""
        return "" if self.reader.hides_changes(row.type) else row.entity_tag

    def begin_attempt(self) -> None:
        super().begin_attempt()
        self.__dict__.pop("reader", None)

    def first_questions(self, request: Request, names: dict[str, str]) -> Inquiry | None:
        if not self.operation.is_conditional:
            return None
        inquiry, id = Inquiry(), names.get("elementId", "")
        # Both values are cached, and every response with elements needs them.
        inquiry.meanwhile = lambda: (self.base, request._request.GET)
        self._asked_state = inquiry.add(content_state_of_scope())
        if GUID.fullmatch(id):
            self._asked_element = id, inquiry.add(any_version(Audience(sees_drafts(self.caller)), id))
        return inquiry

    def _break_cycles(self) -> None:
        super()._break_cycles()
        # What a refused request has not asked may still refer to it.
        self._asked_state = self._asked_element = None

    def begin_conditional_read(self) -> None:
        asked, self._asked_state = self._asked_state, None
        self.state = asked() if asked else content_state()
        self.content_state = self.state.content

    def state_digest(self, size: int) -> str:
        storage, request = self.storage, self.request._request
        parts = (
            storage.id, self.content_state, self.configuration.revision, storage.time_zone, self.base,
            request.path, request.META.get("QUERY_STRING"), self.request.data if self.operation.body else None,
            self.api_version, self._clearance, settings.MAX_PAGE_SIZE, code_digest(),
        )  # fmt: skip
        return blake2b(repr(parts).encode(), digest_size=size).hexdigest()

    @property
    def _clearance(self) -> tuple[object, ...]:
        seen = clearance_of(self.caller.roles), self.reader.others is not None
        facets = self.caller.scope.facets
        return seen if facets is None else (*seen, *sorted(facets))

    @property
    def storage_address(self) -> str:
        return f"{self.base}{self.context.path}"

    def handle_exception(self, exc: Exception) -> Any:
        return super().handle_exception(exc.for_client() if isinstance(exc, TooHeavy) else exc)

    def query(self, request: Request) -> QueryParameters:
        """Return the query parameters. The operation refuses `$` parameters that it does not declare."""
        return self.in_cultures(QueryParameters(request._request.GET, self.operation.query_names, self.page_names))

    def in_cultures(self, query: QueryParameters) -> QueryParameters:
        """Let the reader write plain values in `$culture`, if present."""
        if cultures := query.cultures(self.configuration.cultures):
            self.__dict__["reader"] = replace(self.reader, cultures=cultures)
        return query

    def view_of(self, names: dict[str, str]) -> CompiledView:
        return self.view(names["facetId"], names["viewId"])

    def element_in(self, view: CompiledView, element_id: str) -> VersionRow:
        """Return the version in the address, if the view contains its type."""
        row = self.find_element(element_id)
        if row is None or self.reader.types[row.type].key not in view.types:
            where = f"the view {view.view.name} of the facet {view.facet.name}"
            raise NotFound(f"There is no element {element_id.lower()} in {where}.")
        return row

    def find_element(self, element_id: str) -> VersionRow | None:
        """Return the version with this id that the caller can see, of any type."""
        if not GUID.fullmatch(element_id):
            raise Unreadable(f"{printable(element_id, 80)!r} is not a GUID.")
        if self._asked_element is not None and self._asked_element[0] == element_id:
            found = self._asked_element[1]()
        else:
            found = ask(any_version(self.reader.audience, element_id))
        can_open = self.reader.others is not None or found is None or self.reader.audience.can_open(found)
        return found if can_open else None

    def element(self, element_id: str) -> VersionRow:
        found = self.find_element(element_id)
        if found is None:
            raise NotFound(f"There is no element {element_id.lower()}.")
        return found

    def list_selection(self, view: CompiledView, only: Sequence[str] | None = None) -> Selection:
        """Return the selection that a view lists (D7): roots if it is hierarchical, else all elements of its types.
        `only` names elements of these types instead, wherever they are in the tree."""
        audience, ids = self.reader.audience, self.configuration.type_ids
        if only is None and view.view.is_hierarchical:
            roots = [str(ids[key]) for key, each in view.types.items() if each.is_root]
            return selecting.roots_of_types(audience, roots)
        found = selecting.of_types(audience, [str(ids[key]) for key in view.types])
        return found if only is None else found.matching(selecting.these_elements(only))

    def condition(self, query: QueryParameters, vocabulary: Vocabulary) -> Condition | None:
        """Return the condition of `$filter`, if present."""
        text = query.text(FILTER)
        if text is None:
            return None
        return query.attempt(lambda: compile_filter(self.reader, text, vocabulary))

    def order(self, query: QueryParameters, vocabulary: Vocabulary) -> Condition | None:
        """Return the order that `$orderBy` asks for, if present (D470)."""
        text = query.text(ORDER_BY)
        if text is None:
            return None
        return query.attempt(lambda: read_order(self.configuration, vocabulary, text))

    def wanted(
        self, query: QueryParameters, view: CompiledView, also: frozenset[str] = frozenset()
    ) -> tuple[Wanted, Condition | None]:
        """Return the parts of elements that the `$` parameters ask for, and the condition of `$filter`."""
        if not query.given:
            return Wanted(also=also), None
        allowed = view_names(self.configuration, view)
        resources, select = query.resources(USUAL_RESOURCES, ALL_RESOURCES), query.select(allowed)
        expand, fields = query.expand_fields(allowed, REFERENCE_PARTS, attribute_names(self.reader.nested))
        names = NAMES in resources
        parts = resources - {NAMES} or USUAL_RESOURCES
        wanted = Wanted(parts, select, expand, also, fields, names)
        return wanted, self.condition(query, view_vocabulary(self.configuration, view))

    def matches(self, row: VersionRow, condition: Condition | None) -> bool:
        if condition is None:
            return True
        return bool(selecting.version_ids(selecting.these_versions([row.version]).matching(condition)))

    @property
    def list_name(self) -> str:
        """Name of a list of elements at this api-version (D5)."""
        return "elements" if self.api_version == "4.0" else "values"

    def answer_list(
        self, assembler: Assembler, selection: Selection, paging: Paging | None, *, for_reporting: bool = False
    ) -> HttpResponseBase:
        batches = ElementBatches(assembler, for_reporting=for_reporting)
        if paging is not None:
            return self._answer_page(batches, selection, paging)
        versions = selecting.find_page(selection, BATCH + 1)
        if len(versions) <= BATCH and (response := self._answer_whole(batches, versions)):
            return response
        return self._stream_elements(batches, lambda: selecting.stream_keys(selection, BATCH))

    def answer_bounded(self, payload: Any) -> HttpResponse:
        """Return a response that is not a list of elements, or refuse one that is too large (D188)."""
        return HttpResponse(checked(to_json(payload)), content_type=JSON_TYPE)

    def _answer_whole(self, batches: ElementBatches, versions: list[str]) -> HttpResponse | None:
        """Return the list at once, or None if it has to be streamed (D188)."""
        try:
            return HttpResponse(batches.written(self.list_name, versions), content_type=JSON_TYPE)
        except TooHeavy:
            return None

    def _stream_elements(
        self, batches: ElementBatches, find: Callable[[], Iterator[tuple[int, list[str]]]]
    ) -> StreamingHttpResponse:
        def elements() -> Iterator[Counted]:
            batches.after_reading = self.limit_further_pieces
            for total, versions in find():
                for element in batches.pieces(versions, BATCH):
                    yield total, element

        return self.answer_stream(self.list_name, elements)

    def answer_stream(self, name: str, read: Callable[[], Iterator[Counted]]) -> StreamingHttpResponse:
        """Stream a list that `read` returns while the client reads it, in the snapshot of the request (D216)."""
        return self.answer_pieces(lambda: stream_counted(name, read()))

    def answer_pieces(
        self, write: Callable[[], Iterator[bytes]], content_type: str = JSON_TYPE
    ) -> StreamingHttpResponse:
        if self.request.method == "HEAD" or asks_for_any(self.request):
            # The headers need no content. As with GET, there is no length.
            return StreamingHttpResponse(iter(()), content_type=content_type)
        return StreamedResponse(Stream(write(), stream_ticket(self.request._request)), content_type)

    def limit_further_pieces(self) -> None:
        """Limit the time that a client takes for a batch. Call this for each batch: the driver ends a pipeline with a
        message that resets the timer."""
        limit_stream(settings.STREAM_TIMEOUT, self.timeout)

    def _answer_page(self, batches: ElementBatches, selection: Selection, paging: Paging) -> HttpResponseBase:
        found = self._find_page(selection, paging)
        response: HttpResponseBase | None
        if paging.size:
            response = self._answer_whole(batches, found.versions)
        else:
            response = answer({"count": found.total, self.list_name: []})
        if response is None:
            response = self._stream_elements(batches, found.keys)
        self.add_page_headers(response, found.page, paging.size, found.total)
        return response

    def _find_page(self, selection: Selection, paging: Paging) -> FoundPage:
        page = paging.page
        if paging.key is not None:
            place = selecting.place_of(selection, self.reader.audience, paging.key)
            if place is None:
                raise NotFound(f"There is no element {paging.key} in this list.")
            page = place // paging.size + 1
        revision, offset = self.configuration.revision, (page - 1) * paging.size
        total = total_of(selection, self.state, revision)
        versions: list[str] = []
        if paging.size and offset < total:
            start = milestone_before(selection, self.state, revision, offset)
            versions = selecting.find_page(selection, paging.size, offset, start)
        return FoundPage(page, total, versions, lambda: selecting.page_keys(selection, paging.size, offset))

    def answer_table(
        self, table: TableFormat, view: CompiledView, columns: TableColumns, selection: Selection, paging: Paging | None
    ) -> HttpResponseBase:
        """Return a list as a table: at once if it is short, else streamed like the list itself."""
        rows = TableRows(self.reader, columns)
        found = self._find_page(selection, paging) if paging else None
        versions = found.versions if found else selecting.find_page(selection, BATCH + 1)
        find = found.keys if found else lambda: selecting.stream_keys(selection, BATCH)
        response: HttpResponseBase | None = None
        if len(versions) <= BATCH:
            with suppress(TooHeavy):
                content = whole_table(lambda: table.write(columns, rows.batches([(len(versions), versions)])))
                response = HttpResponse(content, content_type=table.media_type)
        if response is None:
            pieces = partial(table.write, columns, rows.batches(find(), self.limit_further_pieces))
            response = self.answer_pieces(pieces, table.media_type)
        if found and paging:
            self.add_page_headers(response, found.page, paging.size, found.total)
        table.name_file(response, f"{view.facet.name}-{view.view.name}")
        return response

    def add_page_headers(self, response: HttpResponseBase, page: int, size: int, total: int) -> None:
        response["X-Total-Count"] = str(total)
        # The links are addresses, which do not contain a body.
        if size and self.operation.body is None:
            response["Link"] = self._links(page, size, total)

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
        page_name, size_name = self.page_names
        links = []
        for relation in ("first", "prev", "next", "last"):
            if relation in pages:
                parameters[page_name], parameters[size_name] = str(pages[relation]), str(size)
                address = f"{self.base}{iri_to_uri(request.path)}?{parameters.urlencode(safe='$,')}"
                links.append(f'<{address}>; rel="{relation}"')
        return ", ".join(links)


def attribute_names(configuration: Configuration) -> frozenset[str]:
    """Return the attributes that references can have in addition (D574): those of all types that the caller sees."""

    def make() -> frozenset[str]:
        properties = [each for type in configuration.types.values() for each in type.properties]
        return frozenset(each.key for each in properties if each.attribute)

    return configuration.keep("attribute names", make)


def view_names(configuration: Configuration, view: CompiledView) -> Names:
    """Return the names for `$select` and `$expandRelated`: all properties of the types in the view."""

    def make() -> Names:
        properties = [each for shown in view.types.values() for each in shown.type.properties]
        contexts = frozenset(each.key for each in properties if each.related)
        return Names(frozenset(each.key for each in properties), contexts)

    return configuration.keep(("names", view.facet.name, view.view.name), make)
