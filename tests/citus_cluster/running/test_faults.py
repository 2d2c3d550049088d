"""Nodes of a Citus cluster fail, and a worker is added, under load (D261).

Only the storages of a lost worker get 503, all recover, and no request fails while shards move.
"""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from contextlib import suppress

import psycopg
import pytest

from repository_site.core.database.pool import PATIENCE
from repository_site.core.fairness.gate import PATIENCE as TURN
from storage.tenancy.silent_nodes import SUSPICION
from tests.citus_cluster.running.installation import LONGEST_SILENCE, PREPARED, ClusterInstallation, serves
from tests.faults.installation import wait_for
from tests.faults.load import Load
from tests.figures import note
from tests.patience import BUSY_SECONDS
from tests.scale import IS_FULL

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not os.environ.get("REPOSITORY_TEST_CITUS"), reason="needs REPOSITORY_TEST_CITUS=1"),
]
GROUP, MOVES = "cluster faults", "moves"
# Seconds that a killed node stays away, and in which all storages must be served again after its start.
AWAY, RECOVERY = 4.0, 20.0 + BUSY_SECONDS
# Seconds for which writes can wait for the end of a move: the default of REPOSITORY_STATEMENT_TIMEOUT.
LONGEST_WAIT = 15


def test_a_killed_worker_stops_only_its_storages(acme: ClusterInstallation) -> None:
    lost = acme.node_of("acme")
    with Load(acme, "worker killed") as load, Load(acme.rival, "other worker") as others:
        killed = time.monotonic()
        acme.cluster.kill(lost)
        gone = time.monotonic()
        try:
            load.run_until(lambda: load.has_refused("write", "read", "page"))
            load.run_for(AWAY)
            check_administration(acme, lost)
            begun = time.monotonic()
        finally:
            acme.cluster.revive(lost)
        back = time.monotonic()
        load.run_for(2)
    refused = [each for each in load.answers if each.is_refusal]
    meanwhile = [each.status for each in load.answers if gone + 1 < each.sent and each.sent + each.seconds < begun]
    assert {*meanwhile} == {503}
    assert max(each.seconds for each in refused) < PATIENCE + BUSY_SECONDS
    assert [each for each in others.answers if each.is_refusal] == []
    first = min(each.sent + each.seconds for each in refused) - killed
    load.settle(since=back, within=RECOVERY, alike="a worker killed: its storages", group=GROUP, first=first)
    others.settle(since=back, within=RECOVERY, alike="a worker killed: storages of other workers", group=GROUP)


def check_administration(acme: ClusterInstallation, lost: int) -> None:
    """Check what administrators can do while a worker is away."""
    port = acme.cluster.ports[lost]
    done = acme.server.manage("list_storages", "--nodes", "--json")
    assert done.returncode == 0, done.stderr
    ports = {row["storage"]: row["node"].partition(":")[2] for row in json.loads(done.stdout)}
    assert ports == {"acme/handbook": str(port), "rival/handbook": str(acme.place("rival")[0])}
    assert done.stderr == f"Node 127.0.0.1:{port} does not answer. These storages are not available: acme/handbook\n"
    file = acme.folder / "rival.backup"
    acme.manage("backup_storage", "rival", "handbook", str(file))
    assert file.stat().st_size > 1000
    refused = acme.server.manage("backup_storage", "acme", "handbook", str(acme.folder / "acme.backup"))
    assert (refused.returncode, f":{port} failed" in refused.stderr) == (1, True), refused.stderr
    assert not (acme.folder / "acme.backup").exists()


def test_a_frozen_worker_stops_only_its_storages(acme: ClusterInstallation) -> None:
    """Its processes keep their connections and answer nothing, not even a request to cancel a statement (D309)."""
    lost = acme.node_of("acme")
    with Load(acme, "worker frozen") as load, Load(acme.rival, "other worker is frozen") as others:
        frozen = time.monotonic()
        acme.cluster.freeze(lost)
        try:
            load.run_until(lambda: load.has_refused("write", "read", "page"))
            known = time.monotonic()
            load.run_for(AWAY)
            begun = time.monotonic()
        finally:
            acme.cluster.thaw(lost)
        back = time.monotonic()
        load.run_for(2)
    refused = [each for each in load.answers if each.is_refusal]
    later = [each for each in load.answers if known + 1 < each.sent and each.sent + each.seconds < begun]
    assert {each.status for each in later} == {503}
    # They do not wait until a silence is suspicious.
    assert statistics.median(each.seconds for each in later) < SUSPICION
    assert max(each.seconds for each in refused) < LONGEST_SILENCE + BUSY_SECONDS
    late = [each for each in others.answers if each.is_refusal]
    # On a busy machine, one request may wait longer than for its turn.
    assert [each for each in late if each.seconds < TURN] == []
    assert len(late) <= (0 if IS_FULL else 1)
    first = min(each.sent + each.seconds for each in refused) - frozen
    load.settle(since=back, within=RECOVERY, alike="a worker frozen: its storages", group=GROUP, first=first)
    others.settle(since=back, within=RECOVERY, alike="a worker frozen: storages of other workers", group=GROUP)


