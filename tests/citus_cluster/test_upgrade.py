"""Upgrades of installations with content: to a cluster from the first release, and of a cluster from an earlier schema.

Two processes migrate at the same time: a command and a server that starts, or two servers (D305).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.citus import FEWEST_SHARDS, CitusCluster
from tests.scale import only_at_full_scale
from tests.server_process import Server, free_port

pytestmark = [
    pytest.mark.server,
    pytest.mark.own_cluster,
    pytest.mark.skipif(not os.environ.get("REPOSITORY_TEST_CITUS"), reason="needs REPOSITORY_TEST_CITUS=1"),
]
STORAGES = ("acme", "rival")
# The last migrations of release 0.1.0, and those of the first state that could be distributed.
FIRST_RELEASE = (("storage", "0006"), ("elements", "0007"))
FIRST_DISTRIBUTED = (("release", "0001"), ("elements", "0010"), ("facets", "0001"), ("storage", "0013"))
# Tables that later migrations have added, one of each subject.
ADDED = {"elements_lane", "elements_searchposting", "elements_permalink", "storage_event", "storage_webhook"}
WELL = "System check identified no issues (0 silenced).\n"


@pytest.fixture(scope="module")
def server(cluster: CitusCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with two storages on PostgreSQL."""
    found = Server(tmp_path_factory.mktemp("server") / "var", free_port())
    found.environ["DATABASE_URL"] = cluster.url
    with found.warm_commands():
        found.succeed("migrate", "--verbosity", "0")
        for collection in STORAGES:
            found.succeed("sample_storage", collection, "sample", "20")
        yield found


def content(server: Server) -> list[str]:
    """Return everything that the storages have."""
    return [server.succeed("export_storage", collection, "sample", "-") for collection in STORAGES]


def go_back(server: Server, migrations: tuple[tuple[str, str], ...]) -> None:
    for words in migrations:
        server.succeed("migrate", "--verbosity", "0", *words)


def migrate_twice_at_once(server: Server) -> str:
    with ThreadPoolExecutor(2) as both:
        return "".join(both.map(lambda _: server.succeed("migrate"), range(2)))


def test_the_first_release_becomes_a_cluster(cluster: CitusCluster, server: Server) -> None:
    before = content(server)
    assert min(map(len, before)) > 3_000
    go_back(server, FIRST_RELEASE)
    cluster.join()
    applied = migrate_twice_at_once(server)
    assert applied.count("No migrations to apply.") == 1
    assert applied.count("Applying storage.0008_revisions_move... OK") == 1
    assert server.succeed("distribute", "--shards", str(FEWEST_SHARDS)) == "All tables are distributed.\n"
    assert server.succeed("check", "--database", "default") == WELL
    assert content(server) == before


@only_at_full_scale
def test_a_cluster_gets_later_migrations(cluster: CitusCluster, server: Server) -> None:
    before = content(server)
    go_back(server, FIRST_DISTRIBUTED)
    assert ADDED & distributed(cluster) == set()
    applied = migrate_twice_at_once(server)
    assert applied.count("Applying elements.0011_lanes... OK") == 1
    assert applied.count("Applying storage.0015_events... OK") == 1
    assert distributed(cluster) >= ADDED
    assert server.succeed("distribute") == "All tables are already distributed.\n"
    assert server.succeed("check", "--database", "default") == WELL
    assert content(server) == before


def distributed(cluster: CitusCluster) -> set[str]:
    with cluster.superuser(0) as coordinator:
        rows = coordinator.execute("SELECT logicalrelid::text FROM pg_dist_partition WHERE partmethod = 'h'")
        return {name for (name,) in rows}
