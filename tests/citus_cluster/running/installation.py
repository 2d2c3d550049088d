"""An installation on a Citus cluster with two storages, acme/handbook and rival/handbook, on different workers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from repository_site.core.database.pool import PATIENCE
from storage.tenancy.nodes import SILENCE
from storage.tenancy.silent_nodes import SUSPICION
from tests.citus import WORKERS as TWO_WORKERS
from tests.citus import CitusCluster
from tests.faults.installation import WORKERS, Installation, wait_for
from tests.faults.load import PROCESSES, Answer, Client
from tests.server_process import Server, free_port

RIVAL = """
from django.core.management import call_command
from storage.models import StaffAccount
from tests.faults.sessions import begin_session
call_command("issue_token", "rival", "handbook", "--name", "load", "--role", "architect")
print(begin_session("bob", "rival"))
call_command("issue_token", "_sysadmin", "_admin", "--name", "site", "--role", "administrator")
StaffAccount.objects.filter(username="bob").update(is_superuser=True)
"""
PLACE = """SELECT n.nodeport, p.shardid FROM storage_storage s
    JOIN storage_storagecollection c ON c.id = s.collection_id
    JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('storage_storagerevision', s.id)
    JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary' WHERE c.key = %s"""
MOVE = "SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'force_logical')"
TENANT = """SELECT s.id FROM storage_storage s
    JOIN storage_storagecollection c ON c.id = s.collection_id WHERE c.key = %s"""
# As in `docs/how-to/citus.md`.
ISOLATE = """SELECT citus_split_shard_by_split_points(
        get_shard_id_for_distribution_column('storage_storagerevision', tenant),
        ARRAY[worker_hash(tenant) - 1, worker_hash(tenant)]::text[], %s::int[], 'force_logical')
    FROM (VALUES (%s::uuid)) AS isolated (tenant)"""
# As there, too. The number of the node is the only difference.
KEEP = """CREATE FUNCTION public.keep_isolated(shard bigint, node int) RETURNS boolean LANGUAGE sql AS
        'SELECT (node IN ({node})) = (shardminvalue = shardmaxvalue) FROM pg_dist_shard WHERE shardid = shard';
    SELECT citus_add_rebalance_strategy('keep_isolated', 'citus_shard_cost_by_disk_size', 'citus_node_capacity_1',
        'keep_isolated', 0.1)"""
PLAN = "SELECT targetport FROM get_rebalance_table_shards_plan(rebalance_strategy => %s)"
ALONE = "SELECT shardminvalue = shardmaxvalue FROM pg_dist_shard WHERE shardid = %s"
STUCK = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'repository' AND xact_start IS NOT NULL"
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
# As in `docs/how-to/citus.md`.
ALIVE = "keepalives_idle=5 keepalives_interval=2 keepalives_count=3 tcp_user_timeout=10000"
# Seconds until a frozen node is known: a statement waits, then the coordinator tries to connect.
LONGEST_SILENCE = SUSPICION + SILENCE / 1000 + PATIENCE
PREPARED = "SELECT count(*) FROM pg_prepared_xacts"


