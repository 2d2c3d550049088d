"""Operation of a Citus cluster: distribute existing content, see the node of a storage, add a worker under load."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from storage.tenancy.distribution import COPIED
from tests.citus import SHARDS, CitusCluster
from tests.elements.feed import read_served_feed
from tests.server_process import Server, free_port

pytestmark = [
    pytest.mark.server,
    pytest.mark.own_cluster,
    pytest.mark.skipif(not os.environ.get("REPOSITORY_TEST_CITUS"), reason="needs REPOSITORY_TEST_CITUS=1"),
]
INFO = "/acme/handbook/_api/rest/info"
FACETS = "/acme/handbook/_api/rest/facets"


@pytest.fixture(scope="module")
def server(cluster: CitusCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a storage on a database that is not distributed yet."""
    found = Server(tmp_path_factory.mktemp("server") / "var", free_port())
    found.environ |= {"DATABASE_URL": cluster.url, "REPOSITORY_ANONYMOUS_RATE": "off"}
    with found.warm_commands():
        found.succeed("migrate", "--verbosity", "0")
        found.succeed("provision_storage", "acme", "handbook", "--anonymous", "read")
        try:
            yield found
        finally:
            found.kill()


def answers(server: Server) -> list[tuple[int, Any]]:
    return [server.request("GET", address) for address in (INFO, FACETS)]


def listed(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(server.succeed("list_storages", "--nodes", "--json"))
    return found


def test_existing_content_is_distributed_once(cluster: CitusCluster, server: Server) -> None:
    refused = server.manage("list_storages", "--nodes")
    assert (refused.returncode, "all storages are on the same PostgreSQL server" in refused.stderr) == (1, True)
    server.start("serve", "--workers", "1")
    before = answers(server)
    assert [status for status, _ in before] == [200, 200]
    server.kill()
    cluster.join()
    planned = server.succeed("distribute", "--dry-run", "--shards", str(SHARDS))
    assert "SELECT create_reference_table('storage_storage');\n" in planned
    assert server.succeed("distribute", "--dry-run", "--shards", str(SHARDS)) == planned
    with ThreadPoolExecutor(2) as both:
        texts = [*both.map(lambda _: server.succeed("distribute", "--shards", str(SHARDS)), range(2))]
    assert sorted(texts) == ["All tables are already distributed.\n", "All tables are distributed.\n"]
    assert server.succeed("distribute", "--dry-run") == "All tables are already distributed.\n"
    assert server.succeed("check", "--database", "default") == "System check identified no issues (0 silenced).\n"
    server.start("serve", "--workers", "1")
    assert answers(server) == before


def test_only_few_tables_are_copied_to_every_node(cluster: CitusCluster, server: Server) -> None:
    """Requests write none of them, see `tests/copied_tables.py`."""
    with cluster.superuser(0) as coordinator:
        rows = coordinator.execute("SELECT logicalrelid::text FROM pg_dist_partition WHERE repmodel = 't'").fetchall()
    assert {name for (name,) in rows} == {*COPIED}


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


@pytest.mark.parametrize(
    ("damage", "repair", "problem"),
    [
        (
            "ALTER TABLE {shard} NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE {shard} FORCE ROW LEVEL SECURITY",
            "row-level security is not complete for {shard}",
        ),
        (
            "ALTER POLICY tenant ON {shard} USING (true)",
            "ALTER POLICY tenant ON {shard} USING (storage_id = current_setting('repository.storage')::uuid)",
            "row-level security is not complete for {shard}",
        ),
        (
            "ALTER TABLE {shard} DROP CONSTRAINT {key}, DISABLE TRIGGER USER",
            "ALTER TABLE {shard} ADD CONSTRAINT {key} {definition}, ENABLE TRIGGER USER",
            "keys are missing on {shard}. triggers are missing on {shard}",
        ),
    ],
)
def test_a_damaged_shard_is_reported(
    cluster: CitusCluster, server: Server, damage: str, repair: str, problem: str
) -> None:
    with cluster.superuser(1) as worker:
        worker.execute("SET citus.override_table_visibility = off")
        worker.execute("SET citus.enable_manual_changes_to_shards = on")
        row = worker.execute(
            r"SELECT c.relname, k.conname, pg_get_constraintdef(k.oid) FROM pg_class c"
            r" JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'f'"
            r" WHERE c.relname ~ '^elements_elementversion_\d+$' AND c.relkind = 'r' ORDER BY 1, 2 LIMIT 1"
        ).fetchone()
        assert row is not None
        names = dict(zip(("shard", "key", "definition"), row, strict=True))
        worker.execute(damage.format(**names))
        try:
            checked = server.manage("check", "--database", "default")
        finally:
            worker.execute(repair.format(**names))
    text = f"Node 127.0.0.1:{cluster.ports[1]}: {problem.format(**names)}."
    assert (checked.returncode, text in checked.stderr) == (1, True), checked.stderr
    assert server.succeed("check", "--database", "default") == "System check identified no issues (0 silenced).\n"


def test_doctor_finds_nodes_to_which_no_shard_can_move(cluster: CitusCluster, server: Server) -> None:
    def warnings() -> list[str]:
        done = server.manage("doctor", "--only", "nodes", "--json")
        return [f"{each['level']}: {each['text']}" for each in json.loads(done.stdout)["findings"]]

    well = ["ok: shards can move, and no prepared transaction is left"]
    assert warnings() == well
    with cluster.superuser(1) as worker:
        worker.execute("SET citus.enable_ddl_propagation = off")
        worker.execute("ALTER EVENT TRIGGER let_shards_move DISABLE")
        problem = f"shards of storages that are written cannot move to 127.0.0.1:{cluster.ports[1]}"
        assert warnings() == [f"warning: {problem}"]
        worker.execute("ALTER EVENT TRIGGER let_shards_move ENABLE")
    assert warnings() == well


def test_requests_run_while_shards_move_to_a_new_worker(cluster: CitusCluster, server: Server) -> None:
    statuses: Counter[int] = Counter()
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            statuses[server.request("GET", FACETS)[0]] += 1

    expected = answers(server)
    token = server.succeed("issue_token", "acme", "handbook", "--name", "follower", "--role", "administrator").strip()
    _, cursor = read_served_feed(server, "acme/handbook", token)
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        cluster.add_worker()
        cluster.rebalance()
        assert shards_on(cluster, -1) == 1
    finally:
        is_over.set()
        asking.join()
    assert {*statuses} == {200}
    assert answers(server) == expected
    # A cursor from before the move leads on (D327).
    server.succeed("issue_token", "acme", "handbook", "--name", "after the move", "--role", "viewer")
    events, _ = read_served_feed(server, "acme/handbook", token, cursor)
    assert [(each["type"], each["data"]["name"]) for each in events] == [("token.created", "after the move")]
    (row,) = listed(server)
    assert row["node"] == f"127.0.0.1:{cluster.ports[node_with_rows(cluster, row['tenant'])]}"
    assert server.succeed("check", "--database", "default") == "System check identified no issues (0 silenced).\n"


def shards_on(cluster: CitusCluster, node: int) -> int:
    with cluster.superuser(0) as coordinator:
        row = coordinator.execute(
            "SELECT count(DISTINCT shardid) FROM citus_shards WHERE nodeport = %s"
            " AND table_name = 'elements_element'::regclass",
            [cluster.ports[node]],
        ).fetchone()
        assert row is not None
        return int(row[0])
