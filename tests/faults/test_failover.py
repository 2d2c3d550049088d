"""A cluster of PostgreSQL behind PgBouncer or HAProxy: its primary fails under load, and the standby takes over
(D230, D231, docs/how-to/high-availability.md)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from repository_site.core.database.pool import PATIENCE
from tests.elements.feed import read_served_feed
from tests.faults.cluster import Cluster
from tests.faults.installation import Installation
from tests.faults.load import Load
from tests.patience import BUSY_SECONDS
from tests.scale import IS_FULL, only_at_full_scale
from tests.server_process import Server, free_port

pytestmark = [pytest.mark.server, pytest.mark.fault]
# Seconds of `ttl` in patroni.yml, after which the standby of a lost machine takes over, and some for the rest.
TTL, MARGIN = 20, 20
Repair = Callable[[], None]


class ReplicatedServer(Server):
    """A server on the database of a cluster."""

    def __init__(self, data_dir: Path, port: int, cluster: Cluster) -> None:
        super().__init__(data_dir, port)
        self.cluster = cluster

    @contextmanager
    def superuser(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        with self.cluster.superuser() as connection:
            yield connection


class ReplicatedInstallation(Installation):
    def __init__(self, folder: Path, cluster: Cluster) -> None:
        super().__init__(folder)
        environ = self.server.environ
        self.server = ReplicatedServer(folder / "var", free_port(), cluster)
        self.server.environ = environ
        self.cluster, self.way = cluster, ""

    def serve_through(self, way: str) -> None:
        """Serve through HAProxy or PgBouncer; the server starts again if it uses the other one."""
        if way != self.way:
            self.server.kill()
            self.server.environ |= {
                "DATABASE_URL": self.cluster.urls[way],
                "DATABASE_PREPARE": "off" if way == "PgBouncer" else "on",
            }
            self.serve()
            self.way = way

    def exported(self, storage: str) -> bytes:
        """Return the transfer file of a storage of acme."""
        file = self.folder / f"{storage}.ndjson"
        self.manage("export_storage", "acme", storage, str(file))
        return file.read_bytes()


@pytest.fixture(scope="module")
def replicated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicatedInstallation]:
    """An installation that was migrated and filled through PgBouncer."""
    cluster = Cluster()
    found = ReplicatedInstallation(tmp_path_factory.mktemp("failover"), cluster)
    try:
        cluster.start()
        found.serve_through("PgBouncer")
        found.fill()
        yield found
    finally:
        try:
            found.end()
        finally:
            cluster.end()


def test_commands_and_lists_work_through_pgbouncer(replicated: ReplicatedInstallation) -> None:
    exported = replicated.exported("handbook")
    assert exported.count(b"\n") > 10
    backup = str(replicated.folder / "handbook.backup")
    replicated.manage("backup_storage", "acme", "handbook", backup)
    replicated.manage("restore_storage", backup, "--as", "acme", "copy")
    assert replicated.exported("copy") == exported
    for command in ("run_lifecycle", "measure_storages"):
        replicated.manage(command)
    whole = replicated.everything_of_the_rival()
    assert whole[0] == 200
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(lambda _: replicated.everything_of_the_rival(), range(40))] == [whole] * 40


def kill_postgres(cluster: Cluster, node: str) -> Repair:
    cluster.kill_postgres(node)
    return lambda: None


def kill_machine(cluster: Cluster, node: str) -> Repair:
    cluster.kill_machine(node)
    return lambda: cluster.start_machine(node)


def freeze_machine(cluster: Cluster, node: str) -> Repair:
    cluster.freeze_machine(node)
    return lambda: cluster.thaw_machine(node)


def switch_over(cluster: Cluster, node: str) -> Repair:
    cluster.switch_over()
    return lambda: None


FAULTS = {
    "PostgreSQL killed": kill_postgres,
    "switchover": switch_over,
    "machine lost": kill_machine,
    "machine frozen": freeze_machine,
}
# Each takes half a minute or more.
CASES = [("PgBouncer", "PostgreSQL killed"), ("HAProxy", "machine lost")]
if IS_FULL:
    CASES = [(way, fault) for way in ("PgBouncer", "HAProxy") for fault in FAULTS]
    # Without a proxy, nothing cuts the connections to a machine that is frozen.
    CASES += [("two hosts", fault) for fault in FAULTS if fault != "machine frozen"]


@pytest.mark.parametrize(("way", "fault"), CASES)
def test_the_standby_takes_over(replicated: ReplicatedInstallation, way: str, fault: str) -> None:
    cluster = replicated.cluster
    cluster.wait_until_synchronous()
    replicated.serve_through(way)
    primary = cluster.leader()
    _, cursor = read_served_feed(replicated.server, "acme/handbook", replicated.token)
    with Load(replicated, f"{way} {fault}") as load:
        begin = time.monotonic()
        repair = FAULTS[fault](cluster, primary)
        load.run_until(lambda: cluster.leader() not in ("", primary), TTL + MARGIN)
        made = len(load.made)
        load.run_until(lambda: len(load.made) > made + load.writers, MARGIN)
        # The old primary comes back as a standby, under load.
        repair()
        cluster.wait_until_synchronous(90)
        load.run_for(1)
    # HAProxy needs up to six seconds to cut the connections of a frozen machine.
    assert load.slowest() < 3 * PATIENCE + BUSY_SECONDS
    load.settle(since=begin, within=TTL + MARGIN + BUSY_SECONDS, alike=f"{fault}, through {way}", group="fail-overs")
    # A cursor of the old primary leads on, past everything that was acknowledged, once (D327).
    events, _ = read_served_feed(replicated.server, "acme/handbook", replicated.token, cursor)
    created = Counter(each["subject"] for each in events if each["type"] == "element.created")
    assert {id: created[id] for id in load.made.values()} == dict.fromkeys(load.made.values(), 1)


@only_at_full_scale
def test_the_primary_continues_without_its_standby(replicated: ReplicatedInstallation) -> None:
    """Commits wait for the standby until Patroni has noticed that it is gone."""
    cluster = replicated.cluster
    cluster.wait_until_synchronous()
    replicated.serve_through("HAProxy")
    [standby] = {"db1", "db2"} - {cluster.leader()}
    with Load(replicated, "standby lost") as load:
        begin = time.monotonic()
        cluster.kill_machine(standby)
        load.run_until(lambda: list(cluster.roles().values()) == ["leader"], TTL + MARGIN)
        made = len(load.made)
        load.run_until(lambda: len(load.made) > made + load.writers, MARGIN)
        cluster.start_machine(standby)
        cluster.wait_until_synchronous(90)
        load.run_for(1)
    assert load.slowest() < TTL + MARGIN + BUSY_SECONDS
    load.settle(
        since=begin, within=TTL + MARGIN + BUSY_SECONDS, alike="machine of the standby lost", group="fail-overs"
    )
