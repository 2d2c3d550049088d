"""A streaming replica answers reads of clients that allow it, and only while it has the content of the primary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.elements.handbook import ID
from tests.faults.installation import wait_for
from tests.faults.several_servers import API, ServerReply, SeveralServers
from tests.postgres_nodes import PostgresNode

pytestmark = [pytest.mark.server, pytest.mark.fault]
PROCESSES = f"{API}/rest/facets/processes/views/detail/elements"
TREE = f"{API}/rest/facets/processes/views/tree/elements"
REPORT = f"{API}/rest/facets/processes/reporting"
SYSTEMS = f"{API}/rest/facets/it/views/list/elements"
# Lists, pages, searches, reports, and a list that is streamed.
READS = (
    PROCESSES,
    TREE,
    f"{PROCESSES}?$page=1&$pageSize=3&$resources=attributes,related,children",
    f"{PROCESSES}?$filter=Contains(name,'o')",
    f"{PROCESSES}/{ID['order']}",
    f"{PROCESSES}/{ID['house']}/children",
    f"{PROCESSES}/{ID['order']}/referencedBy",
    f"{API}/rest/search?q=order",
    REPORT,
    f"{SYSTEMS}?$resources=attributes,related",
)
MANY = 600


class Replicated(SeveralServers):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, REPOSITORY_TOKEN_RATE="off", REPOSITORY_PUBLIC_URL="http://127.0.0.1")
        self.replica = PostgresNode(folder / "replica")
        for server in self.servers:
            server.environ["DATABASE_REPLICA_URL"] = self.replica.url

    def read(self, path: str, *, at: int = 0, prefer: str = "replica", **headers: str) -> ServerReply:
        return self.call(at, "GET", path, Prefer=prefer, **headers)

    def write(self, name: str, *, at: int = 0) -> str:
        element = {
            "type": "subProcess",
            "attributes": {"name": {"1033": name}},
            "rootPath": [{"id": ID["sales"]}],
        }
        reply = self.call(at, "POST", PROCESSES, {"elements": [element]})
        assert reply.status == 200, reply
        found: str = reply.body["elements"][0]["id"]
        return found

    def catch_up(self) -> None:
        written = self.primary.ask("SELECT pg_current_wal_lsn()::text")
        sql = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
        wait_for(lambda: bool(self.replica.ask(sql)), 20, "the replica does not catch up")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the replica from replaying changes."""
        self.replica.ask("SELECT pg_wal_replay_pause()")
        wait_for(lambda: self.replica.ask("SELECT pg_get_wal_replay_pause_state()") == "paused", 10, "not paused")
        try:
            yield
        finally:
            self.replica.ask("SELECT pg_wal_replay_resume()")


@pytest.fixture(scope="module")
def replicated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicated]:
    found = Replicated(tmp_path_factory.mktemp("replicated"))
    try:
        found.start()
        found.replica.follow(found.primary)
        found.catch_up()
        yield found
    finally:
        found.end()
        found.replica.stop()


def is_from_replica(reply: ServerReply) -> bool:
    return reply.headers.get("preference-applied") == "replica"


def shown(reply: ServerReply) -> tuple[int, dict[str, str], bytes]:
    """Return everything that a client compares: not the preference, nor what differs by request."""
    ours = {"preference-applied", "x-request-id", "date"}
    return reply.status, {k: v for k, v in reply.headers.items() if k not in ours}, reply.content


def many_systems(replicated: Replicated) -> None:
    made = [{"type": "system", "attributes": {"name": {"1033": f"System {number}"}}} for number in range(MANY)]
    for start in range(0, MANY, 300):
        reply = replicated.call(
            0, "POST", f"{API}/rest/facets/it/views/detail/elements", {"elements": made[start : start + 300]}
        )
        assert reply.status == 200, reply


