"""Servers of load tests: on an embedded database, or on a Citus cluster of their own in a run on Citus."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.citus import SWITCH, CitusCluster
from tests.migrated_clusters import MigratedClusters
from tests.server_process import DataFolders, Server, free_port

DEADLOCKS = ("deadlock detected", "involved in a distributed deadlock")


class ClusteredServer(Server):
    def __init__(self, data_dir: Path, port: int, cluster: CitusCluster) -> None:
        super().__init__(data_dir, port)
        self.cluster = cluster
        self.environ["DATABASE_URL"] = cluster.url

    @contextmanager
    def superuser(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        with self.cluster.superuser(0) as connection:
            yield connection

    def deadlocks(self) -> list[str]:
        lines = [line for log in self.cluster.folder.glob("*.log") for line in log.read_text().splitlines()]
        return [line for line in lines if any(text in line for text in DEADLOCKS)]


@contextmanager
def loaded_server(folder: Path, data_folders: DataFolders) -> Iterator[Server]:
    """Start a server with two workers and migrated tables, which takes large bodies and any number of requests."""
    if os.environ.get(SWITCH):
        with MigratedClusters(data_folders.folder).running(folder / "cluster") as cluster:
            clustered = ClusteredServer(folder / "var", free_port(), cluster)
            with _serving(clustered):
                yield clustered
        return
    server = Server(folder / "var", free_port())
    data_folders.copy(server.data_dir, "migrate")
    with _serving(server):
        yield server


@contextmanager
def _serving(server: Server) -> Iterator[None]:
    server.environ |= {"REPOSITORY_BODY_LIMIT": "10000000", "REPOSITORY_TOKEN_RATE": "off"}
    try:
        server.start("serve", "--workers", "2")
        yield
    finally:
        server.kill()
