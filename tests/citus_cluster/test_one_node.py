"""A cluster of one node: the coordinator has the shards itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from tests.citus import ROLE, CitusCluster
from tests.server_process import Server, free_port

pytestmark = [
    pytest.mark.server,
    pytest.mark.own_cluster,
    pytest.mark.skipif(not os.environ.get("REPOSITORY_TEST_CITUS"), reason="needs REPOSITORY_TEST_CITUS=1"),
]
INFO = "/acme/handbook/_api/rest/info"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CitusCluster]:
    found = CitusCluster(tmp_path_factory.mktemp("alone"), workers=0)
    try:
        found.start_apart()
        yield found
    finally:
        found.stop()


@pytest.fixture
def server(cluster: CitusCluster, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server with a database of its own that has the extension, and no node."""
    tmp_path, name = request.getfixturevalue("tmp_path"), f"{request.node.name}"
    with cluster.superuser(0, "postgres") as superuser:
        superuser.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
    with cluster.superuser(0, name) as superuser:
        superuser.execute("CREATE EXTENSION citus")
    found = Server(tmp_path / "var", free_port())
    found.environ["DATABASE_URL"] = f"postgresql://{ROLE}@127.0.0.1:{cluster.ports[0]}/{name}"
    with found.warm_commands():
        try:
            yield found
        finally:
            found.kill()


def test_without_nodes_the_server_is_the_cluster(server: Server) -> None:
    assert_distributed(server)


def test_a_coordinator_without_shards_is_refused(cluster: CitusCluster, server: Server) -> None:
    name = server.environ["DATABASE_URL"].rpartition("/")[2]
    with cluster.superuser(0, name) as superuser:
        superuser.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [cluster.ports[0]])
        refused = server.manage("migrate", "--verbosity", "0")
        assert (refused.returncode, refused.stdout) == (1, "")
        [text] = refused.stderr.splitlines()
        assert text.startswith("CommandError: No node of the cluster takes shards. On the coordinator, as a superuser,")
        again = server.manage("distribute")
        assert (again.returncode, again.stderr) == (1, refused.stderr)
        superuser.execute(text.partition("have the shards: ")[2])
    assert_distributed(server)


def assert_distributed(server: Server) -> None:
    """Check that the tables get distributed, and that the server works."""
    for words in (["migrate", "--verbosity", "0"], ["provision_storage", "acme", "handbook", "--anonymous", "read"]):
        done = server.manage(*words)
        assert done.returncode == 0, done.stderr
    assert server.manage("distribute").stdout == "All tables are already distributed.\n"
    checked = server.manage("check", "--database", "default")
    assert checked.stdout == "System check identified no issues (0 silenced).\n", checked.stderr
    [row] = json.loads(server.manage("list_storages", "--nodes", "--json").stdout)
    assert row["node"].rpartition(":")[2] == server.environ["DATABASE_URL"].rpartition("/")[0].rpartition(":")[2]
    server.start("serve", "--workers", "1")
    assert server.request("GET", INFO)[0] == 200