class ClusterServer(Server):
    def __init__(self, data_dir: Path, port: int, cluster: CitusCluster) -> None:
        super().__init__(data_dir, port)
        self.cluster = cluster

    @contextmanager
    def superuser(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        with self.cluster.superuser(0) as connection:
            yield connection


class ClusterInstallation(Installation):
    """A load runs in each of the two storages, so neither checks that the other one is unchanged."""

    def __init__(self, folder: Path) -> None:
        # Acknowledged writes must survive a kill of all processes.
        often = {"citus.recover_2pc_interval": "2s", "citus.node_conninfo": f"sslmode=disable {ALIVE}"}
        self.cluster = CitusCluster(folder / "nodes", TWO_WORKERS, synchronous_commit="on", **often)
        super().__init__(folder)
        environ = self.server.environ
        self.server = ClusterServer(folder / "var", free_port(), self.cluster)
        self.server.environ = {**environ, "DATABASE_URL": self.cluster.url}
        self.site_token = ""
        self.rival: ClusterInstallation = self
        """The same installation, as the rival sees it."""

    def start(self) -> None:
        self.cluster.start()
        self.serve()
        self.fill()
        while self.place("rival")[1] == self.place("acme")[1]:
            # Storages in one shard move together, so that they would never be on different workers.
            self.manage("remove_storage", "rival", "handbook", "--yes")
            template = str(self.folder / "template.json")
            self.manage("provision_storage", "rival", "handbook", "--template", template, "--anonymous", "read")
            self.manage("import_storage", "rival", "handbook", str(self.folder / "rival.ndjson"))
        self.rival = copy.copy(self)
        self.rival.collection = "rival"
        self.rival.token, self.rival.session, self.site_token = self.shell(RIVAL).split()
        here, shard = self.place("rival")
        if here == self.place("acme")[0]:
            [there] = {*self.cluster.ports[1:]} - {here}
            self.move(shard, here, there)

    def end(self) -> None:
        try:
            super().end()
        finally:
            self.cluster.stop()

    def place(self, collection: str) -> tuple[int, int]:
        """Return the port of the worker with the storage, and the shard."""
        with self.cluster.superuser(0) as coordinator:
            row = coordinator.execute(PLACE, [collection]).fetchone()
            assert row is not None
            return row[0], row[1]

    def node_of(self, collection: str) -> int:
        return self.cluster.ports.index(self.place(collection)[0])

    def move(self, shard: int, here: int, there: int) -> None:
        with self.cluster.superuser(0) as coordinator:
            coordinator.execute("SET statement_timeout = '120s'")
            coordinator.execute(MOVE, [shard, here, there])

    def move_away(self, collection: str, *taken: int) -> int:
        """Move the shard of a storage to another worker that is not taken, and return its port."""
        here, shard = self.place(collection)
        there = next(port for port in self.cluster.ports[1:] if port not in (here, *taken))
        self.move(shard, here, there)
        assert self.place(collection) == (there, shard)
        return there

    def let_citus_split_shards(self) -> None:
        """Permit the output plugin of Citus, as the documentation says, where PostgreSQL asks for that."""
        for node in range(len(self.cluster.ports)):
            with self.cluster.superuser(node) as superuser:
                if superuser.execute("SELECT 1 FROM pg_settings WHERE name = 'output_plugin_libraries'").fetchone():
                    superuser.execute("ALTER SYSTEM SET output_plugin_libraries = pgoutput, test_decoding, citus")
                    superuser.execute("SELECT pg_reload_conf()")

    def isolate(self, collection: str) -> int:
        """Give a storage a shard of its own on a second worker, and the rest of its shard to a third one. Return the
        port of the second one."""
        here, _ = self.place(collection)
        own, rest, *_ = (port for port in self.cluster.ports[1:] if port != here)
        with self.cluster.superuser(0) as coordinator:
            coordinator.execute("SET statement_timeout = '120s'")
            [[tenant]] = coordinator.execute(TENANT, [collection]).fetchall()
            nodes = dict(coordinator.execute("SELECT nodeport, nodeid FROM pg_dist_node").fetchall())
            coordinator.execute(ISOLATE, [[nodes[rest], nodes[own], nodes[rest]], tenant])
            place, shard = self.place(collection)
            assert (place, coordinator.execute(ALONE, [shard]).fetchall()) == (own, [(True,)])
        return own

    def targets_of_rebalance(self, kept: int) -> set[int]:
        """Return the ports of the workers to which a rebalance would move shards, if one is kept for its tenant."""
        with self.cluster.superuser(0) as coordinator:
            [[node]] = coordinator.execute("SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [kept]).fetchall()
            coordinator.execute(KEEP.format(node=node))
            return {port for (port,) in coordinator.execute(PLAN, ["keep_isolated"])}

    def page(self, address: str) -> Answer:
        """Open a page as a site administrator."""
        client = Client(self.rival, "page")
        try:
            return client.call("GET", address)
        finally:
            client.close()

    def everything_of_the_rival(self) -> tuple[int, Any]:
        return 0, None

    def check_nothing_is_stuck(self, seconds: float = 5) -> None:
        """Check that no transaction stays open or prepared on any node, and that all workers of the server run."""
        for sql in (STUCK, WAITING, PREPARED):
            wait_for(lambda sql=sql: self.ask_nodes(sql) == 0, seconds, sql)  # type: ignore[misc]
        wait_for(lambda: len(self.server.workers()) == WORKERS, seconds, "a worker is missing")
        assert {self.server.request("GET", path)[0] for path in ("/healthz", "/readyz")} == {200}

    def ask_nodes(self, sql: str) -> int:
        """Return the sum of a number on all nodes."""
        found = 0
        for node in range(len(self.cluster.ports)):
            with self.cluster.superuser(node) as superuser:
                found += sum(row[0] for row in superuser.execute(sql))
        return found


def serves(installation: Installation) -> bool:
    """Return whether requests succeed that need all connections of the service, in all of its processes: idle ones that
    a test has broken would otherwise fail a later request."""
    with ThreadPoolExecutor(16) as clients:
        return all(clients.map(lambda _: _is_served(installation), range(96)))


def _is_served(installation: Installation) -> bool:
    client = Client(installation, "check")
    try:
        return client.call("GET", f"{PROCESSES}?$page=1&$pageSize=1").status == 200
    finally:
        client.close()
