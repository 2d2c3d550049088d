"""Admission of requests to the gate of this process, and what their budgets allow them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.datastructures import MultiValueDict

from repository_site.core.database.pool import release_connection
from repository_site.core.fairness.cost import Spending
from repository_site.core.fairness.gate import Gate, Ticket
from repository_site.core.fairness.large_lists import large_lists
from repository_site.core.fairness.origin import ELSEWHERE, origin_by_now, origin_of, storage_was_found
from repository_site.core.fairness.presence import Presence
from repository_site.core.fairness.saturation import Saturation
from repository_site.core.fairness.shares import Shares
from repository_site.core.fairness.stream_places import StreamPlaces
from repository_site.core.fairness.unread_responses import LARGE, UNREAD, UnreadResponses
from repository_site.core.middleware import Middleware, problem_response
from repository_site.core.problems import Problem, TooManyRequests

T = TypeVar("T")
# Clients that may wait for events in each worker.
FOLLOWING_AT_ONCE = 32
# Created when the main process loads this module, so that all workers share the memory of the presence.
gate = Gate(settings.POOL_SIZE, settings.STORAGE_BUDGET, settings.CALLER_BUDGET, Presence(), Saturation())
# Each waiting client needs a thread (D331).
followers = Shares(FOLLOWING_AT_ONCE)
# Half of a worker's connections; the others serve all other requests.
stream_places = StreamPlaces(max(1, settings.POOL_SIZE // 2), gate)
unread_responses = UnreadResponses(4 * settings.RESPONSE_BYTES)
# The server puts a list here, for functions to call when it has sent a short response, or when the client has read a
# large one or has disconnected.
AFTER_SENDING = "repository.after_sending"
# Refusals, for which anonymous readers do not charge the storage.
REFUSALS = {401, 403, 404, 429}
# Seconds for a statement of a read when the budget is used up.
SHORTEST_TIMEOUT = 3
TOO_EXPENSIVE = (
    "The request needs more time than its storage or caller has left while others are active. Ask for less: fewer or"
    " simpler conditions in $filter, a smaller page, or fewer resources; or try again in {wait}."
)


class FairnessMiddleware(Middleware):
    """Lets a request run when it is its turn, and charges its cost. It wraps everything that uses the database."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        who = origin_of(request)
        only_reads = request.method in {"GET", "HEAD", "OPTIONS"}
        try:
            if not only_reads and not unread_responses.has_room_for_caller((who.storage, who.caller)):
                # The response to a change cannot be refused any more once the change is made.
                raise gate.refuse("unread", UNREAD, (who.storage, who.caller))
            ticket = gate.enter(who.storage, who.caller, only_reads=only_reads, is_accepted=who.is_accepted)
        except Problem as problem:
            return problem_response(request, problem)
        request.ticket = ticket  # type: ignore[attr-defined]  # read by ticket_of
        request.spending = Spending()  # type: ignore[attr-defined]  # read by _leave
        try:
            with large_lists.request(ticket):
                response = self.get_response(request)
            if getattr(request, "storage", None) is not None:
                storage_was_found(request)
            # A request that has waited elsewhere has another ticket by now.
            ticket = ticket_of(request)
            when_sent(request, response, partial(_leave, request, ticket, response.status_code))
        except BaseException:
            _leave(request, ticket_of(request), 500)
            raise
        return hold_unread(request, response, ticket)


def when_sent(request: HttpRequest, response: HttpResponseBase, call: Callable[[], None]) -> None:
    """Call a function in this thread when a short response has been sent, so that the client need not wait for it. Call
    it at once for other responses, and on servers other than ours. The server calls the functions in reverse order."""
    after: list[Callable[[], None]] | None = request.META.get(AFTER_SENDING)
    if after is None or not isinstance(response, HttpResponse) or len(response.content) > LARGE:
        call()
    else:
        after.append(call)


def _leave(request: HttpRequest, ticket: Ticket, status: int) -> None:
    """Leave the gate, and charge what the request has cost since it began or came back."""
    spending: Spending | None = getattr(request, "spending", None)
    # Also a request that came before its storage or its credential was known.
    payer = origin_by_now(request) if _was_served(request, status) else (ELSEWHERE, ticket.who[1])
    gate.leave(ticket, spending.take(ticket.only_reads) if spending else 0, payer)


