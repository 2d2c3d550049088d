"""`Prefer: replica` (D238). A second connection to the same database is the replica: it sees what is committed, so
changes of a test are changes that it lacks. `tests/faults/test_replica.py` has a real replica."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test.utils import CaptureQueriesContext

from elements.api import reading_viewset
from facets.models import Facet
from repository_site.core.database import replica
from repository_site.core.problems import Invalid
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.conditional_reads import PROCESSES, READS
from tests.factories import token_for
from tests.settings import DATABASES

pytestmark = pytest.mark.django_db
ALLOWED = {"Prefer": "replica"}


@pytest.fixture
def second(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The connection to the replica."""
    monkeypatch.setattr(replica, "_away_until", 0.0)
    connections.settings["replica"] = {**connections.settings["default"]}
    # Django forbids connections to databases of which a test has not been told.
    connections["replica"].alias = "unknown to Django"
    try:
        yield connections["replica"]
    finally:
        connections["replica"].close()
        del connections["replica"]
        del connections.settings["replica"]


def read(api: ApiClient, address: str = PROCESSES, token: str = "", **headers: str) -> Any:
    return api.get(address, token=token or None, headers={**ALLOWED, **headers})


def shown(response: Any) -> tuple[int, dict[str, str], bytes]:
    headers = {name: value for name, value in response.items() if name not in ("Preference-Applied", "X-Request-ID")}
    return response.status_code, headers, response.getvalue()


@pytest.mark.parametrize("address", READS)
def test_the_replica_answers_like_the_primary(api: ApiClient, second: Any, address: str) -> None:
    there, here = read(api, address), api.get(address)
    assert shown(there) == shown(here)
    if there.status_code == 200:
        assert (there["Preference-Applied"], "Preference-Applied" in here) == ("replica", False)


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
    monkeypatch.setattr(reading_viewset, "content_state", str)
    assert "Preference-Applied" not in read(api)


class TestStreams:
    @pytest.fixture(autouse=True)
    def short_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading_viewset, "BATCH", 2)

    @pytest.fixture
    def begun(self, monkeypatch: pytest.MonkeyPatch, second: Any) -> list[str]:
        """Return the connections that have begun a read: for the state, for the headers, and for the stream."""
        found: list[str] = []
        usual = reading_viewset.ElementReadingViewSet.begin_conditional_read

        def noted(viewset: Any) -> None:
            usual(viewset)
            found.append("replica" if connections["default"] is second else "primary")

        monkeypatch.setattr(reading_viewset.ElementReadingViewSet, "begin_conditional_read", noted)
        return found

    def test_a_stream_of_the_replica_is_that_of_the_primary(self, api: ApiClient, begun: list[str]) -> None:
        there = read(api)
        assert there["Preference-Applied"] == "replica"
        assert begun == ["primary", "replica", "replica"]
        assert there.getvalue() == api.get(PROCESSES).getvalue()

    def test_a_stream_that_reaches_a_replica_that_is_behind_starts_at_the_primary(
        self, api: ApiClient, begun: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        noted = reading_viewset.ElementReadingViewSet.begin_conditional_read

        def older(viewset: Any) -> None:
            noted(viewset)
            if len(begun) == 3:
                viewset.content_state = "older"

        monkeypatch.setattr(reading_viewset.ElementReadingViewSet, "begin_conditional_read", older)
        response = read(api)
        assert begun == ["primary", "replica", "replica"]
        assert response.getvalue() == api.get(PROCESSES).getvalue()


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

    def test_a_stream_that_fails_before_its_first_piece_starts_at_the_primary(self, second: Any) -> None:
        def at_replica() -> Iterator[int]:
            assert connections["default"] is second
            raise replica.ReplicaBehind
            yield 0

        assert list(replica.begun_at_replica(at_replica, lambda: iter([1, 2]))) == [1, 2]
        assert connections["default"] is not second

    def test_a_stream_reads_from_the_replica_until_it_ends(self, second: Any) -> None:
        def at_replica() -> Iterator[bool]:
            for _ in range(3):
                yield connections["default"] is second

        assert list(replica.begun_at_replica(at_replica, lambda: iter([]))) == [True, True, True]
        assert connections["default"] is not second

    def test_an_abandoned_stream_leaves_the_primary_as_the_default(self, second: Any) -> None:
        closed = []

        def at_replica() -> Iterator[int]:
            try:
                yield 1
                yield 2
            finally:
                closed.append(connections["default"] is second)

        stream: Any = replica.begun_at_replica(at_replica, lambda: iter([]))
        assert next(stream) == 1
        assert connections["default"] is not second
        stream.close()
        assert closed == [True]
        assert connections["default"] is not second


def test_a_command_without_a_replica_says_what_to_set(handbook: Storage) -> None:
    with (
        pytest.raises(Invalid, match="DATABASE_REPLICA_URL"),
        replica.reading_for_command(from_replica=True, say=print),
    ):
        raise AssertionError("not reached")