class TestAnswers:
    def test_replica_and_primary_answer_alike(self, replicated: Replicated) -> None:
        many_systems(replicated)
        replicated.catch_up()
        for path in READS:
            path = path.replace("'", "%27")
            there, here = replicated.read(path, at=1), replicated.call(0, "GET", path)
            assert shown(there) == shown(here), path
            assert here.status == 200
            assert (is_from_replica(there), is_from_replica(here)) == (True, False)

    def test_entity_tags_of_primary_and_replica_are_the_same(self, replicated: Replicated) -> None:
        replicated.catch_up()
        tag = replicated.call(0, "GET", PROCESSES).headers["etag"]
        reply = replicated.read(PROCESSES, at=1, If_None_Match=tag)
        assert (reply.status, reply.content, is_from_replica(reply)) == (304, b"", True)

    def test_errors_are_the_same(self, replicated: Replicated) -> None:
        replicated.catch_up()
        for path in (f"{PROCESSES}/{ID['crm']}", f"{PROCESSES}?$filter=nothing", f"{PROCESSES}?$pagesize=1"):
            assert shown(replicated.read(path)) == shown(replicated.call(0, "GET", path))

    def test_statements_reach_the_replica_only_if_the_client_allows_it(self, replicated: Replicated) -> None:
        replicated.catch_up()
        for prefer, expected in (("", False), ("return=minimal", False), ("respond-async, Replica", True)):
            assert is_from_replica(replicated.read(PROCESSES, prefer=prefer)) is expected
        before = scans(replicated.replica)
        for _ in range(5):
            assert is_from_replica(replicated.read(f"{SYSTEMS}?$resources=attributes"))
        # The connections of the servers report with a delay.
        wait_for(lambda: scans(replicated.replica) >= before + 5, 20, "the replica has read nothing")

    def test_other_storage_is_isolated_on_the_replica(self, replicated: Replicated) -> None:
        replicated.catch_up()
        rival = f"{PROCESSES}/{ID['order']}".replace("/acme/", "/rival/")
        reply = replicated.call(0, "GET", rival, Prefer="replica", Authorization="")
        [element] = reply.body["elements"]
        assert (reply.status, is_from_replica(reply)) == (200, True)
        assert element["attributes"]["name"]["1033"].startswith("Rival ")
        with psycopg.connect(replicated.replica.url) as plain, pytest.raises(psycopg.errors.UndefinedObject):
            plain.execute("SELECT count(*) FROM elements_element")
        refused = replicated.call(0, "GET", rival, Prefer="replica")
        assert refused.status == 401


class TestOwnWrites:
    def test_a_paused_replica_never_hides_a_write(self, replicated: Replicated) -> None:
        replicated.catch_up()
        with replicated.paused():
            for number in range(3):
                made = replicated.write(f"Late {number}", at=number % 2)
                for at in (0, 1):
                    page = replicated.read(f"{PROCESSES}?$filter=name%20-eq%20%27Late%20{number}%27", at=at)
                    assert [each["id"] for each in page.body["elements"]] == [made]
                    assert not is_from_replica(page)
                    streamed = replicated.read(PROCESSES, at=at)
                    assert made in {each["id"] for each in streamed.body["elements"]}
            # Another storage has no writes that the replica lacks.
            rival = replicated.call(
                0, "GET", PROCESSES.replace("/acme/", "/rival/"), Prefer="replica", Authorization=""
            )
            assert (rival.status, is_from_replica(rival)) == (200, True)
        replicated.catch_up()
        assert is_from_replica(replicated.read(PROCESSES))

    def test_a_paused_replica_never_hides_a_change_of_the_configuration(self, replicated: Replicated) -> None:
        replicated.catch_up()
        rename = (
            "from storage.tenancy.contexts import storage_at; from storage.tenancy.scope import tenant_scope;"
            "from facets.models import Facet\n"
            "with tenant_scope(storage_at('acme', 'handbook')):\n"
            "    facet = Facet.objects.get(name='it'); facet.display_names = {'1033': 'Renamed'}; facet.save()"
        )
        with replicated.paused():
            replicated.shell(rename)
            assert not is_from_replica(replicated.read(SYSTEMS))
        replicated.catch_up()
        assert is_from_replica(replicated.read(SYSTEMS))

    def test_a_revoked_token_is_refused_at_once(self, replicated: Replicated) -> None:
        issued = replicated.manage("issue_token", "acme", "handbook", "--name", "short", "--role", "viewer").strip()
        headers = {"Prefer": "replica", "Authorization": f"Bearer {issued}"}
        replicated.catch_up()
        with replicated.paused():
            assert replicated.call(1, "GET", PROCESSES, **headers).status == 200
            replicated.manage("revoke_token", "acme", "handbook", "short")
            assert [replicated.call(at, "GET", PROCESSES, **headers).status for at in (0, 1)] == [401, 401]

    def test_writes_ignore_the_preference(self, replicated: Replicated) -> None:
        reply = replicated.call(
            0, "POST", PROCESSES, {"elements": [{"id": ID["order"], "attributes": {"scope": {"1033": "new"}}}]},
            Prefer="replica",
        )  # fmt: skip
        assert (reply.status, is_from_replica(reply)) == (200, False)


