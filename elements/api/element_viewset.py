"""Elements: reading, writing, deleting, and their children, versions, changes and permissions.

Operations 3, 4, 5, 9, 12 and 13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from elements import derived
from elements.api import query_parameters
from elements.api.element_serializers import (
    ELEMENT_LIST,
    ChangesSerializer,
    ElementInfosSerializer,
    ElementsSerializer,
    SuccessSerializer,
    UpdateSerializer,
)
from elements.api.list_query import LIST_NAMES, ElementQuerySerializer, misplaced, read_list_query
from elements.api.query import CULTURE, EXPAND, FORMAT, Paging, QueryParameters
from elements.api.reading_viewset import Counted
from elements.api.writing_viewset import ElementWritingViewSet, refuse_many, success
from elements.info import element_info
from elements.permissions import Permission, needs_permission, require_history, require_whole
from elements.reading.assembly.assembler import Assembler
from elements.reading.assembly.projection import Wanted
from elements.reading.bounds import TooHeavy, halved
from elements.reading.history import count_changes, read_changes
from elements.reading.lists import selection as selecting
from elements.reading.lists.batches import whole_list, write_rows
from elements.reading.lists.filtering import view_vocabulary
from elements.reading.lists.narrowing import narrowed
from elements.tables.columns import view_columns
from elements.tables.formats import TableFormat
from elements.writing.deleting import delete_element
from elements.writing.findings import Findings
from elements.writing.inputs import InputReader
from elements.writing.updating import update_elements
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.problems import Forbidden, Problem
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import JSON_TYPE, answer, counted, to_json
from repository_site.core.rest.versioning import ApiVersions
from storage.api.conditional_requests import Prepared
from storage.localisation.cultures import preferred_culture

FORMATS = frozenset(TableFormat)


class ElementViewSet(ElementWritingViewSet):
    def media_types(self, request: Request) -> tuple[str, ...]:
        """Add the media type of a table. Clients that accept only JSON get one as well, if `$format` asks for it."""
        asked = request._request.GET.get(FORMAT)
        known = self.operation.media_types
        if self.operation.body is ElementQuerySerializer:
            # The body, which names the format, is read later.
            return (*known, *[each.media_type for each in TableFormat])
        return (TableFormat(asked).media_type, *known) if asked in FORMATS else known

    @Operation(
        "listElements",
        tag="elements",
        summary="List elements of a view",
        versions=ApiVersions.up_to("4.0"),
        parameters=query_parameters.LIST,
        is_conditional=True,
        responses=ELEMENT_LIST,
    )
    def list(self, request: Request, **names: str) -> Prepared:
        """Return the root elements of a hierarchical view, or all elements of a flat view.

        `$page`, `$pageSize` or `$pageSelectionKey` ask for one page; without them the whole list is streamed.
        `$pageSize=0` returns the number of elements only. `$orderBy` sorts the list. `$format` returns a table for
        spreadsheets, with a row for each element and columns for its id, its attributes in each culture, and its
        references by name and id.
        """
        return self._list(self.view_of(names), self.query(request))

    @Operation(
        "queryElements",
        tag="elements",
        summary="List elements of a view, with a body",
        versions=ApiVersions.up_to("4.0"),
        parameters=query_parameters.QUERIED,
        is_conditional=True,
        body=ElementQuerySerializer,
        responses=ELEMENT_LIST,
    )
    def query_elements(self, request: Request, **names: str) -> Prepared:
        """Return a list as GET does, with its parameters in the body: for long filters, and for many ids.

        `ids` names the elements to return, in place of those that the view lists. The other fields are the parameters
        of the list without `$`; messages name them with it. `$asOf` stays in the address. The operation only reads.
        """
        view = self.view_of(names)
        given = request._request.GET
        beside = QueryParameters(given, (*self.operation.query_names, *LIST_NAMES))
        asked = read_list_query(request.data)
        problems = [*beside.problems, *misplaced(given), *asked.problems]
        parameters = QueryParameters(asked.parameters, LIST_NAMES, problems=problems)
        return self._list(view, self.in_cultures(parameters), asked.ids)

    def _list(self, view: CompiledView, query: QueryParameters, only: Sequence[str] | None = None) -> Prepared:
        wanted, condition = self.wanted(query, view)
        order, paging = self.order(query, view_vocabulary(self.configuration, view)), query.paging(smallest=0)
        table, select = query.table_format(), query.selected()
        if table and (wanted.expand or wanted.fields):
            query.problems.append(f"{EXPAND}: a table has no references of references; leave it out.")
        if table and self.reader.cultures:
            query.problems.append(f"{CULTURE}: a table has a column for each culture; leave it out.")
        query.finish()

        def list_elements() -> HttpResponseBase:
            selection = self.list_selection(view, only).ordered_by(order).matching(narrowed(condition))
            if table:
                columns = view_columns(view, self.configuration.cultures.data, select, wanted.resources)
                return self.answer_table(table, view, columns, selection, paging)
            return self.answer_list(Assembler(self.reader, view, wanted), selection, paging)

        return Prepared(list_elements, is_whole=paging is None)

    @Operation(
        "updateElements",
        tag="elements",
        summary="Update and create elements",
        versions=ApiVersions.up_to("4.0"),
        parameters=[*query_parameters.LIST, *query_parameters.WRITTEN],
        writes=True,
        creates=True,
        reads_without_body=True,
        body=UpdateSerializer,
        responses=ELEMENT_LIST,
    )
    def update_elements(self, request: Request, **names: str) -> HttpResponse:
        """Update elements that have an `id` and create elements that have none, in one transaction.

        Requires the permission EditElement, or NewElement to create. Absent fields stay unchanged. The response
        contains the elements as they are stored, in the order of the request. If any element is invalid, nothing is
        changed, and `data` lists all problems. With an empty body this operation reads, as GET does; only
        then does it accept `$` parameters.
        """
        writer = self._updater(request)
        view = self.view_of(names)
        QueryParameters(request._request.GET, ()).finish()
        findings = Findings()
        given = InputReader(findings).elements(request.data)
        refuse_many(sum(1 + each.makes for each in given), "elements")
        self.has_created = len(given) == 1 and not given[0].names_something
        versions = update_elements(writer, view, given, findings, lambda rows: self.check_match(request, rows))
        return self.answer_versions(view, versions)

    def _updater(self, request: Request) -> Writer:
        try:
            return self.writer(request)
        except Forbidden:
            raise Forbidden(needs_permission(Permission.NEW if _only_creates(request) else Permission.EDIT)) from None

    @Operation(
        "getElement",
        tag="elements",
        summary="Get an element",
        versions=ApiVersions.up_to("4.0"),
        parameters=query_parameters.ONE,
        is_conditional=True,
        body_hint="To update the element, send it to POST .../elements/, without the id in the address.",
        responses=ElementsSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return one element by its id, or one of its versions by the id of the version.

        If the element does not match `$filter`, the list is empty.
        """
        self.show_own(names["elementId"])
        view = self.view_of(names)
        query = self.query(request)
        wanted, condition = self.wanted(query, view)
        query.finish()
        row = self.element_in(view, names["elementId"])

        def show() -> HttpResponse:
            rows = [row] if self.matches(row, condition) else []
            content = write_rows(Assembler(self.reader, view, wanted), self.list_name, rows)
            return HttpResponse(content, content_type=JSON_TYPE)

        return Prepared(show, self.version_tag(row))

    @Operation(
        "deleteElement",
        tag="elements",
        summary="Delete an element or a draft",
        versions=ApiVersions.up_to("4.0"),
        writes=True,
        responses=SuccessSerializer,
    )
    def destroy(self, request: Request, **names: str) -> HttpResponse:
        """Delete an element without versions, or a draft. Requires the permission DeleteElement.

        A draft that has other versions is deleted alone, otherwise the element is deleted with it. The response is 409
        if the element has children, if other elements refer to it or show it in a diagram, or if it was released.
        """
        return self._delete(request, names)

    @Operation(
        "deleteElementByPost",
        tag="elements",
        summary="Delete an element or a draft (POST)",
        versions=ApiVersions.up_to("4.0"),
        writes=True,
        responses=SuccessSerializer,
    )
    def delete_element_by_post(self, request: Request, **names: str) -> HttpResponse:
        """Same as DELETE of the element, for clients that cannot send DELETE."""
        return self._delete(request, names)

    def _delete(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.writer(request, Permission.DELETE)
        view = self.view_of(names)
        self.refuse_parameters_and_body(request)
        found = self.element_in(view, names["elementId"])
        deletion = delete_element(writer, found, Findings(), lambda rows: self.check_match(request, rows))
        what = "element" if deletion.is_whole else "draft"
        return success(f"The {what} {found.version} has been deleted.")

    @Operation(
        "listChildren",
        tag="elements",
        summary="List the children of an element",
        versions=ApiVersions.up_to("4.0"),
        parameters=query_parameters.PAST,
        is_conditional=True,
        responses=ELEMENT_LIST,
    )
    def list_children(self, request: Request, **names: str) -> Prepared:
        """Return the children in order, each as the view shows it. The list has only types that the view contains."""
        view = self.view_of(names)
        self.query(request).finish()
        row = self.element_in(view, names["elementId"])

        def list_children() -> HttpResponseBase:
            assembler = Assembler(self.reader, view, Wanted())
            selection = selecting.children_of(self.reader.audience, row.element, assembler.child_types)
            return self.answer_list(assembler, selection, None)

        return Prepared(list_children, is_whole=True)

    @Operation(
        "listVersions",
        tag="elements",
        summary="List the versions of an element",
        versions=ApiVersions.up_to("4.0"),
        parameters=query_parameters.ONE,
        is_conditional=True,
        responses=ELEMENT_LIST,
    )
    def list_versions(self, request: Request, **names: str) -> Prepared:
        """Return all versions that the caller can see, oldest first, each with its release history."""
        view = self.view_of(names)
        query = self.query(request)
        wanted, condition = self.wanted(query, view, frozenset({derived.RELEASE_HISTORY}))
        query.finish()
        row = self.element_in(view, names["elementId"])

        def list_versions() -> HttpResponseBase:
            selection = selecting.versions_of(self.reader.audience, row.element).matching(condition)
            return self.answer_list(Assembler(self.reader, view, wanted), selection, None)

        return Prepared(list_versions, is_whole=True)

    @Operation(
        "getElementInfo",
        tag="elements",
        summary="Get permissions and capabilities for an element",
        versions=ApiVersions.up_to("1.0"),
        uses_language=True,
        responses=ElementInfosSerializer,
    )
    def get_element_info(self, request: Request, **names: str) -> HttpResponse:
        """Return the permissions of the caller on the element, and the changes that its state and type allow.

        Writing enforces the same rules.
        """
        view = self.view_of(names)
        self.query(request).finish()
        row = self.element_in(view, names["elementId"])
        cultures = self.configuration.cultures
        self.varies_by_language = True
        accepted = request.headers.get("Accept-Language", "")
        culture = preferred_culture(accepted, cultures.data, cultures.default)
        return answer(counted("values", [element_info(self.reader, self.caller, view, row, culture)]))

    @Operation(
        "listChanges",
        tag="elements",
        summary="List the changes to an element",
        versions=ApiVersions.up_to("1.0"),
        parameters=query_parameters.LOG_PAGES,
        responses=ChangesSerializer,
    )
    def list_changes(self, request: Request, **names: str) -> HttpResponseBase:
        """Return the change history of the element in pages: author, time, and values before and after.

        The newest change comes first; `$orderBy=time` returns the oldest first.

        Requires the role Analyzer or a higher one; for a user, the role Administrator, unless the user is the caller.
        """
        self.show_own(names["elementId"])
        view = self.view_of(names)
        require_history(self.caller)
        query = self.query(request)
        paging = query.page()
        newest_first = query.newest_first(usual=True)
        query.finish()
        row = self.element_in(view, names["elementId"])
        require_whole(self.reader.configuration, row.type)
        response = self._answer_changes(row.element, paging, newest_first=newest_first)
        self.add_page_headers(response, paging.page, paging.size, count_changes(row.element))
        return response

    def _answer_changes(self, element: str, paging: Paging, *, newest_first: bool) -> HttpResponseBase:
        """Return a page of changes at once, or stream it if it is too large (D188)."""
        first = (paging.page - 1) * paging.size
        places = range(first, first + paging.size)

        def read() -> Iterator[dict[str, Any]]:
            def some(few: Sequence[int]) -> list[dict[str, Any]]:
                return read_changes(self.reader, element, len(few), few[0], newest_first=newest_first)

            for changes in halved(places, some):
                yield from changes

        def stream() -> Iterator[Counted]:
            total = max(0, min(paging.size, count_changes(element) - first))
            for change in read():
                self.limit_further_pieces()
                yield total, [to_json(change)]

        try:
            return HttpResponse(whole_list("values", read), content_type=JSON_TYPE)
        except TooHeavy:
            return self.answer_stream("values", stream)


def _only_creates(request: Request) -> bool:
    """Return whether the body consists of elements without an id. A malformed body does not."""
    try:
        document = request.data
    except (Problem, APIException):
        return False
    items = document.get("elements", document.get("values")) if isinstance(document, dict) else None
    if not isinstance(items, list) or not items:
        return False
    return all(isinstance(each, dict) and not (each.get("id") or each.get("versionId")) for each in items)
