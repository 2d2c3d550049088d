"""The database is lost at each moment of a request: the response is 503 with Retry-After, or the usual one (D306).

Each test repeats a request and breaks its n-th trip to the database, for every n. The connection breaks without a word,
as if a machine were lost, or PostgreSQL ends it, or the nodes of a distributed database end theirs.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client

from elements.transfer.importing import import_elements
from repository_site.core.database.statements import engine
from storage.models import StaffAccount
from storage.options import Role
from storage.provisioning.provision import remove_storage
from tests.api_client import ApiClient
from tests.elements.handbook import ID, TEMPLATE, write_lines
from tests.factories import StorageFactory, token_for
from tests.faults.sessions import begin_session
from tests.scale import IS_FULL, only_at_full_scale, slow_on_a_cluster

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, pytest.mark.on_cluster]
API = "/acme/handbook/_api"
ELEMENTS = f"{API}/rest/facets/processes/views/detail/elements"
END = """SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND datname = current_database() AND usename = current_user"""
# Number of trips that are left when one breaks.
BROKEN = -1
Breaking = Callable[[psycopg.Connection[Any]], None]
Request = Callable[[], Any]


@dataclass(frozen=True)
class Desk:
    """A caller of the API, and one of the pages with a session. Each method prepares a request."""

    api: ApiClient
    browser: Client
    token: str

    def read(self) -> Request:
        return lambda: self.api.get(f"{ELEMENTS}?$resources=attributes,related", token=self.token)

    def create(self) -> Request:
        made = {"type": "subProcess", "attributes": {"name": {"1033": "New"}}, "rootPath": [{"id": ID["sales"]}]}
        return lambda: self._post(ELEMENTS, {"elements": [made]})

    def release(self) -> Request:
        version = self.create()().json()["elements"][0]["versionId"]
        address = f"{API}/release/{version}/transitions/InProcessToReleased?ignoreWarnings=true"
        return lambda: self._post(address, None)

    def open_page(self) -> Request:
        return lambda: self.browser.get(f"/acme/handbook/1033/processes/{ID['order']}")

    def open_office(self) -> Request:
        return lambda: self.browser.get("/acme/handbook/admin/elements/element/")

    def sign_in(self) -> Request:
        # The guard of sign-ins would soon refuse an address.
        client = Client(raise_request_exception=False, REMOTE_ADDR=f"2001:db8:{os.urandom(2).hex()}::1")
        fields = {"username": os.urandom(4).hex(), "password": "wrong"}
        return lambda: client.post("/acme/handbook/admin/login/", fields)

    def sign_out(self) -> Request:
        client = Client(raise_request_exception=False)
        client.force_login(StaffAccount.objects.get(username="ada"))
        return lambda: client.post("/acme/handbook/admin/logout/")

    def _post(self, address: str, body: Any) -> Any:
        headers = {"Idempotency-Key": os.urandom(8).hex()}
        return self.api.post(address, body, content_type="application/json", token=self.token, headers=headers)


REQUESTS = (
    Desk.read, Desk.create, Desk.release, Desk.open_page, Desk.open_office, Desk.sign_in, Desk.sign_out,
)  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    template = tmp_path / "template.json"
    template.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    storage = StorageFactory.create(collection="acme", key="handbook", template=str(template), anonymous="read")
    import_elements(storage, str(write_lines(tmp_path / "own.ndjson")))
    browser = Client(raise_request_exception=False)
    browser.cookies["sessionid"] = begin_session("ada", "acme")
    yield Desk(ApiClient(), browser, token_for(storage, Role.ARCHITECT))
    connection.close()
    remove_storage(storage)


def cut(driver: psycopg.Connection[Any]) -> None:
    """Break the connection without a word, as if the machine were lost."""
    with socket.socket(fileno=os.dup(driver.pgconn.socket)) as both_ends:
        both_ends.shutdown(socket.SHUT_RDWR)


def end_session(driver: psycopg.Connection[Any]) -> None:
    """Let PostgreSQL end the connection, as when it shuts down."""
    with side_connection(driver) as side:
        side.execute("SELECT pg_terminate_backend(%s::int, 1000::bigint)", [driver.info.backend_pid])


def end_nodes(driver: psycopg.Connection[Any]) -> None:
    """Let all workers end the connections of the coordinator."""
    with side_connection(driver) as side:
        nodes = side.execute("SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0").fetchall()
    for host, port in nodes:
        with side_connection(driver, host=host, port=port) as node:
            node.execute(END)


def side_connection(driver: psycopg.Connection[Any], **others: Any) -> psycopg.Connection[Any]:
    """Connect to the same server by other means than the service."""
    given = {**driver.info.get_parameters(), "password": driver.info.password or None, **others}
    return psycopg.connect(**given, autocommit=True)


class Breaker:
    """Breaks the trip with a number, counted from the begin of a request."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, breaking: Breaking) -> None:
        self.left, usual = BROKEN, psycopg.Connection.wait

        def wait(driver: Any, *words: Any, **options: Any) -> Any:
            # First, because breaking makes trips of its own.
            self.left -= 1
            if self.left == BROKEN:
                breaking(driver)
            return usual(driver, *words, **options)

        monkeypatch.setattr(psycopg.Connection, "wait", wait)

    def call(self, number: int, request: Request) -> tuple[Any, bool]:
        """Return the response, and whether the trip with this number took place."""
        self.left = number
        response = request()
        is_broken, self.left = self.left <= BROKEN, BROKEN
        return response, is_broken


@pytest.mark.parametrize(
    ("breaking", "is_warm"),
    [
        pytest.param(cut, True, marks=slow_on_a_cluster),
        pytest.param(end_session, False, marks=only_at_full_scale),
        (end_nodes, True),
    ],
)
def test_a_lost_database_is_unavailable(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, breaking: Breaking, is_warm: bool
) -> None:
    """A connection is warm when the driver has prepared its statements."""
    if breaking is end_nodes and not engine().is_distributed:
        pytest.skip("needs a Citus cluster")
    breaker = Breaker(monkeypatch, breaking)
    # Each trip takes several requests, for which the coordinator connects to the nodes again.
    step = 3 if engine().is_distributed and not IS_FULL else 1
    found = {each.__name__: refusals(breaker, each, desk, is_warm, step) for each in REQUESTS}
    expected = {name: {(503, "2")} for name in found}
    if breaking is end_nodes:
        # Accounts are on the coordinator.
        expected["sign_in"] = set()
    assert {name: {*answers.values()} for name, answers in found.items()} == expected, found


def refusals(
    breaker: Breaker, prepare: Callable[[Desk], Request], desk: Desk, is_warm: bool, step: int
) -> dict[int, tuple[int, str | None]]:
    """Return status and Retry-After of each response that differs from the usual one, by the number of the trip."""
    usual = {prepare(desk)().status_code for _ in range(2)}
    assert max(usual) < 400, (prepare, usual)
    answers, number, is_broken = {}, 0, True
    while is_broken:
        connection.close()
        for _ in range(2 * is_warm):
            assert prepare(desk)().status_code in usual
        response, is_broken = breaker.call(number, prepare(desk))
        if response.status_code not in usual:
            answers[number] = response.status_code, response.get("Retry-After")
        number += step
    return answers
