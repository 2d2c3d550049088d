"""Requests at the gate: admission, refusals, costs, and timeouts that depend on the budget (D195, D197)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory
from pytest_django import Settings as ChangedSettings

from repository_site.core.database.statements import look_up
from repository_site.core.environment.values import Rate
from repository_site.core.fairness import admission, cost, origin
from repository_site.core.fairness import gate as gates
from repository_site.core.fairness.gate import Gate, Ticket, Who
from repository_site.core.fairness.origin import ELSEWHERE
from repository_site.core.fairness.presence import Presence
from repository_site.core.fairness.unread_responses import LARGE
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import token_for

pytestmark = pytest.mark.django_db
INFO = "/acme/open/_api/rest/info"
ELEMENTS = "/acme/open/_api/rest/facets/processes/views/detail/elements"
OPEN, RIVAL = "acme/open", "rival/handbook"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, api: ApiClient, open_storage: Storage) -> Gate:
    """A gate of this test alone; the storage is known."""
    assert api.get(INFO).status_code == 200
    made = Gate(2, Rate(0.001, 4), Rate(0.001, 4), Presence())
    monkeypatch.setattr(admission, "gate", made)
    monkeypatch.setattr(gates, "PATIENCE", 0.01)
    return made


def test_requests_are_charged(gate: Gate, api: ApiClient) -> None:
    assert api.get(INFO).status_code == 200
    assert api.get("/nowhere").status_code == 404
    assert gate.tallies.seconds.keys() == {OPEN, ""}
    assert 0 < gate.tallies.seconds[OPEN] < 1
    assert gate.storages.level(OPEN) == pytest.approx(4 - gate.tallies.seconds[OPEN], abs=0.01)
    assert (gate._running, gate._connections) == ({}, 0)


def after_sending(gate: Gate, response: HttpResponseBase) -> list[Callable[[], None]]:
    """Return what the server calls after it has sent this response."""
    after: list[Callable[[], None]] = []
    request = RequestFactory().get(INFO)
    request.META[admission.AFTER_SENDING] = after
    sent = admission.FairnessMiddleware(lambda request: response)(request)
    assert sent is response
    return after


def test_a_short_response_is_sent_before_its_request_leaves(gate: Gate) -> None:
    """The client does not wait for it (D653)."""
    after = after_sending(gate, HttpResponse(b"x"))
    assert (gate._connections, gate.tallies.seconds) == (1, {})
    for call in after:
        call()
    assert (gate._connections, [*gate.tallies.seconds]) == (0, [ELSEWHERE])


@pytest.mark.parametrize("response", [StreamingHttpResponse([b"x"]), HttpResponse(b"x" * (LARGE + 1))])
def test_other_responses_are_sent_after_their_request_has_left(gate: Gate, response: HttpResponseBase) -> None:
    after_sending(gate, response)
    assert (gate._connections, [*gate.tallies.seconds]) == (0, [ELSEWHERE])


def test_a_request_that_fails_leaves_at_once(gate: Gate) -> None:
    def fail(request: HttpRequest) -> HttpResponse:
        raise SystemExit

    request = RequestFactory().get(INFO)
    request.META[admission.AFTER_SENDING] = []
    with pytest.raises(SystemExit):
        admission.FairnessMiddleware(fail)(request)
    assert (gate._connections, [*gate.tallies.seconds]) == (0, [ELSEWHERE])


def test_refusals_of_the_api_and_of_pages(gate: Gate, api: ApiClient) -> None:
    gate.enter(RIVAL, 1)
    gate.storages.charge(OPEN, 4.001)
    gate.enter(OPEN, 1)
    refused = api.get(INFO)
    text = gates.OVER_BUDGET.format(wait="2 seconds")
    assert (refused.status_code, refused["Retry-After"]) == (429, "2")
    assert refused.json() == {"message": text, "output": "volatile", "type": "error", "data": [{"error": text}]}
    page = Client().get("/acme/open/1033/")
    assert (page.status_code, page["Retry-After"], page.content.decode()) == (429, "2", text)
    assert {Client().get(path).status_code for path in ("/healthz", "/readyz")} == {200}
    assert gate.tallies.refused == {"late": 2}


def test_statements_are_part_of_the_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    watchers: list[Any] = []
    monkeypatch.setattr(cost, "watch_trips", watchers.append)
    cost.start_measuring_statements()
    monkeypatch.setattr("repository_site.core.database.base._watchers", tuple(watchers))
    first = cost.Spending()
    look_up("SELECT 1 FROM pg_sleep(0.1)")
    assert 0.1 < first.cost(only_reads=True) < 10
    second = cost.Spending()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_sleep(0.1)")
    assert 0.1 < second.cost(only_reads=True) < 10
    assert 0.1 < second.cost(only_reads=False) < 10


def test_a_write_does_not_pay_for_waiting_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement of a write may wait for a lock; one of a read does not."""
    monkeypatch.setattr(cost._statements, "seconds", 0.0)
    monkeypatch.setattr(cost._statements, "limited", 0.0)
    spending = cost.Spending()
    for _ in range(2):
        cost._trip_ended("statement", [], time.perf_counter() - 2.5, None)
    assert spending.cost(only_reads=True) == pytest.approx(5, abs=1)
    assert spending.cost(only_reads=False) == pytest.approx(2 * cost.LONGEST_OF_WRITES, abs=0.5)


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (["INSERT INTO a SELECT 1", "\n UPDATE b SET c = 1"], 3),
        (["SELECT 1 FROM a FOR UPDATE"], cost.LONGEST_OF_WRITES),
        (["INSERT INTO a SELECT 1", "SELECT pg_advisory_xact_lock(1)"], cost.LONGEST_OF_WRITES),
    ],
)
def test_a_write_pays_for_changing_rows(monkeypatch: pytest.MonkeyPatch, texts: list[str], seconds: float) -> None:
    """Triggers of such a statement fill the index of the search, which takes seconds for a megabyte of new words."""
    monkeypatch.setattr(cost._statements, "limited", 0.0)
    cost._trip_ended("look_up", texts, time.perf_counter() - 3, None)
    assert cost._statements.limited == pytest.approx(seconds, abs=0.2)


