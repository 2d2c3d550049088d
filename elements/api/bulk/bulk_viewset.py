"""Bulk changes of elements: request one, and read its report (D471)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.bulk import bulk_serializers as bodies
from elements.api.writing_viewset import ElementWritingViewSet
from elements.bulk.operations import read_operations
from elements.bulk.runs import MOST, BulkRequest, find_run, request_bulk, require_bulk, stop_run
from elements.models import BulkRefusal, BulkRun
from elements.reading.lists import selection as selecting
from elements.reading.lists.filtering import compile_filter, view_vocabulary
from elements.reading.lists.narrowing import narrowed
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.problems import Unreadable
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, listed, printable
from storage.api.preferences import prefers_minimal
from storage.api.viewset import has_no_body

TAG = "bulk"
FIRST = ApiVersions.up_to("1.0")
FIELDS = (bodies.FILTER, bodies.IDS, bodies.OPERATIONS, bodies.DRY_RUN)


class BulkViewSet(ElementWritingViewSet):
    @Operation(
        "changeInBulk",
        tag=TAG,
        summary="Change many elements",
        versions=FIRST,
        parameters=bodies.LOCATION,
        writes=True,
        body=bodies.BulkSerializer,
        responses=bodies.STARTED,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Apply operations to elements of a view: to those that `ids` names, or that `filter` selects from its list.

        Each element is changed as a whole or refused with reasons, by the same rules as for single elements. Up to 100
        elements are changed at once, in one transaction. For more, a background job changes them: the response is 202,
        and `Location` has the address of the report. `dryRun` makes all checks and reports what would happen.

        A caller can have one unfinished job.
        """
        require_bulk(self.caller)
        self.query(request).finish()
        document = _document(request.data)
        # The form first: a caller who waits for locks should not learn of a typing error afterwards.
        read_operations(document.get(bodies.OPERATIONS))
        writer = self.settled_writer(request)
        view = self.view_of(names)
        elements = self._elements(view, document)
        wanted = BulkRequest(view, document[bodies.OPERATIONS], elements, document.get(bodies.FILTER, ""))
        return self.answer_run(request, writer, replace(wanted, dry_run=document.get(bodies.DRY_RUN, False)))

    def answer_run(self, request: Request, writer: Writer, wanted: BulkRequest) -> HttpResponse:
        run, refusals = request_bulk(self.storage, writer, wanted)
        is_done = run.state == BulkRun.State.DONE
        response = answer(counted("values", [self._wire(run, refusals)]), 200 if is_done else 202)
        # A preview that was made at once has no other report than this response.
        self.must_tell = run._state.adding
        if not is_done or (prefers_minimal(request) and not self.must_tell):
            response["Location"] = f"{self.base}{request._request.path.rstrip('/')}/{run.id}"
        return response

    @Operation(
        "getBulkReport",
        tag=TAG,
        summary="Get the report of a bulk change",
        versions=FIRST,
        parameters=bodies.PAGES,
        responses=bodies.BulkReportsSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return the state, the progress and the numbers of a bulk change, and a page of its refusals.

        Callers see their own reports, administrators see all reports. A report is kept for 30 days.
        """
        return self.answer_report(request, self.view_of(names), names)

    @Operation(
        "stopBulkChange",
        tag=TAG,
        summary="Stop a bulk change",
        versions=FIRST,
        parameters=bodies.PAGES,
        writes=True,
        responses=bodies.BulkReportsSerializer,
    )
    def stop_bulk_change(self, request: Request, **names: str) -> HttpResponse:
        """Stop a bulk change before its next elements, and return its report. What it has changed so far stays.

        Callers stop their own, administrators all. A bulk change that has ended stays as it is.
        """
        return self.answer_report(request, self.view_of(names), names, stop=True)

    def answer_report(
        self, request: Request, view: CompiledView, names: dict[str, str], *, stop: bool = False
    ) -> HttpResponse:
        query = self.query(request)
        paging = query.page()
        query.finish()
        if stop and not has_no_body(request):
            raise Unreadable("This operation takes no body.")
        if not GUID.fullmatch(names[bodies.ID]):
            raise Unreadable(f"{printable(names[bodies.ID], 80)!r} is not a GUID.")
        run = find_run(self.caller, UUID(names[bodies.ID]), view)
        if stop:
            run = stop_run(self.caller, run)
        start = (paging.page - 1) * paging.size
        refusals = BulkRefusal.objects.filter(run=run).order_by("place")[start : start + paging.size]
        response = answer(counted("values", [self._wire(run, list(refusals))]))
        self.add_page_headers(response, paging.page, paging.size, run.refused)
        return response

    def is_dry_run(self, request: Request) -> bool:
        """Every request is stored under its Idempotency-Key: the report of a large preview is stored, too."""
        return False

    def _elements(self, view: CompiledView, document: dict[str, Any]) -> Sequence[str]:
        if bodies.IDS in document:
            return list(dict.fromkeys(each.lower() for each in document[bodies.IDS]))
        selection, text = self.list_selection(view), document[bodies.FILTER]
        if text:
            condition = compile_filter(self.reader, text, view_vocabulary(self.configuration, view))
            selection = selection.matching(narrowed(condition))
        return selecting.find_elements(selection, MOST + 1)

    def _wire(self, run: BulkRun, refusals: Sequence[BulkRefusal]) -> dict[str, Any]:
        zone = self.reader.zone
        wire: dict[str, Any] = {} if run._state.adding else {"id": str(run.id)}
        wire |= {
            "state": run.state,
            "dryRun": run.is_dry_run,
            "total": run.total,
            "processed": run.processed,
            "changed": run.changed,
            "unchanged": run.unchanged,
            "refused": run.refused,
            "createdOn": wire_datetime(run.created_on, zone),
            "operations": run.operations,
            "refusals": [{"id": str(each.element_id), "reasons": each.reasons} for each in refusals],
        }
        if run.reason:
            wire["reason"] = run.reason
        if run.finished_on:
            wire["finishedOn"] = wire_datetime(run.finished_on, zone)
        if run.filter:
            wire["filter"] = run.filter
        return wire


def _document(document: Any) -> dict[str, Any]:
    """Return the body of a bulk change, checked for its form; `read_operations` checks the operations."""
    if not isinstance(document, dict):
        raise Unreadable(f"The body must be an object with {listed(FIELDS)}.")
    problems = [
        f"{printable(key, 40)}: unknown field; use {listed(FIELDS, 'or')}." for key in document if key not in FIELDS
    ]
    if (bodies.FILTER in document) == (bodies.IDS in document):
        problems.append("Send either filter or ids.")
    ids = document.get(bodies.IDS, ["x"])
    if not isinstance(document.get(bodies.FILTER, ""), str):
        problems.append("filter: expected a text, such as state -eq 'inProcess'.")
    if not isinstance(ids, list) or not 0 < len(ids) <= bodies.MOST_IDS:
        problems.append(f"ids: expected a list of 1 to {bodies.MOST_IDS:,} ids.")
    elif bodies.IDS in document:
        wrong = [each for each in ids if not (isinstance(each, str) and GUID.fullmatch(each))]
        problems += [f"ids: {printable(str(each), 80)!r} is not a GUID." for each in wrong[:10]]
    if not isinstance(document.get(bodies.DRY_RUN, False), bool):
        problems.append("dryRun: expected true or false.")
    if problems:
        raise Unreadable(problems[0] if len(problems) == 1 else f"The body has {len(problems)} problems.", problems)
    return document
