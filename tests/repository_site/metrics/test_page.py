"""The page `/metrics`: its numbers, and who may read it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from unittest import mock

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.utils import timezone
from psycopg_pool import PoolTimeout
from pytest_django import Settings as ChangedSettings

from repository_site.core.fairness.gate import Gate
from repository_site.core.fairness.presence import Presence
from repository_site.core.fairness.shares import Shares
from repository_site.operations.metrics import instruments, page
from repository_site.operations.metrics.folder import MetricsFolder
from repository_site.operations.metrics.instruments import BUCKETS, Instruments, start_recording, stop_recording
from storage.models import LifecycleRun, Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import token_for

pytestmark = pytest.mark.django_db
INFO = "/acme/handbook/_api/rest/info"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+-]+)$')


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path) -> Iterator[Instruments]:
    """Metrics of this test alone."""
    yield start_recording(MetricsFolder.make(tmp_path))
    stop_recording()


def samples(api: ApiClient) -> dict[str, float]:
    """Return the samples by name and labels; every line must be valid for Prometheus."""
    response = api.get("/metrics")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response["Cache-Control"] == "no-store"
    found, described = {}, set()
    for line in response.content.decode().splitlines():
        if line.startswith("# "):
            described.add(line.split()[2])
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert match[1] in described or re.sub("_(bucket|sum|count)$", "", match[1]) in described
        name = f"{match[1]}{{{match[2]}}}" if match[2] else match[1]
        assert name not in found
        found[name] = float(match[3])
    return found


def requests(api: ApiClient) -> dict[str, float]:
    start = "repository_request_duration_seconds_count"
    return {name.removeprefix(start): value for name, value in samples(api).items() if name.startswith(start)}


class TestNumbers:
    def test_requests_by_operation_method_and_class_of_status(self, api: ApiClient, storage: Storage) -> None:
        token = token_for(storage, Role.VIEWER)
        for _ in range(2):
            assert api.get(INFO, headers={"authorization": f"Bearer {token}"}).status_code == 200
        assert api.post(INFO).status_code == 401
        assert api.get("/acme/handbook/_api/rest/nothing").status_code == 404
        assert api.get("/healthz").status_code == 200
        assert api.get("/admin/").status_code == 302
        assert api.get("/wp-login.php").status_code == 404
        assert api.generic("BREW", "/healthz").status_code == 405
        assert requests(api) == {
            '{method="GET",operation="getStorageInfo",status="2xx"}': 2,
            '{method="POST",operation="getStorageInfo",status="4xx"}': 1,
            '{method="GET",operation="unknown_address",status="4xx"}': 1,
            '{method="GET",operation="healthz",status="2xx"}': 1,
            '{method="other",operation="healthz",status="4xx"}': 1,
            '{method="GET",operation="admin:index",status="3xx"}': 1,
            '{method="GET",operation="none",status="4xx"}': 1,
        }

    def test_a_writing_operation_has_its_own_name(self, api: ApiClient, storage: Storage) -> None:
        address = "/acme/handbook/_api/rest/facets/x/views/y/elements"
        assert api.get(address).status_code == 401
        assert api.post(address, {"elements": []}, content_type="application/json").status_code == 401
        assert requests(api) == {
            '{method="GET",operation="listElements",status="4xx"}': 1,
            '{method="POST",operation="updateElements",status="4xx"}': 1,
        }

    def test_storages_are_not_named_by_default(self, api: ApiClient, storage: Storage) -> None:
        assert api.get(INFO).status_code == 401
        assert "handbook" not in api.get("/metrics").content.decode()

    def test_storages_are_named_when_that_is_set(
        self, api: ApiClient, storage: Storage, other_storage: Storage, settings: ChangedSettings, tmp_path: Path
    ) -> None:
        stop_recording()
        settings.METRICS_STORAGES = True
        start_recording(MetricsFolder.make(tmp_path))
        assert api.get(INFO).status_code == 401
        assert api.get("/healthz").status_code == 200
        assert requests(api) == {
            '{method="GET",operation="getStorageInfo",status="4xx",storage="acme/handbook"}': 1,
            '{method="GET",operation="healthz",status="2xx",storage=""}': 1,
        }

    def test_fairness(self, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
        made = Gate(2, None, None, Presence())
        monkeypatch.setattr(instruments, "gate", made)
        reading = Shares(2)
        monkeypatch.setattr(instruments, "reading", reading)
        made.leave(made.enter("acme/handbook", 1), 1.5)
        made.leave(made.enter("rival/handbook", 1), 1)
        for reason in ("late", "crowded", "late"):
            made.refuse(reason, "", ("acme/handbook", 1))
        assert [reading.take("a") for _ in range(3)] == [True, False, False]
        for _ in range(2):
            found = samples(api)
            refused = 'repository_requests_refused_total{reason="%s"}'
            assert {reason: found[refused % reason] for reason in ("late", "crowded", "bodies")} == {
                "late": 2,
                "crowded": 1,
                "bodies": 2,
            }
            assert (found["repository_work_seconds_total"], found["repository_requests_waiting"]) == (2.5, 0)

    def test_work_of_storages(
        self, api: ApiClient, settings: ChangedSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stop_recording()
        settings.METRICS_STORAGES = True
        start_recording(MetricsFolder.make(tmp_path))
        made = Gate(2, None, None, Presence())
        monkeypatch.setattr(instruments, "gate", made)
        monkeypatch.setattr(instruments, "MOST_SERIES", 2)
        for number, storage in enumerate("abcda", 1):
            made.leave(made.enter(storage, 1), number)
        start = "repository_work_seconds_total"
        assert {name.removeprefix(start): value for name, value in samples(api).items() if name.startswith(start)} == {
            '{storage="a"}': 6,
            '{storage="b"}': 2,
            '{storage="other"}': 7,
        }

    def test_series_are_limited(self, recorded: Instruments, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(instruments, "MOST_SERIES", 2)
        for operation in "abcda":
            recorded.request_began()
            recorded.request_ended((operation, "GET", "2xx"), 0.1)
        assert requests(api) == {
            '{method="GET",operation="a",status="2xx"}': 2,
            '{method="GET",operation="b",status="2xx"}': 1,
            '{method="other",operation="other",status="other"}': 2,
        }

    def test_buckets_grow_to_the_count(self, api: ApiClient) -> None:
        api.get("/healthz")
        found = samples(api)
        start = "repository_request_duration_seconds_bucket{"
        values = [value for name, value in found.items() if name.startswith(start) and 'operation="healthz"' in name]
        assert len(values) == len(BUCKETS) + 1
        assert values == sorted(values)
        assert values[-1] == 1

    def test_database_trips_and_errors(self, api: ApiClient, storage: Storage) -> None:
        assert api.get(INFO).status_code == 401
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1/0")
        found = samples(api)
        assert found['repository_database_duration_seconds_count{kind="look_up"}'] > 0
        assert found['repository_database_errors_total{kind="DataError"}'] == 1

    def test_an_exhausted_pool(self, api: ApiClient) -> None:
        other = connection.copy()
        with (
            mock.patch(
                "django.db.backends.postgresql.base.DatabaseWrapper.get_new_connection", side_effect=PoolTimeout
            ),
            pytest.raises(PoolTimeout),
        ):
            other.get_new_connection({})
        assert samples(api)['repository_database_errors_total{kind="PoolTimeout"}'] == 1

    def test_tasks_and_lifecycle_runs_of_all_storages(self, api: ApiClient, storage: Storage) -> None:
        now = timezone.now()
        LifecycleRun.objects.create(
            storage=storage, ended_on=now, milliseconds=1500, open_tasks=7, overdue_tasks=2, stuck_tasks=3
        )
        found = samples(api)
        oldest = found.pop('repository_lifecycle_last_run_timestamp_seconds{storage_with="oldest"}')
        assert oldest == pytest.approx(now.timestamp(), abs=0.01)
        wanted = {
            "repository_database_up": 1,
            "repository_storages": 2,
            'repository_tasks{state="open"}': 7,
            'repository_tasks{state="overdue"}': 2,
            'repository_tasks{state="stuck"}': 3,
            'repository_lifecycle_storages{state="never"}': 1,
            'repository_lifecycle_storages{state="failing"}': 0,
            "repository_lifecycle_duration_seconds": 1.5,
            "repository_worker_processes": 1,
            "repository_requests_in_flight": 1,
        }
        assert {name: found.get(name) for name in wanted} == wanted

    def test_an_unreachable_database(self, api: ApiClient) -> None:
        with mock.patch("repository_site.operations.metrics.page.connection.cursor", side_effect=OperationalError):
            found = samples(api)
        assert found["repository_database_up"] == 0
        assert "repository_storages" not in found
        assert "repository_worker_processes" in found


class TestReaders:
    SECRET = "a-secret-of-twenty-characters"

    @pytest.mark.parametrize(
        ("address", "headers", "status"),
        [
            ("127.0.0.1", {}, 200),
            ("::1", {}, 200),
            ("10.1.2.3", {}, 404),
            ("nonsense", {}, 404),
            ("127.0.0.1", {"x-forwarded-for": "127.0.0.1"}, 404),
            ("127.0.0.1", {"forwarded": "for=127.0.0.1"}, 404),
            ("127.0.0.1", {"x-real-ip": "127.0.0.1"}, 404),
            ("10.1.2.3", {"authorization": f"Bearer {SECRET}"}, 200),
            ("10.1.2.3", {"authorization": f"Bearer {SECRET}", "x-forwarded-for": "1.2.3.4"}, 200),
            ("10.1.2.3", {"authorization": f"Bearer {SECRET}x"}, 404),
            ("10.1.2.3", {"authorization": "Bearer "}, 404),
            ("10.1.2.3", {"authorization": "Bearer é"}, 404),
        ],
    )
    def test_by_network_or_secret(
        self, api: ApiClient, settings: ChangedSettings, address: str, headers: dict[str, str], status: int
    ) -> None:
        settings.METRICS_TOKEN = self.SECRET
        response = api.get("/metrics", headers={"host": "localhost", **headers}, REMOTE_ADDR=address)
        assert response.status_code == status
        if status == 404:
            unknown = api.get("/nothing-here", headers={"host": "localhost", **headers}, REMOTE_ADDR=address)
            assert response.content == unknown.content.replace(b"nothing-here", b"metrics")

    def test_no_header_is_accepted_without_a_secret(self, api: ApiClient) -> None:
        for given in ("Bearer ", "Bearer", ""):
            response = api.get("/metrics", headers={"authorization": given}, REMOTE_ADDR="10.1.2.3")
            assert response.status_code == 404

    def test_other_networks(self, api: ApiClient, settings: ChangedSettings) -> None:
        settings.METRICS_NETWORKS = (ip_network("10.0.0.0/8"),)
        assert api.get("/metrics", REMOTE_ADDR="10.1.2.3").status_code == 200
        assert api.get("/metrics", REMOTE_ADDR="127.0.0.1").status_code == 404

    def test_read_only_and_under_any_host(self, api: ApiClient) -> None:
        assert api.post("/metrics").status_code == 405
        assert api.get("/metrics", headers={"host": "10.9.9.9"}).status_code == 200
        assert api.head("/metrics").content == b""


def test_nothing_is_answered_where_nothing_is_recorded(api: ApiClient) -> None:
    stop_recording()
    assert api.get("/metrics").status_code == 404


def test_measuring_ends_with_the_process(recorded: Instruments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MEASURE_SECONDS", 60)
    others = set(threading.enumerate())
    with mock.patch.object(page, "Finalize") as at_the_end:
        page.start_measuring(recorded)
    (thread,) = set(threading.enumerate()) - others
    at_the_end.call_args.args[1]()
    thread.join(60)
    assert (thread.name, thread.is_alive()) == ("metrics", False)
