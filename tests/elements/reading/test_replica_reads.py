"""`Prefer: replica` (D238). A second connection to the same database is the replica: it sees what is committed, so
changes of a test are changes that it lacks. `tests/faults/test_replica.py` has a real replica."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.api import reading_viewset
from elements.reading.content_state import ContentState
from elements.reading.lists import selection
from facets.models import Facet
from repository_site.core.database import replica
from repository_site.core.fairness import admission
from repository_site.core.fairness.presence import Presence
from repository_site.core.problems import Invalid
from repository_site.core.rest import rendering
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.conditional_reads import FURTHER_READS, PROCESSES, READS
from tests.factories import token_for
from tests.scale import first_quick
from tests.settings import DATABASES

pytestmark = pytest.mark.django_db
ALLOWED = {"Prefer": "replica"}


@pytest.fixture
def second(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The connection to the replica."""
    monkeypatch.setattr(replica, "_away_until", 0.0)
    connections.settings["replica"] = {**connections.settings["default"]}
    usual = connections.create_connection

    def create(alias: str) -> Any:
        made = usual(alias)
        if alias == "replica":
            # Django forbids connections to databases of which a test has not been told.
            made.alias = "unknown to Django"
        return made

    monkeypatch.setattr(connections, "create_connection", create)
    first = connections["replica"]
    try:
        yield first
    finally:
        first.close()
        connections["replica"].close()
        del connections["replica"]
        del connections.settings["replica"]


def read(api: ApiClient, address: str = PROCESSES, token: str = "", **headers: str) -> Any:
    return api.get(address, token=token or None, headers={**ALLOWED, **headers})


def shown(response: Any) -> tuple[int, dict[str, str], bytes]:
    headers = {name: value for name, value in response.items() if name not in ("Preference-Applied", "X-Request-ID")}
    return response.status_code, headers, response.getvalue()


@pytest.mark.parametrize("address", first_quick([*READS, *FURTHER_READS], 6))
def test_the_replica_answers_like_the_primary(api: ApiClient, second: Any, address: str) -> None:
    there, here = read(api, address), api.get(address)
    assert shown(there) == shown(here)
    if there.status_code == 200:
        assert (there["Preference-Applied"], "Preference-Applied" in here) == ("replica", False)


@pytest.mark.one_node("reads the statements of one server")
def test_the_statements_go_to_the_replica(api: ApiClient, second: Any) -> None:
    with CaptureQueriesContext(connection) as here, CaptureQueriesContext(second) as there:
        assert read(api)["Preference-Applied"] == "replica"
    # The context and the state of the content; everything else is read from the replica.
    assert [" ".join(each["sql"].split())[:12] for each in here.captured_queries if "SAVEPOINT" not in each["sql"]] == [
        "SELECT s.id,", "WITH earlier", "SELECT strin", "WITH earlier",
    ]  # fmt: skip
    assert len(there.captured_queries) > 3


@pytest.mark.parametrize("header", ["", "respond-async", "replicas", 'replica="no"', "wait=10"])
def test_other_preferences_are_ignored(api: ApiClient, second: Any, header: str) -> None:
    assert "Preference-Applied" not in api.get(PROCESSES, headers={"Prefer": header})


@pytest.mark.parametrize("header", ["Replica", "respond-async, replica", "replica; x=1"])
def test_spellings_of_the_preference(api: ApiClient, second: Any, header: str) -> None:
    assert api.get(PROCESSES, headers={"Prefer": header})["Preference-Applied"] == "replica"


def test_without_a_replica_the_preference_is_ignored(api: ApiClient, handbook: Storage) -> None:
    assert "replica" not in DATABASES
    assert shown(read(api)) == shown(api.get(PROCESSES))
    assert "Preference-Applied" not in read(api)


def test_changes_that_the_replica_lacks_are_read_from_the_primary(
    api: ApiClient, second: Any, handbook: Storage
) -> None:
    token = token_for(handbook, Role.ARCHITECT)
    given = {"type": "system", "attributes": {"name": {"1033": "Brand new"}}}
    address = PROCESSES.replace("processes", "it")
    assert api.post(address, {"elements": [given]}, "application/json", token=token).status_code == 200
    for path in (address, f"{address}?$page=1&$pageSize=100"):
        response = read(api, path, token)
        assert "Preference-Applied" not in response
        assert "Brand new" in {each["attributes"]["name"]["1033"] for each in response.json()["elements"]}


