"""Backup of a whole cluster, as `docs/how-to/citus.md` describes it: all nodes return to the same restore point."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.citus import SUPERUSER, WORKERS, CitusCluster
from tests.faults.installation import wait_for
from tests.scale import only_at_full_scale
from tests.server_process import Server, free_port

pytestmark = [
    only_at_full_scale,
    pytest.mark.server,
    pytest.mark.own_cluster,
    pytest.mark.skipif(not os.environ.get("REPOSITORY_TEST_CITUS"), reason="needs REPOSITORY_TEST_CITUS=1"),
]
POINT = "before_upgrade"
# PostgreSQL runs both commands in the data folder of the node.
ARCHIVE = {"archive_mode": "on", "archive_command": "mkdir -p $PWD.archive && cp %p $PWD.archive/%f"}
RESTORE = f"""
restore_command = 'cp $PWD.archive/%f %p'
recovery_target_name = '{POINT}'
recovery_target_action = promote
"""


class ArchivedCluster(CitusCluster):
    def back_up(self, node: int) -> None:
        port, folder = str(self.ports[node]), f"{self.folder}/{node}.backup"
        self._run("pg_basebackup", "-h", "127.0.0.1", "-p", port, "-U", SUPERUSER, "-D", folder, "-c", "fast")

    def restore(self, node: int) -> None:
        data = self.folder / str(node)
        shutil.rmtree(data)
        (self.folder / f"{node}.backup").rename(data)
        usual = (data / "postgresql.conf").read_text()
        (data / "postgresql.conf").write_text(usual + RESTORE)
        (data / "recovery.signal").touch()
        if os.geteuid() == 0:
            shutil.chown(data / "recovery.signal", SUPERUSER)
        self.revive(node)
        wait_for(lambda: not self.is_recovering(node), 60, "the node does not reach the restore point")
        (data / "postgresql.conf").write_text(usual)

    def is_recovering(self, node: int) -> bool:
        with self.superuser(node) as server:
            [[found]] = server.execute("SELECT pg_is_in_recovery()").fetchall()
            return bool(found)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ArchivedCluster]:
    found = ArchivedCluster(tmp_path / "nodes", WORKERS, **ARCHIVE)
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture
def server(cluster: ArchivedCluster, tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path / "var", free_port())
    found.environ["DATABASE_URL"] = cluster.url
    try:
        yield found
    finally:
        found.kill()


def succeed(server: Server, *words: str) -> str:
    done = server.manage(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def storages(server: Server) -> list[str]:
    return sorted(row["storage"] for row in json.loads(succeed(server, "list_storages", "--json")))


def test_all_nodes_return_to_a_restore_point(cluster: ArchivedCluster, server: Server) -> None:
    nodes = range(len(cluster.ports))
    succeed(server, "migrate", "--verbosity", "0")
    succeed(server, "provision_storage", "acme", "handbook", "--anonymous", "read")
    for node in nodes:
        cluster.back_up(node)
    succeed(server, "provision_storage", "rival", "handbook", "--anonymous", "read")
    with cluster.superuser(0) as coordinator:
        coordinator.execute("SELECT citus_create_restore_point(%s)", [POINT])
    for node in nodes:
        with cluster.superuser(node) as each:
            each.execute("SELECT pg_switch_wal()")
            wait_for(lambda each=each: is_archived(each), 30, "the WAL is not archived")  # type: ignore[misc]
    succeed(server, "provision_storage", "late", "handbook", "--anonymous", "read")
    assert storages(server) == ["acme/handbook", "late/handbook", "rival/handbook"]
    cluster.stop()
    for node in nodes:
        cluster.restore(node)
    assert storages(server) == ["acme/handbook", "rival/handbook"]
    assert succeed(server, "check", "--database", "default") == "System check identified no issues (0 silenced).\n"
    server.start("serve", "--workers", "1")
    for collection in ("acme", "rival"):
        assert server.request("GET", f"/{collection}/handbook/_api/rest/info")[0] == 200


def is_archived(server: psycopg.Connection[Any]) -> bool:
    """Return whether everything before the current segment is in the archive."""
    rows = server.execute(
        "SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 16777216) FROM pg_stat_archiver"
    ).fetchall()
    return rows == [(True,)]