def test_a_request_is_charged_before_it_waits(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that waits for changes can read many times before its response ends."""
    request, charged, leave = HttpRequest(), list[tuple[float, object]](), gate.leave

    def note(ticket: Ticket, seconds: float, payer: Who | None = None) -> None:
        charged.append((seconds, payer))
        leave(ticket, 0.0, payer)

    monkeypatch.setattr(gate, "leave", note)

    def respond(request: HttpRequest) -> HttpResponse:
        request.caller_was_accepted = True  # type: ignore[attr-defined]
        for _ in range(2):
            cost._trip_ended("statement", [], time.perf_counter() - 2, None)
            with admission.away_from_gate(request):
                pass
        return HttpResponse()

    request.method, request.path_info, request.META["REMOTE_ADDR"] = "GET", "/acme/open/x", "127.0.0.1"
    admission.FairnessMiddleware(respond)(request)
    assert [payer for _, payer in charged] == [origin.origin_by_now(request)] * 3
    assert [seconds for seconds, _ in charged] == pytest.approx([2, 2, 0], abs=0.5)


def test_requests_without_a_credential_do_not_charge_the_storage(
    gate: Gate, api: ApiClient, storage: Storage, open_storage: Storage
) -> None:
    info = "/acme/handbook/_api/rest/info"
    assert api.get(info, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert api.get(info).status_code == 401
    assert api.get("/acme/open/_api/rest/facets/nothing/views/detail/elements").status_code == 404
    assert gate.tallies.seconds.keys() == {ELSEWHERE}
    token = token_for(storage, Role.VIEWER)
    unknown = "/acme/handbook/_api/rest/facets/nothing/views/detail/elements"
    assert api.get(unknown, headers={"Authorization": f"Bearer {token}"}).status_code == 404
    assert gate.tallies.seconds.keys() == {ELSEWHERE, "acme/handbook"}


def test_a_storage_pays_for_requests_that_came_before_it_was_known(
    gate: Gate, api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the first requests after a start would use up the budget of all that is unknown, and those that wait
    behind them would get 503."""
    for name in ("_storages", "_credentials"):
        monkeypatch.setattr(origin, name, origin.Known())
    assert api.get("/acme/handbook/_api/rest/info", token=token_for(storage)).status_code == 200
    assert gate.tallies.seconds.keys() == {"acme/handbook"}
    assert gate.storages.level(ELSEWHERE) == gate.storages.rate.burst  # type: ignore[union-attr]


def test_nobody_pays_for_strangers_who_are_not_served(gate: Gate, api: ApiClient, open_storage: Storage) -> None:
    """Sign-ins that fail have the status 200, and a wrong api-version is noticed before the credential."""
    open_storage.anonymous_access = "none"
    open_storage.save()
    browser = Client()
    wrong = {"username": "anna", "password": "wrong"}
    answers = [
        browser.post("/acme/open/admin/login/", wrong),
        browser.get("/acme/open/admin/login/"),
        browser.get("/acme/open/1033/"),
        browser.get(INFO, headers={"api-version": "0.1"}),
    ]
    assert [each.status_code for each in answers] == [200, 200, 302, 400]
    assert gate.tallies.seconds.keys() == {ELSEWHERE}
    assert api.get(INFO, token=token_for(open_storage, Role.VIEWER)).status_code == 200
    assert gate.tallies.seconds.keys() == {ELSEWHERE, OPEN}


def test_unknown_callers_are_known_to_the_gate(gate: Gate, api: ApiClient, open_storage: Storage) -> None:
    token, seen = token_for(open_storage, Role.VIEWER), []
    enter = gate.enter

    def look(*arguments: Any, **options: Any) -> Ticket:
        seen.append(options["is_accepted"])
        return enter(*arguments, **options)

    gate.enter = look  # type: ignore[method-assign]
    assert [api.get(INFO, token=each).status_code for each in (None, token, token)] == [200, 200, 200]
    assert seen == [False, False, True]


def test_only_reads_count_while_they_run(gate: Gate, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A POST is known as a read as soon as its operation is known."""
    seen: list[dict[str, tuple[int, float]]] = []

    def look(request: object) -> int:
        seen.append(dict(gate._reads))
        found = read_timeout(request)  # type: ignore[arg-type]
        seen.append(dict(gate._reads))
        return found

    read_timeout = admission.read_timeout
    monkeypatch.setattr("storage.api.viewset.read_timeout", look)
    assert api.post(INFO, "", "application/json").status_code == 200
    assert api.get(INFO).status_code == 200
    assert [each.get(OPEN, (0,))[0] for each in seen] == [0, 1, 1, 1]
    assert gate._reads == {}


class TestTimeouts:
    """The budget of the caller is as large as that of the storage."""

    @pytest.mark.parametrize(("spent", "seconds"), [(0, 15), (0.8, 12), (1.9, 8), (3.5, 3), (40, 3)])
    def test_less_budget_means_shorter_statements(
        self, gate: Gate, api: ApiClient, monkeypatch: pytest.MonkeyPatch, spent: float, seconds: int
    ) -> None:
        gate.leave(gate.enter(OPEN, 1), spent)
        assert self.timeout_of(api, monkeypatch) == 15
        gate.leave(gate.enter(RIVAL, 1), 0)
        # The first request has used up some of the budget as well.
        assert self.timeout_of(api, monkeypatch) in (seconds, seconds - 1)

    def test_no_timeout_is_longer_than_the_usual_one(self, gate: Gate, settings: ChangedSettings) -> None:
        settings.STATEMENT_TIMEOUT = 2
        gate.leave(gate.enter(OPEN, 1), 40)
        gate.leave(gate.enter(RIVAL, 1), 0)
        request = type("Request", (), {"ticket": Ticket((OPEN, 1))})()
        assert admission.read_timeout(request) == 2

    @pytest.mark.long
    def test_a_read_that_takes_too_long_for_its_budget(
        self, gate: Gate, api: ApiClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate.leave(gate.enter(OPEN, 1), 40)
        gate.leave(gate.enter(RIVAL, 1), 0)
        monkeypatch.setattr(admission, "SHORTEST_TIMEOUT", 1)
        monkeypatch.setattr(
            "elements.api.reading_viewset.ElementReadingViewSet.begin_conditional_read",
            lambda self: look_up("SELECT pg_sleep(20)"),
        )
        refused = api.get(ELEMENTS)
        assert (refused.status_code, int(refused["Retry-After"]) in range(20, 31)) == (429, True)
        text = admission.TOO_EXPENSIVE.format(wait=f"{refused['Retry-After']} seconds")
        assert refused.json() == {"message": text, "output": "volatile", "type": "error", "data": [{"error": text}]}
        assert gate.tallies.refused == {"timeout": 1}
        # Its storage pays, although an anonymous caller was refused.
        assert gate.tallies.seconds.keys() == {OPEN, RIVAL}

    def timeout_of(self, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> int:
        found: list[str] = []

        def look(self: object) -> None:
            found.append(look_up("SELECT current_setting('statement_timeout')")[0][0])
            raise admission.too_expensive(self.request._request)  # type: ignore[attr-defined]

        monkeypatch.setattr("elements.api.reading_viewset.ElementReadingViewSet.begin_conditional_read", look)
        assert api.get(ELEMENTS).status_code == 429
        return int(found[0].removesuffix("s"))


def test_nobody_pays_for_an_unreachable_database() -> None:
    before, limited = cost._statements.seconds, cost._statements.limited
    cost._trip_ended("connection", [], time.perf_counter() - 5, OSError())
    assert cost._statements.seconds == before
    cost._trip_ended("statement", [], time.perf_counter() - 5, OSError())
    assert cost._statements.seconds == pytest.approx(before + 5, abs=1)
    cost._statements.seconds, cost._statements.limited = before, limited


@pytest.mark.long
def test_a_page_that_takes_too_long_for_its_budget(
    gate: Gate, open_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.leave(gate.enter(OPEN, 1), 40)
    gate.leave(gate.enter(RIVAL, 1), 0)
    monkeypatch.setattr(admission, "SHORTEST_TIMEOUT", 1)
    monkeypatch.setattr("elements.pages.views.read_frame", lambda *given: look_up("SELECT pg_sleep(20)"))
    page = Client().get("/acme/open/1033/")
    assert (page.status_code, int(page["Retry-After"]) in range(20, 31)) == (429, True)
    assert "reload the page." in page.content.decode()


def test_the_first_stream_of_a_caller_counts_as_accepted() -> None:
    """The gate did not know the credential yet; the API has accepted it."""
    request = HttpRequest()
    request.ticket = Ticket((OPEN, 1), is_accepted=False)  # type: ignore[attr-defined]  # set by the middleware
    assert not admission.stream_ticket(request).is_accepted
    request.caller_was_accepted = True  # type: ignore[attr-defined]  # set by the API
    found = admission.stream_ticket(request)
    assert (found.who, found.is_accepted) == ((OPEN, 1), True)