def test_a_configuration_that_the_replica_lacks_is_read_from_the_primary(
    api: ApiClient, second: Any, handbook: Storage
) -> None:
    with tenant_scope(handbook):
        Facet.objects.filter(name="it").update(type_name="Other")
    assert "Preference-Applied" not in read(api)


def test_a_storage_without_any_change_is_read_from_the_primary(
    api: ApiClient, second: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replica may lack the storage itself, which looks like a storage without content."""
    monkeypatch.setattr(reading_viewset, "content_state", ContentState)
    assert "Preference-Applied" not in read(api)


class TestStreams:
    @pytest.fixture(autouse=True)
    def short_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading_viewset, "BATCH", 2)
        monkeypatch.setattr(rendering, "PIECE", 10)

    @pytest.fixture
    def finds(self, monkeypatch: pytest.MonkeyPatch, second: Any) -> list[bool]:
        """Return whether each piece was read from the replica."""
        # Tests before this one have used other storages, which would leave room for one stream only.
        monkeypatch.setattr(admission.gate, "presence", Presence())
        found: list[bool] = []
        usual = selection.stream_keys

        def noted(*given: Any) -> Iterator[Any]:
            for each in usual(*given):
                found.append(connections["default"] is second)
                yield each

        monkeypatch.setattr(selection, "stream_keys", noted)
        return found

    def test_a_stream_of_the_replica_is_that_of_the_primary(
        self, api: ApiClient, second: Any, finds: list[bool]
    ) -> None:
        there = read(api)
        assert there["Preference-Applied"] == "replica"
        content = there.getvalue()
        assert (len(finds) > 2, set(finds)) == (True, {True})
        assert content == api.get(PROCESSES).getvalue()
        assert (connections["default"] is second, second.in_atomic_block) == (False, False)

    def test_an_abandoned_stream_ends_its_transaction(self, second: Any, finds: list[bool]) -> None:
        response: Any = Client().get(PROCESSES, headers=ALLOWED)
        assert response["Preference-Applied"] == "replica"
        next(response.streaming_content)
        assert (connections["default"] is second, second.in_atomic_block) == (False, True)
        response.close()
        assert (connections["default"] is second, second.in_atomic_block) == (False, False)
        assert second.connection is None

    def test_an_open_stream_and_the_next_read_of_its_thread_have_different_connections(
        self, api: ApiClient, second: Any, finds: list[bool]
    ) -> None:
        """A stream that an error has replaced may still be open when its thread gets the next request."""
        response: Any = Client().get(PROCESSES, headers=ALLOWED)
        begun = next(response.streaming_content)
        backend = second.connection.info.backend_pid
        whole = read(api)
        assert whole["Preference-Applied"] == "replica"
        assert connections["replica"] is not second
        assert (len(second.atomic_blocks), second.connection.info.backend_pid) == (1, backend)
        content = whole.getvalue()
        assert begun + b"".join(response.streaming_content) == content == api.get(PROCESSES).getvalue()
        assert (second.in_atomic_block, connections["replica"].in_atomic_block) == (False, False)

    def test_a_stream_whose_replica_ends_breaks_off(self, api: ApiClient, second: Any, finds: list[bool]) -> None:
        response: Any = Client().get(PROCESSES, headers=ALLOWED)
        next(response.streaming_content)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [second.connection.info.backend_pid])
        with pytest.raises(OperationalError):
            list(response.streaming_content)
        assert (connections["default"] is second, second.in_atomic_block) == (False, False)
        # The next request notices no more than that.
        assert read(api)["Preference-Applied"] == "replica"


class TestFailures:
    def test_the_primary_answers_and_the_replica_rests(
        self, api: ApiClient, second: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried = []

        def connect() -> None:
            tried.append(1)
            raise OperationalError("connection refused")

        monkeypatch.setattr(second, "connect", connect)
        answers = [read(api) for _ in range(3)]
        assert [each.status_code for each in answers] == [200, 200, 200]
        assert [("Preference-Applied" in each) for each in answers] == [False, False, False]
        assert len(tried) == 1
        assert connections["default"] is not second
        monkeypatch.undo()
        monkeypatch.setattr(replica, "_away_until", 0.0)
        assert read(api)["Preference-Applied"] == "replica"


def test_a_command_without_a_replica_says_what_to_set(handbook: Storage) -> None:
    with (
        pytest.raises(Invalid, match="DATABASE_REPLICA_URL"),
        replica.reading_for_command(from_replica=True, say=print),
    ):
        raise AssertionError("not reached")
