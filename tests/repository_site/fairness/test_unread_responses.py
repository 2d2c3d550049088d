"""Large responses that clients have not read yet: shares of storages and callers, and refusals (D220)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from repository_site.core.fairness import admission
from repository_site.core.fairness.admission import AFTER_SENDING, FairnessMiddleware
from repository_site.core.fairness.gate import Gate, Ticket, Who
from repository_site.core.fairness.presence import Presence
from repository_site.core.fairness.unread_responses import MEDIUM, UNREAD, MediumResponses, UnreadResponses

ACME, COLLEAGUE, RIVAL = ("acme/handbook", 1), ("acme/handbook", 2), ("rival/handbook", 1)
TEXT = UNREAD.format(wait="2 seconds")


def taken(unread: UnreadResponses, who: Who, is_accepted: bool = True) -> int:
    count = 0
    while unread.take(who, 10, is_accepted):
        count += 1
    return count


def test_shares_of_storages_and_callers() -> None:
    unread = UnreadResponses(160, patience=0)
    counts = {who: taken(unread, who) for who in (ACME, COLLEAGUE, RIVAL)}
    assert counts == {ACME: 6, COLLEAGUE: 2, RIVAL: 3}
    assert unread.taken == 110
    assert [unread.has_room_for_caller(who) for who in counts] == [False, True, False]
    for who, count in counts.items():
        for _ in range(count):
            unread.give_back(who, 10)
    assert (unread.taken, dict(unread._held)) == (0, {})


def test_unknown_callers_leave_a_part_of_their_storage_free() -> None:
    unread = UnreadResponses(160, patience=0)
    strangers = [("acme/handbook", number) for number in range(3, 6)]
    assert [taken(unread, who, is_accepted=False) for who in strangers] == [6, 0, 0]
    assert taken(unread, ACME) == 2
    for _ in range(6):
        unread.give_back(strangers[0], 10, is_accepted=False)
    for _ in range(2):
        unread.give_back(ACME, 10)
    assert (unread.taken, dict(unread._held)) == (0, {})


def test_a_response_waits_until_others_are_read() -> None:
    unread = UnreadResponses(160, patience=60)
    assert unread.take(ACME, 100)
    began = time.monotonic()
    threading.Timer(0.1, unread.give_back, (ACME, 100)).start()
    assert unread.take(ACME, 100)
    assert 0.05 < time.monotonic() - began < 30


def test_few_responses_of_a_storage_wait() -> None:
    """Others, which have no room either, may wait as well."""
    unread = UnreadResponses(160, patience=60)
    unread.take_anyway(ACME, 160)
    found: list[bool] = []
    threads = []
    for number, who in enumerate((ACME, ACME, RIVAL), 1):
        threads.append(threading.Thread(target=lambda who=who: found.append(unread.take(who, 30))))
        threads[-1].start()
        while unread._waiting.total() < 30 * number:
            time.sleep(0.001)
    began = time.monotonic()
    assert not unread.take(COLLEAGUE, 30)
    assert time.monotonic() - began < 30
    unread.give_back(ACME, 160)
    for thread in threads:
        thread.join()
    assert found == [True] * 3
    assert (unread.taken, dict(unread._waiting)) == (90, {})


def test_a_response_that_waits_too_long_is_refused() -> None:
    unread = UnreadResponses(160, patience=0.05)
    unread.take_anyway(ACME, 160)
    began = time.monotonic()
    assert not unread.take(RIVAL, 30)
    assert time.monotonic() - began >= 0.05
    assert (unread.taken, dict(unread._waiting)) == (160, {})


def test_medium_responses_are_sent_at_once_while_few_are_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    medium = MediumResponses(seconds=60, total=100)
    sent = [medium.take(("192.0.2.1", port), 40) for port in (1, 2, 3)]
    assert (sent, medium.unread) == ([True, True, False], 80)
    # The next request on a connection means that its client has read the response before.
    medium.note_request(("192.0.2.1", 2))
    medium.note_request(("192.0.2.1", 9))
    assert medium.unread == 40
    now += 30
    assert medium.take(("192.0.2.1", 3), 40)
    now += 31
    # Port 1 has read its response by now, or was disconnected.
    assert medium.take(("192.0.2.1", 4), 60)
    assert medium.unread == 100


@pytest.mark.parametrize(("connection", "size"), [(("192.0.2.1", 1), MEDIUM + 1), (None, 1)])
def test_other_responses_are_sent_in_pieces(connection: tuple[str, int] | None, size: int) -> None:
    medium = MediumResponses(seconds=60, total=2 * MEDIUM)
    assert not medium.take(connection, size)
    assert medium.unread == 0


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> UnreadResponses:
    made = UnreadResponses(160, patience=0)
    monkeypatch.setattr(admission, "unread_responses", made)
    monkeypatch.setattr(admission, "gate", Gate(2, None, None, Presence()))
    monkeypatch.setattr(admission, "LARGE", 50)
    return made


def send(method: str, response: HttpResponseBase) -> tuple[HttpResponseBase, list[Callable[[], None]]]:
    """Return the response that the middleware gives the server, and what the server calls after sending it."""
    after: list[Callable[[], None]] = []
    request = RequestFactory().generic(method, "/acme/handbook/_api/rest/info")
    request.META[AFTER_SENDING] = after
    return FairnessMiddleware(lambda request: response)(request), after


def test_large_responses_are_counted_until_they_are_read(unread: UnreadResponses) -> None:
    first, read = send("GET", HttpResponse(b"x" * 100))
    assert (first.status_code, unread.taken) == (200, 100)
    refused, after = send("GET", HttpResponse(b"x" * 100))
    assert isinstance(refused, HttpResponse)
    assert (refused.status_code, refused["Retry-After"], after) == (429, "2", [])
    assert json.loads(refused.content)["message"] == TEXT
    assert admission.gate.tallies.refused == {"unread": 1}
    for call in read:
        call()
    assert unread.taken == 0
    assert send("GET", HttpResponse(b"x" * 100))[0].status_code == 200


def test_a_response_that_waits_has_left_its_place(unread: UnreadResponses) -> None:
    unread.take_anyway(ACME, 160)
    seen: list[int] = []

    def look(who: Who, is_accepted: bool) -> bool:
        seen.append(admission.gate._connections)
        return False

    unread._has_room = look  # type: ignore[method-assign]
    assert send("GET", HttpResponse(b"x" * 100))[0].status_code == 429
    assert set(seen) == {0}


def test_unknown_readers_from_several_networks_share_a_part(unread: UnreadResponses) -> None:
    for caller in (3, 4):
        admission.hold_unread(
            HttpRequest(), HttpResponse(b"x" * 60), Ticket(("acme/handbook", caller), is_accepted=False)
        )
    assert unread.taken == 60
    request = HttpRequest()
    # The first request with a credential: it is known when the response is.
    request.caller_was_accepted = True  # type: ignore[attr-defined]  # set by the API
    first = admission.hold_unread(request, HttpResponse(b"x" * 60), Ticket(ACME, is_accepted=False))
    assert (first.status_code, unread.taken) == (200, 120)


def test_changes_are_refused_before_they_are_made(unread: UnreadResponses) -> None:
    assert send("POST", HttpResponse(b"x" * 100))[0].status_code == 200
    made: list[HttpRequest] = []

    def change(request: HttpRequest) -> HttpResponse:
        made.append(request)
        return HttpResponse()

    refused = FairnessMiddleware(change)(RequestFactory().post("/acme/handbook/_api/rest/info"))
    assert (refused.status_code, made) == (429, [])
    # The response to a change that is already running is sent in any case.
    assert (
        admission.hold_unread(HttpRequest(), HttpResponse(b"x" * 100), Ticket(ACME, only_reads=False)).status_code
        == 200
    )


@pytest.mark.parametrize(
    ("method", "response"),
    [
        ("GET", HttpResponse(b"x" * 50)),
        ("HEAD", HttpResponse(b"x" * 100)),
        ("GET", StreamingHttpResponse(iter([b"x" * 100]))),
    ],
)
def test_other_responses_are_not_counted(unread: UnreadResponses, method: str, response: HttpResponseBase) -> None:
    # A short response is sent before its request leaves the gate (D653).
    is_short = not response.streaming and len(response.content) <= 50  # type: ignore[attr-defined]  # not streamed
    sent, after = send(method, response)
    assert (sent, len(after), unread.taken) == (response, int(is_short), 0)


def test_another_server_ends_responses_itself(unread: UnreadResponses) -> None:
    response = FairnessMiddleware(lambda request: HttpResponse(b"x" * 100))(RequestFactory().get("/"))
    assert isinstance(response, HttpResponse)
    assert unread.taken == 100
    for call in response._resource_closers:  # type: ignore[attr-defined]  # Django's own list
        call()
    assert unread.taken == 0
