"""Citus clusters with migrated and distributed tables: copies of one that the first process of a run has made.

To migrate and distribute the tables of a cluster takes ten times as long as to copy its nodes.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.citus import FEWEST_SHARDS, WORKERS, CitusCluster
from tests.server_process import Server


@dataclass(frozen=True, slots=True)
class MigratedClusters:
    folder: Path
    """A folder that all processes of the run share."""

    @contextmanager
    def running(self, folder: Path) -> Iterator[CitusCluster]:
        """Run a new cluster in a folder of its own."""
        original = self._original()
        found = CitusCluster(folder, WORKERS, **_settings())
        try:
            found.start_copy(original)
            yield found
        finally:
            found.stop()

    def _original(self) -> Path:
        made = self.folder / "migrated-cluster"
        with made.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (made / "ready").exists():
                _make(CitusCluster(made / "nodes", WORKERS, **_settings()), made)
                (made / "ready").touch()
        return made / "nodes"


def _make(cluster: CitusCluster, folder: Path) -> None:
    try:
        cluster.start()
        server = Server(folder / "var", 0)
        server.environ["DATABASE_URL"] = cluster.url
        server.succeed("migrate", "--verbosity", "0")
    finally:
        # Copies then start without recovery.
        cluster.stop("fast")


def _settings() -> dict[str, str]:
    return {"citus.shard_count": str(FEWEST_SHARDS)}
