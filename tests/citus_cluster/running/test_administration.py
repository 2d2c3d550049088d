"""Nodes of a Citus cluster (D260) and load of storages on it (D262), as administrators see them."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import pytest

from storage.tenancy.nodes import ALL_WORKERS
from tests.citus_cluster.running.installation import LONGEST_SILENCE, ClusterInstallation, serves
from tests.faults.installation import wait_for
from tests.patience import BUSY_SECONDS

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not os.environ.get("REPOSITORY_TEST_CITUS"), reason="needs REPOSITORY_TEST_CITUS=1"),
]
NODES = "/_sysadmin/_admin/_api/rest/maintain"
INFO = "/_api/rest/info"


def nodes(acme: ClusterInstallation, pool: str = "") -> tuple[int, Any]:
    return acme.server.request("GET", f"{NODES}{pool}", None, {"Authorization": f"Bearer {acme.site_token}"})


def expected(acme: ClusterInstallation, *away: int) -> dict[str, Any]:
    places = [acme.place(collection)[0] for collection in ("acme", "rival")]
    values = []
    for node, port in enumerate(acme.cluster.ports):
        role = f"worker-{node}" if node else "coordinator"
        values.append(
            {
                "name": f"127.0.0.1:{port}",
                "pool": role,
                "role": role.partition("-")[0],
                "host": "127.0.0.1",
                "port": port,
                "isAvailable": node not in away,
                "storages": places.count(port),
                **({"problem": f"failed to connect to 127.0.0.1:{port}"} if node in away else {}),
            }
        )
    return {"count": len(values), "values": values}


def test_all_nodes_are_listed(acme: ClusterInstallation) -> None:
    whole = expected(acme)
    assert nodes(acme) == (200, whole)
    assert nodes(acme, "/worker-2") == (200, {"count": 1, "values": [whole["values"][2]]})
    status, body = nodes(acme, "/default")
    pools = ", ".join(each["pool"] for each in whole["values"])
    assert (status, body["message"]) == (404, f"There is no pool 'default'. Known pools: {pools}.")


def test_a_worker_that_does_not_answer_takes_a_bounded_time(acme: ClusterInstallation) -> None:
    acme.cluster.freeze(1)
    try:
        begun = time.monotonic()
        found = nodes(acme)
        took = time.monotonic() - begun
    finally:
        acme.cluster.thaw(1)
    assert found == (200, expected(acme, 1))
    assert took < ALL_WORKERS / 1000 + BUSY_SECONDS
    assert nodes(acme) == (200, expected(acme))


def test_the_load_page_says_what_to_set_until_nodes_measure(acme: ClusterInstallation) -> None:
    assert 'GRANT pg_monitor TO "repository";' in page(acme)
    for node in range(len(acme.cluster.ports)):
        with acme.cluster.superuser(node) as superuser:
            superuser.execute("SET citus.enable_ddl_propagation = off")
            superuser.execute("GRANT pg_monitor TO repository")
    assert "These nodes do not measure storages: 127.0.0.1:" in page(acme)
    for node in range(len(acme.cluster.ports)):
        with acme.cluster.superuser(node) as superuser:
            superuser.execute("ALTER SYSTEM SET citus.stat_tenants_track = 'all'")
            superuser.execute("SELECT pg_reload_conf()")
    wait_for(lambda: "These nodes do not measure storages" not in page(acme), 10, "the setting has no effect")
    for collection, times in (("acme", 3), ("rival", 9)):
        for _ in range(times):
            assert acme.server.request("GET", f"/{collection}/handbook{INFO}")[0] == 200
    found = re.findall(r">(\w+)/handbook</a>.*?<td>([^<]+)</td>\s*<td[^>]*>(\d+)</td>", page(acme), re.DOTALL)
    measured = {name: (node, int(statements)) for name, node, statements in found}
    assert {name: node for name, (node, _) in measured.items()} == {
        name: f"127.0.0.1:{acme.place(name)[0]}" for name in ("acme", "rival")
    }
    assert all(statements > 0 for _, statements in measured.values())


def test_the_load_page_names_a_worker_that_does_not_answer(acme: ClusterInstallation) -> None:
    """The nodes measure storages, see above. The connections of the service to the worker exist already."""
    acme.cluster.freeze(1)
    try:
        begun = time.monotonic()
        found = page(acme)
        took = time.monotonic() - begun
    finally:
        acme.cluster.thaw(1)
    assert re.findall(r"(127\.0\.0\.1:\d+).{0,80}These nodes do not answer", found, re.DOTALL) == [
        f"127.0.0.1:{acme.cluster.ports[1]}"
    ]
    assert took < 2 * LONGEST_SILENCE + BUSY_SECONDS
    wait_for(lambda: serves(acme) and serves(acme.rival), 20, "storages are not served again")


def page(acme: ClusterInstallation) -> str:
    answer = acme.page("/admin/load/")
    assert answer.status == 200
    text: str = answer.body.decode().replace("&quot;", '"')
    return text
