"""Hand over the work of one user to another, across all facets (D474)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.bulk import bulk_serializers as bodies
from elements.api.bulk.bulk_viewset import FIRST, TAG, BulkViewSet
from elements.bulk.operations import read_operations
from elements.bulk.runs import BulkRequest, whole_view
from release.handing_over.steps import HAND_OVER, NEW, OLD, check_people, held_by
from repository_site.core.problems import Unreadable
from repository_site.core.rest.operation import Operation
from storage.options import Role

FIELDS = {OLD, NEW, bodies.DRY_RUN}


class HandOverViewSet(BulkViewSet):
    @Operation(
        "handOver",
        tag=TAG,
        summary="Hand over the work of one user to another",
        versions=FIRST,
        parameters=bodies.LOCATION,
        writes=True,
        body=bodies.BulkPeopleSerializer,
        responses=bodies.STARTED,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Replace a user by another one in every context that can name people, in the newest and published versions,
        whatever their state, and delegate the open tasks. The response is the report of a bulk change.

        Requires the role Administrator.
        """
        self.caller.require_role(Role.ADMINISTRATOR)
        self.query(request).finish()
        document = _document(request.data)
        people = {OLD: document[OLD], NEW: document[NEW]}
        operations = [{HAND_OVER: people}]
        writer = self.settled_writer(request)
        old, new = (UUID(each) for each in people.values())
        check_people(old, new)
        elements = held_by(writer.configuration, old)
        view = whole_view(self.configuration)
        wanted = BulkRequest(view, operations, elements, dry_run=document.get(bodies.DRY_RUN, False))
        return self.answer_run(request, writer, wanted)

    @Operation(
        "getHandOverReport",
        tag=TAG,
        summary="Get the report of a handover",
        versions=FIRST,
        parameters=bodies.PAGES,
        responses=bodies.BulkReportsSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return the report, as for bulk changes. Requires the role Administrator."""
        self.caller.require_role(Role.ADMINISTRATOR)
        return self.answer_report(request, whole_view(self.configuration), names)

    @Operation(
        "stopHandOver",
        tag=TAG,
        summary="Stop handing over",
        versions=FIRST,
        parameters=bodies.PAGES,
        writes=True,
        responses=bodies.BulkReportsSerializer,
    )
    def stop_hand_over(self, request: Request, **names: str) -> HttpResponse:
        """Stop handing over, as for bulk changes. Requires the role Administrator."""
        self.caller.require_role(Role.ADMINISTRATOR)
        return self.answer_report(request, whole_view(self.configuration), names, stop=True)


def _document(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict) or document.keys() - FIELDS or not {OLD, NEW} <= document.keys():
        raise Unreadable('The body must be an object such as {"from": "…", "to": "…", "dryRun": true}.')
    if not isinstance(document.get(bodies.DRY_RUN, False), bool):
        raise Unreadable("dryRun: expected true or false.")
    # The step checks the ids.
    read_operations([{HAND_OVER: {OLD: document[OLD], NEW: document[NEW]}}])
    return document
