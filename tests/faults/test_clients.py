"""Many clients that send or read slowly, or not at all: all other clients are served as before."""

from __future__ import annotations

import contextlib
import json
import math
import socket
import time

import pytest

from repository_site.core.database.pool import PATIENCE
from repository_site.core.middleware import BODIES_AT_ONCE
from tests.elements.handbook import ID
from tests.faults.installation import POOL, WORKERS, Installation, wait_for
from tests.faults.load import PROCESSES, Load
from tests.patience import BUSY_SECONDS

pytestmark = [pytest.mark.server, pytest.mark.fault]
MANY = 20
LIST = "/demo/sample/_api/rest/facets/processes/views/detail/elements"
ANYBODY_READS = """
from storage.tenancy.contexts import storage_at
storage = storage_at("demo", "sample")
storage.anonymous_access = "read"
storage.save()
"""


@pytest.fixture(scope="module")
def long_list(installation: Installation) -> int:
    """Create enough elements that a whole list is streamed and exceeds the buffers of server and sockets."""
    count = 4_000
    installation.manage("sample_storage", "demo", "sample", str(count), "--plain")
    installation.shell(ANYBODY_READS)
    return count


def open_socket(installation: Installation) -> socket.socket:
    client = socket.socket()
    # Otherwise the kernel would buffer much of an answer for the client.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    client.settimeout(60)
    client.connect(("127.0.0.1", installation.server.port))
    return client


def go_on(load: Load, began: float, before: int) -> bool:
    """Check that other clients have been served since."""
    return len(load.answers) - before > 30 and load.ready_between(began, math.inf).total() > 0


def head(method: str, address: str, *more: str) -> bytes:
    lines = [f"{method} {address} HTTP/1.1", "Host: 127.0.0.1", *more]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize("many", [50, 250])
def test_bodies_that_trickle_in(installation: Installation, many: int) -> None:
    """Fifty clients disturb no one. Beyond the threads for bodies of a storage, its requests with a body are refused;
    reading continues."""
    body = json.dumps({"elements": [{"id": ID["ship"], "attributes": {"scope": {"1033": "slow"}}}]}).encode()
    start = head(
        "POST",
        PROCESSES,
        f"Authorization: Bearer {installation.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    refused = {"write"} if many > BODIES_AT_ONCE // 2 * WORKERS else set()
    with Load(installation, f"trickling {many}") as load, contextlib.ExitStack() as slow:
        clients = [slow.enter_context(open_socket(installation)) for _ in range(many)]
        for each in clients:
            each.sendall(start)
        began, before = time.monotonic(), len(load.answers)
        for place in range(3):
            for each in clients:
                with contextlib.suppress(OSError):
                    each.sendall(body[place : place + 1])
            load.run_for(1)
        load.run_until(lambda: go_on(load, began, before) and load.has_refused(*refused))
        over = time.monotonic()
        assert load.slowest(began) < PATIENCE + BUSY_SECONDS
        assert load.ready_between(began, over).keys() == {200}
    assert {each.kind for each in load.answers if each.is_refusal} == refused
    # The server closes a connection that it refuses before it has read the body.
    alike = f"{many} clients whose bodies trickle in"
    load.settle(since=over, within=5 + BUSY_SECONDS, alike=alike, may_break=bool(refused), refusal=429)
    assert (
        installation.server.request("GET", f"{PROCESSES}/{ID['ship']}")[1]["elements"][0]["attributes"].get("scope")
        is None
    )


def test_readers_that_read_slowly_or_never(installation: Installation, long_list: int) -> None:
    """The number of streamed lists is limited, so that connections are left for all other requests."""
    start = head("GET", LIST)
    with Load(installation, "not reading") as load, contextlib.ExitStack() as slow:
        clients = [slow.enter_context(open_socket(installation)) for _ in range(MANY)]
        answers = []
        # One after the other: all at once would be so much work that other clients wait for it, not for the readers.
        for each in clients:
            each.sendall(start)
            answers.append(each.recv(12))
        began, before = time.monotonic(), len(load.answers)
        for _ in range(3):
            for each in clients[::2]:
                # Some may be disconnected already.
                with contextlib.suppress(OSError):
                    each.recv(1)
            load.run_for(1)
        load.run_until(lambda: go_on(load, began, before))
        over = time.monotonic()
        assert load.slowest(began) < PATIENCE + BUSY_SECONDS
        assert load.ready_between(began, over).keys() == {200}
        # Readers that stall lose their places to others although they are still connected.
        wait_for(lambda: installation.server.request("GET", LIST)[0] == 200, 20, "every place is still taken")
    statuses = [each[9:12] for each in answers]
    # The storage had its places until the stalled readers were disconnected; one is left for other storages.
    assert statuses.count(b"200") >= (POOL // 2 - 1) * WORKERS
    assert b"429" in statuses
    assert set(statuses) <= {b"200", b"429"}
    assert not [each for each in load.answers if each.is_refusal]
    load.settle(since=over, within=5 + BUSY_SECONDS, alike=f"{MANY} clients that read slowly, or never")
    status, whole = installation.server.request("GET", LIST)
    assert (status, whole["count"], len(whole["elements"])) == (200, long_list, long_list)


def test_a_reader_that_trickles_is_disconnected(installation: Installation, long_list: int) -> None:
    """By the timeout of the kernel or by the minimum rate, whichever comes first; `test_unread` tests them apart."""
    timeout = int(installation.server.environ["REPOSITORY_STREAM_TIMEOUT"])
    with open_socket(installation) as slow:
        slow.sendall(head("GET", LIST))
        started, taken = time.monotonic(), 0
        with contextlib.suppress(ConnectionError):
            while piece := slow.recv(700):
                taken += len(piece)
                assert time.monotonic() - started < 4 * timeout, "the slow reader is still connected"
                time.sleep(0.1)
    assert time.monotonic() - started > timeout / 2
    # What the buffers of the kernel had taken before; the whole list is far longer.
    assert taken < 1_000_000
    with open_socket(installation) as quick:
        quick.sendall(head("GET", LIST, "Connection: close"))
        whole = 0
        while piece := quick.recv(1 << 20):
            whole += len(piece)
    assert whole > 2_000_000
    installation.check_nothing_is_stuck()
