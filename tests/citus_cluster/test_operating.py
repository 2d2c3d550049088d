"""Operation of a Citus cluster: distribute existing content, see the node of a storage, add a worker under load."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.citus import SHARDS, CitusCluster
from tests.server_process import Server, free_port

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not os.environ.get("REPOSITORY_TEST_CITUS"), reason="needs REPOSITORY_TEST_CITUS=1"),
]
INFO = "/acme/handbook/_api/rest/info"
FACETS = "/acme/handbook/_api/rest/facets"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CitusCluster]:
    found = CitusCluster(tmp_path_factory.mktemp("operated"))
    try:
        found.start_apart()
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="module")
def server(cluster: CitusCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a storage on a database that is not distributed yet."""
    found = Server(tmp_path_factory.mktemp("server") / "var", free_port())
    found.environ["DATABASE_URL"] = cluster.url
    succeed(found, "migrate", "--verbosity", "0")
    succeed(found, "provision_storage", "acme", "handbook", "--anonymous", "read")
    try:
        yield found
    finally:
        found.kill()


def succeed(server: Server, *words: str) -> str:
    done = server.manage(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(server: Server) -> list[tuple[int, Any]]:
    return [server.request("GET", address) for address in (INFO, FACETS)]


def listed(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(succeed(server, "list_storages", "--nodes", "--json"))
    return found


def test_existing_content_is_distributed_once(cluster: CitusCluster, server: Server) -> None:
    refused = server.manage("list_storages", "--nodes")
    assert (refused.returncode, "all storages are on the same PostgreSQL server" in refused.stderr) == (1, True)
    server.start("serve", "--workers", "1")
    before = answers(server)
    assert [status for status, _ in before] == [200, 200]
    server.kill()
    cluster.join()
    planned = succeed(server, "distribute", "--dry-run", "--shards", str(SHARDS))
    assert "SELECT create_reference_table('storage_storage');\n" in planned
    assert succeed(server, "distribute", "--dry-run", "--shards", str(SHARDS)) == planned
    assert succeed(server, "distribute", "--shards", str(SHARDS)) == "All tables are distributed.\n"
    assert succeed(server, "distribute") == "All tables are distributed already.\n"
    assert succeed(server, "check", "--database", "default") == "System check identified no issues (0 silenced).\n"
    server.start("serve", "--workers", "1")
    assert answers(server) == before


def test_the_node_of_a_storage_has_its_rows(cluster: CitusCluster, server: Server) -> None:
    (row,) = listed(server)
    assert row["node"] == f"127.0.0.1:{cluster.ports[node_with_rows(cluster, row['tenant'])]}"


def node_with_rows(cluster: CitusCluster, tenant: str) -> int:
    """Return the number of the only worker with a row of the storage, past the metadata of Citus."""
    found = []
    for node in range(1, len(cluster.ports)):
        with cluster.superuser(node) as worker:
            worker.execute("SET citus.override_table_visibility = off")
            shards = worker.execute(
                r"SELECT oid::regclass FROM pg_class WHERE relname ~ '^storage_storagerevision_\d+$' AND relkind = 'r'"
            ).fetchall()
            counts = [worker.execute(f"SELECT FROM {name} WHERE storage_id = %s", [tenant]) for (name,) in shards]
            found += [node] if any(each.fetchone() is not None for each in counts) else []
    (only,) = found
    return only


def test_a_shard_without_force_is_reported(cluster: CitusCluster, server: Server) -> None:
    with cluster.superuser(1) as worker:
        worker.execute("SET citus.override_table_visibility = off")
        worker.execute("SET citus.enable_manual_changes_to_shards = on")
        found = worker.execute(
            r"SELECT relname FROM pg_class WHERE relname ~ '^elements_element_\d+$' AND relkind = 'r' LIMIT 1"
        ).fetchone()
        assert found is not None
        worker.execute(f"ALTER TABLE {found[0]} NO FORCE ROW LEVEL SECURITY")
        try:
            checked = server.manage("check", "--database", "default")
        finally:
            worker.execute(f"ALTER TABLE {found[0]} FORCE ROW LEVEL SECURITY")
    problem = f"Node 127.0.0.1:{cluster.ports[1]}: row-level security is not complete for {found[0]}."
    assert (checked.returncode, problem in checked.stderr) == (1, True)


def test_requests_run_while_shards_move_to_a_new_worker(cluster: CitusCluster, server: Server) -> None:
    statuses: Counter[int] = Counter()
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            statuses[server.request("GET", FACETS)[0]] += 1

    expected = answers(server)
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        cluster.add_worker()
        move_all(cluster)
    finally:
        is_over.set()
        asking.join()
    assert {*statuses} == {200}
    assert answers(server) == expected
    (row,) = listed(server)
    assert row["node"] == f"127.0.0.1:{cluster.ports[node_with_rows(cluster, row['tenant'])]}"
    assert succeed(server, "check", "--database", "default") == "System check identified no issues (0 silenced).\n"


def move_all(cluster: CitusCluster, seconds: float = 240) -> None:
    """Rebalance as a superuser: the role of the service cannot read rows without a scope."""
    with cluster.superuser(0) as coordinator:
        coordinator.execute("SELECT citus_rebalance_start('by_shard_count')")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            row = coordinator.execute("SELECT state::text, details::text FROM citus_rebalance_status()").fetchone()
            assert row is not None
            assert row[0] not in {"failed", "cancelled", "failing"}, row[1]
            if row[0] == "finished":
                placed = coordinator.execute(
                    "SELECT count(DISTINCT shardid) FROM citus_shards WHERE nodeport = %s"
                    " AND table_name = 'elements_element'::regclass",
                    [cluster.ports[-1]],
                ).fetchone()
                assert placed == (1,)
                return
            time.sleep(0.5)
    raise AssertionError(row)