def test_a_killed_coordinator_stops_all_until_it_is_back(acme: ClusterInstallation) -> None:
    with Load(acme, "coordinator killed") as load:
        killed = time.monotonic()
        acme.cluster.kill(0)
        gone = time.monotonic()
        try:
            load.run_until(lambda: any(each.sent > gone and each.is_refusal for each in load.answers))
            load.run_for(AWAY)
            begun = time.monotonic()
        finally:
            acme.cluster.revive(0)
        back = time.monotonic()
        load.run_for(2)
    refused = [each for each in load.answers if each.is_refusal]
    meanwhile = [each.status for each in load.answers if gone < each.sent and each.sent + each.seconds < begun]
    assert {*meanwhile} == {503}
    assert max(each.seconds for each in refused) < 2 * PATIENCE + BUSY_SECONDS
    first = min(each.sent + each.seconds for each in refused) - killed
    load.settle(since=back, within=RECOVERY, alike="the coordinator killed", group=GROUP, first=first)


def test_no_prepared_transaction_is_left_hanging(acme: ClusterInstallation) -> None:
    """The coordinator is killed when one worker has prepared a change of a table that every node has, and the other one
    has not (D307). Nobody has been told that the change is made, so it is undone on all nodes."""
    nodes = acme.cluster

    def commit() -> None:
        with suppress(psycopg.Error):
            session.execute("COMMIT")

    before = titles(acme)
    with psycopg.connect(nodes.url, autocommit=True) as session:
        session.execute("BEGIN")
        session.execute("UPDATE storage_storage SET title = 'changed'")
        nodes.freeze(2)
        try:
            committing = threading.Thread(target=commit)
            committing.start()
            wait_for(lambda: prepared_on(acme, 1) == 1, 20, "nothing is prepared")
            nodes.kill(0)
        finally:
            nodes.thaw(2)
        nodes.revive(0)
        committing.join()
    # Each node recovers every few seconds, without an operator.
    acme.check_nothing_is_stuck(seconds=60)
    assert titles(acme) == before
    # Connections to the killed coordinator are replaced when a request meets them.
    wait_for(lambda: serves(acme) and serves(acme.rival), RECOVERY, "storages are not served again")


def prepared_on(acme: ClusterInstallation, node: int) -> int:
    with acme.cluster.superuser(node) as superuser:
        [[count]] = superuser.execute(PREPARED).fetchall()
        return int(count)


def titles(acme: ClusterInstallation) -> list[list[str]]:
    """Return the titles of the storages that each node has."""
    found = []
    for node in range(len(acme.cluster.ports)):
        with acme.cluster.superuser(node) as superuser:
            found.append([title for (title,) in superuser.execute("SELECT title FROM storage_storage ORDER BY 1")])
    return found


def test_shards_move_to_a_new_worker_under_load(acme: ClusterInstallation) -> None:
    """A rebalance moves some shard, then one storage is isolated on another worker (D312), and the other one moves.

    An isolation takes several times as long as a move. In a short run both storages move.
    """
    # A process that has not served a request since a test has killed a node still has broken connections (D153).
    wait_for(lambda: serves(acme), RECOVERY, "the service fails before any shard moves")
    with Load(acme, "isolated") as load, Load(acme.rival, "moved") as others:
        begun = time.monotonic()
        acme.cluster.add_worker()
        acme.let_citus_split_shards()
        acme.cluster.rebalance()
        rebalanced = time.monotonic()
        alone = acme.isolate("acme") if IS_FULL else acme.move_away("acme")
        isolated = time.monotonic()
        acme.move_away("rival", alone)
        moved = time.monotonic()
        load.run_for(1)
    answers = [*load.answers, *others.answers]
    refused = [each for each in answers if each.is_refusal]
    # Writes wait for the end of a move. On a busy machine, a move can take longer than a request waits for its turn.
    assert [each for each in refused if each.seconds < TURN] == []
    assert refused == [] or not IS_FULL
    slowest = max(load.slowest(begun), others.slowest(begun))
    # Other programs make it slower; the service of the test waits longer than by default.
    assert slowest < LONGEST_WAIT or not IS_FULL
    took = {"refused": len(refused), "took": round(rebalanced - begun, 1)}
    note(MOVES, "a worker added, and shards rebalanced", tried=len(answers), **took)
    for each, alike, seconds in (
        (load, "a storage isolated" if IS_FULL else "a storage moved", isolated - rebalanced),
        (others, "another storage moved", moved - isolated),
    ):
        each.settle(since=moved, within=0.1, alike=alike, group=MOVES, took=seconds, slowest=each.slowest(begun))
    if IS_FULL:
        assert alone not in acme.targets_of_rebalance(alone)
    # The new shards have all policies, keys and triggers.
    assert acme.manage("check", "--database", "default") == "System check identified no issues (0 silenced).\n"
