"""The change feed: what has happened in a storage since a cursor (D326 to D331)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from elements.api.events.changes_serializers import (
    AFTER,
    ELEMENT_TYPE,
    FACET,
    GONE,
    LONGEST_WAIT,
    PARAMETERS,
    STATE,
    TYPE,
    WAIT,
    ChangeFeedSerializer,
)
from elements.api.query import DEFAULT_PAGE_SIZE, PAGE_SIZE, QueryParameters
from elements.permission_sets.callers import without_hidden
from elements.permissions import sees_drafts
from elements.reading.visible_events import hidden_names, visible_events
from facets.api.facet_viewset import ConfiguredViewSet
from facets.clearance import clearance_of
from facets.configuration import Configuration, configuration_of
from facets.event_filters import names_in
from repository_site.core.database.repeating import repeated
from repository_site.core.fairness.admission import away_from_gate, followers, gate, stream_ticket
from repository_site.core.problems import Gone, placed
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import NAME as VERSION
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import listed, printable
from storage.api.authentication import TOKEN_NAME, authenticate, digest_in_header
from storage.events.cursors import Cursor
from storage.events.numbering import number_events
from storage.events.reading import CursorGone, EventFilter, EventPage, NumberedEvent, cloud_event, read_page
from storage.events.waking import POLL, is_stopping, watching
from storage.models import EventType
from storage.tenancy.contexts import find_context

FILTERS = (TYPE, FACET, ELEMENT_TYPE, STATE)
# Query parameters of every operation.
OTHERS = {VERSION, TOKEN_NAME}
LOST = (
    "The feed no longer has the events after this cursor: they are older than {days} days, or the storage was restored"
    " from a backup. Read the elements again, then continue with the cursor in `next`."
)
TOO_MANY = "Too many clients wait for changes here. Ask without $wait, or try again in {wait}."
RETRY_AFTER = 5


@dataclass(frozen=True, slots=True)
class FeedRequest:
    after: Cursor | None
    size: int
    wait: int
    only: EventFilter


class ChangesViewSet(ConfiguredViewSet):
    asked: FeedRequest | None = None
    page: EventPage

    @Operation(
        "followChanges",
        tag="changes",
        summary="Follow the changes of a storage",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        parameters=PARAMETERS,
        responses={200: ChangeFeedSerializer, 410: GONE},
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return events after a cursor, oldest first, each as a CloudEvent 1.0, and the next cursor.

        Every committed change is in the feed exactly once; events of one element have the order of their commits. A
        client has everything when `next` equals the cursor that it has sent; a page can have few events, or none,
        before that. Viewers and anonymous readers see only events of published versions.
        """
        if self.asked is None:
            self.asked = self._read_request(request)
        try:
            self.page = read_page(self.asked.after, self.asked.size, self.asked.only)
        except CursorGone as gone:
            raise Gone(LOST.format(days=self.storage.event_days), str(gone.oldest)) from None
        show = partial(
            cloud_event,
            self.context.path,
            with_caller=sees_drafts(self.caller),
            hidden_names=hidden_names(clearance_of(self.caller.roles)),
        )
        events = [show(each) for each in _visible(self.page.events)]
        return answer({**counted("values", events), "next": str(self.page.next)})

    def _answer(self, request: Request, **names: str) -> HttpResponseBase:
        response = self._number_and_read(request, names)
        if self.asked is None or not self.asked.wait or self._has_news:
            return response
        ticket = stream_ticket(request._request)
        if not followers.take(ticket.storage, *ticket.parts):
            raise gate.refuse("followers", TOO_MANY, ticket.who, RETRY_AFTER)
        try:
            return self._follow(request, names, self.asked.wait)
        finally:
            followers.give_back(ticket.storage, *ticket.parts)

    def _follow(self, request: Request, names: dict[str, str], wait: int) -> HttpResponseBase:
        """Read again after each announcement, and every few seconds, until there is an event or the time is over."""
        end = time.monotonic() + wait
        with watching(str(self.storage.id)) as watcher:
            while True:
                response = self._number_and_read(request, names)
                left = end - time.monotonic()
                if self._has_news or left <= 0 or is_stopping():
                    return response
                with away_from_gate(request._request):
                    watcher.wait(min(left, POLL))
                # Meanwhile the storage may have been removed, or the token revoked.
                address = self.kwargs["collectionId"], self.kwargs["storageId"]
                self.context = find_context(*address, digest_in_header(request))
                self.caller = authenticate(request, self.context)
                self.require_access()

    @property
    def _has_news(self) -> bool:
        """Whether there is no reason to wait. A page without events can end before the feed does (D327)."""
        return bool(self.page.events) or not self.page.is_end

    def _number_and_read(self, request: Request, names: dict[str, str]) -> HttpResponseBase:
        if self.asked is not None:
            # Events that were left out need not be looked at again.
            # The roles of the caller may have changed meanwhile.
            only = replace(self._rights(), values=self.asked.only.values)
            self.asked = replace(self.asked, after=self.page.next, only=only)
        repeated(lambda: number_events(self.storage))
        return super()._answer(request, **names)

    def _read_request(self, request: Request) -> FeedRequest:
        query = QueryParameters(request._request.GET, self.operation.query_names)
        for name in request._request.GET:
            if name not in query.allowed and name not in OTHERS and not query.misspelling(name):
                query.problems.append(f"{printable(name, 40)}: unknown parameter; use {listed(query.allowed, 'or')}.")
        found = FeedRequest(
            _cursor(query),
            query.number(PAGE_SIZE, settings.MAX_PAGE_SIZE) or min(DEFAULT_PAGE_SIZE, settings.MAX_PAGE_SIZE),
            query.number(WAIT, LONGEST_WAIT) or 0,
            replace(self._rights(), values=_filters(query, self.configuration)),
        )
        query.finish()
        return found

    def _rights(self) -> EventFilter:
        found = visible_events(self.caller, configuration_of(self.storage))
        return EventFilter(visible=found.sql, visible_values=found.parameters)


def _visible(events: Sequence[NumberedEvent]) -> list[NumberedEvent]:
    """Return events without ids of other elements that permission sets hide (D491)."""
    told = without_hidden([{"data": each.data, "caller": str(each.caller or "")} for each in events])
    return [
        each._replace(data=shown["data"], caller=each.caller if shown["caller"] else None)
        for each, shown in zip(events, told, strict=True)
    ]


def _cursor(query: QueryParameters) -> Cursor | None:
    text = query.text(AFTER)
    if text is None:
        return None
    if (found := Cursor.read(text)) is None:
        query.problems.append(placed(AFTER, f"{printable(text, 40)!r} is not a cursor; send `next` of a response."))
    return found


def _filters(query: QueryParameters, configuration: Configuration) -> tuple[tuple[str, tuple[str, ...]], ...]:
    names = names_in(configuration)
    known: dict[str, tuple[str, Iterable[str], str]] = {
        TYPE: ("type", EventType.values, "a type of events"),
        FACET: ("facet", names[FACET], "a facet"),
        ELEMENT_TYPE: ("element_type", names[ELEMENT_TYPE], "an element type"),
        STATE: ("state", names[STATE], "a state"),
    }
    found = []
    for name, (column, values, kind) in known.items():
        if wanted := query.names_among(name, values, kind):
            found.append((column, wanted))
    return tuple(found)