class TestCommands:
    def test_exports_of_both_are_the_same(self, replicated: Replicated, tmp_path: Path) -> None:
        replicated.write("Exported at once")
        replicated.manage("export_storage", "acme", "handbook", str(tmp_path / "there.ndjson"), "--replica")
        replicated.manage("export_storage", "acme", "handbook", str(tmp_path / "here.ndjson"))
        there, here = ((tmp_path / name).read_bytes() for name in ("there.ndjson", "here.ndjson"))
        assert there == here
        assert b"Exported at once" in there

    def test_a_backup_of_the_replica_is_complete(self, replicated: Replicated, tmp_path: Path) -> None:
        replicated.manage("backup_storage", "acme", "handbook", str(tmp_path / "acme.backup"), "--replica")
        replicated.manage("restore_storage", str(tmp_path / "acme.backup"), "--check")

    def test_the_doctor_knows_the_replica(self, replicated: Replicated) -> None:
        done = replicated.servers[0].manage("doctor", "--json")
        found = {each["check"]: each for each in json.loads(done.stdout)["findings"]}
        assert found["replica"]["text"] == "a standby, and up to date"


class TestNodes:
    def test_the_replica_is_a_node_of_the_pool(self, replicated: Replicated) -> None:
        token = replicated.manage("issue_token", "_sysadmin", "_admin", "--name", "site", "--role", "administrator")
        credential = f"Bearer {token.strip()}"

        def found() -> list[dict[str, Any]]:
            body = replicated.call(0, "GET", "/_sysadmin/_admin/_api/rest/maintain", Authorization=credential).body
            assert body["count"] == 2
            values: list[dict[str, Any]] = body["values"]
            return values

        expected = [
            {
                "name": f"127.0.0.1:{node.port}",
                "pool": "default",
                "role": role,
                "host": "127.0.0.1",
                "port": node.port,
                "isAvailable": True,
                "storages": 2,
            }
            for node, role in ((replicated.primary, "primary"), (replicated.replica, "replica"))
        ]
        assert found() == expected
        replicated.replica.stop()
        try:
            primary, replica = found()
            assert "Connection refused" in replica.pop("problem")
            assert [primary, replica] == [expected[0], {**expected[1], "isAvailable": False}]
        finally:
            replicated.replica.start()
        assert found() == expected


class TestFailures:
    def test_the_primary_answers_while_the_replica_is_down(self, replicated: Replicated, tmp_path: Path) -> None:
        replicated.catch_up()
        expected = shown(replicated.call(0, "GET", PROCESSES))
        replicated.replica.stop()
        try:
            replies = [replicated.read(PROCESSES, at=number % 2) for number in range(10)]
            assert [shown(each) == expected for each in replies] == [True] * 10
            assert not any(map(is_from_replica, replies))
            file = str(tmp_path / "acme.ndjson")
            said = replicated.servers[0].manage("export_storage", "acme", "handbook", file, "--replica")
            assert said.returncode == 0
            assert "The replica is unreachable" in said.stderr
            assert "The command reads from the primary." in said.stderr
        finally:
            replicated.replica.start()
        wait_for(lambda: is_from_replica(replicated.read(PROCESSES)), 40, "the replica is not used again")
        assert refusals(replicated) == 0

    def test_metrics_count_the_requests(self, replicated: Replicated) -> None:
        found = metrics(replicated)
        assert found.keys() == {"answered", "behind", "unavailable"}
        assert min(found.values()) > 0


def scans(node: PostgresNode) -> int:
    """Return how often the statements of a server have read the versions."""
    return int(
        node.ask(
            "SELECT coalesce(sum(idx_scan) + sum(seq_scan), 0) FROM pg_stat_user_tables"
            " WHERE relname = 'elements_elementversion'"
        )
    )


def metrics(replicated: Replicated) -> dict[str, float]:
    found: dict[str, float] = {}
    for at in (0, 1):
        for line in replicated.call(at, "GET", "/metrics", Authorization="").content.decode().splitlines():
            if line.startswith("repository_replica_requests_total{"):
                outcome = line.split('"')[1]
                found[outcome] = found.get(outcome, 0) + float(line.rpartition(" ")[2])
    return found


def refusals(replicated: Replicated) -> int:
    lines: list[dict[str, Any]] = []
    for server in replicated.servers:
        for line in server.log.read_text().splitlines():
            if line.startswith("{"):
                lines.append(json.loads(line))
    return sum(each.get("status", 0) >= 500 for each in lines)