def _was_served(request: HttpRequest, status: int) -> bool:
    """Return whether a request got something that its storage grants. Everything else, such as a sign-in that fails,
    costs the storage nothing (D217)."""
    if hasattr(request, "caller_was_accepted"):
        return True
    return hasattr(request, "reader_was_allowed") and status not in REFUSALS


def hold_unread(request: HttpRequest, response: HttpResponseBase, ticket: Ticket) -> HttpResponseBase:
    """Count a large response until it is read; refuse it instead if its storage or caller has too many (D220)."""
    if not isinstance(response, HttpResponse) or request.method == "HEAD" or (size := len(response.content)) <= LARGE:
        return response
    is_accepted = _is_accepted(request, ticket)
    # It may wait, and needs neither its place nor its connection any more.
    release_connection()
    if not ticket.only_reads:
        unread_responses.take_anyway(ticket.who, size, is_accepted)
    elif not unread_responses.take(ticket.who, size, is_accepted):
        return problem_response(request, gate.refuse("unread", UNREAD, ticket.who))
    release = partial(unread_responses.give_back, ticket.who, size, is_accepted)
    # Without our server, the end of the response is the best guess.
    closers: list[Callable[[], None]] = response._resource_closers  # type: ignore[attr-defined]  # Django's own list
    request.META.get(AFTER_SENDING, closers).append(release)
    return response


def _is_accepted(request: HttpRequest, ticket: Ticket) -> bool:
    """Return whether the credential of a request was accepted, now or earlier."""
    return ticket.is_accepted or hasattr(request, "caller_was_accepted")


def stream_ticket(request: HttpRequest) -> Ticket:
    """Return a ticket for what a request holds for long, a stream or a wait. Its caller is known by now."""
    ticket = ticket_of(request)
    return Ticket(ticket.who, is_accepted=_is_accepted(request, ticket))


def ticket_of(request: HttpRequest) -> Ticket:
    """Return the ticket of a request; a new one in a test that calls a view without the middleware."""
    found: Ticket | None = getattr(request, "ticket", None)
    return found or Ticket(("", 0))


@contextmanager
def away_from_gate(request: HttpRequest) -> Iterator[None]:
    """Leave the place of a request, and give back its connection, while it waits for something to happen (D331)."""
    ticket = ticket_of(request)
    release_connection()
    _leave(request, ticket, 200)
    yield
    again = gate.enter(*ticket.who, only_reads=ticket.only_reads, is_accepted=_is_accepted(request, ticket))
    request.ticket = again  # type: ignore[attr-defined]  # read by ticket_of


def without_a_place(request: HttpRequest, work: Callable[[], T]) -> T:
    """Return the result of work that waits for another server. Others use the place at the gate meanwhile."""
    failed: Exception | None = None
    with away_from_gate(request):
        try:
            return work()
        except Exception as problem:
            # Raised when the request has a place again.
            failed = problem
    raise failed


@contextmanager
def between_attempts(request: HttpRequest) -> Iterator[None]:
    """Leave the gate, and let the next attempt of the request read its uploads from their start (D308)."""
    with away_from_gate(request):
        yield
    # Absent if nothing has read the form.
    uploads: MultiValueDict[str, Any] = request.__dict__.get("_files", MultiValueDict())
    for _name, files in uploads.lists():
        for file in files:
            file.seek(0)


def read_timeout(request: HttpRequest) -> int:
    """Return the seconds for a statement of a read: fewer, the less is left of its budget while others are active."""
    whole = settings.STATEMENT_TIMEOUT
    return max(min(SHORTEST_TIMEOUT, whole), math.ceil(whole * gate.begin_read(ticket_of(request))))


def too_expensive(request: HttpRequest) -> TooManyRequests:
    """Return the refusal of a read that was cancelled before the usual timeout."""
    # Also an anonymous reader: it was allowed to read, so its storage pays.
    request.caller_was_accepted = True  # type: ignore[attr-defined]  # read by the middleware
    return gate.refuse("timeout", TOO_EXPENSIVE, ticket_of(request).who)
