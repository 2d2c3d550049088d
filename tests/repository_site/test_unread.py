"""The kernel closes connections whose client does not read."""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from repository_site.operations import unread
from repository_site.operations.unread import SlowReaders, close_unread_connections, limit_unread
from tests.server_process import free_port


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def limit_of(found: socket.socket) -> int:
    return found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)


def connect(listening: socket.socket) -> tuple[socket.socket, socket.socket]:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    client.connect(listening.getsockname())
    return client, listening.accept()[0]


def test_all_sockets_of_the_port_and_later_connections_get_the_timeout(listening: socket.socket) -> None:
    port = listening.getsockname()[1]
    client, accepted = connect(listening)
    with client, accepted, socket.create_server(("127.0.0.1", 0)) as other:
        assert limit_unread(port, 7)
        later, taken_over = connect(listening)
        with later, taken_over:
            assert [limit_of(each) for each in (listening, accepted, taken_over)] == [7_000] * 3
            assert [limit_of(each) for each in (client, later, other)] == [0] * 3
        # The originals are still open.
        client.sendall(b"x")
        assert accepted.recv(1) == b"x"


@pytest.mark.long
def test_a_client_that_never_reads_is_disconnected(listening: socket.socket) -> None:
    limit_unread(listening.getsockname()[1], 1)
    client, accepted = connect(listening)
    with client, accepted:
        accepted.settimeout(20)
        with pytest.raises(TimeoutError) as problem:
            while True:
                accepted.sendall(b"x" * 100_000)
        # By the kernel, not by the timeout of the line above.
        assert problem.value.errno == errno.ETIMEDOUT


@pytest.mark.long
def test_a_client_that_reads_slowly_stays_connected(listening: socket.socket) -> None:
    limit_unread(listening.getsockname()[1], 1)
    client, accepted = connect(listening)
    with client, accepted:
        end, taken = time.monotonic() + 2.5, 0
        sending = threading.Thread(target=accepted.sendall, args=(b"x" * 20_000_000,), daemon=True)
        sending.start()
        while time.monotonic() < end:
            taken += len(client.recv(65_536))
            time.sleep(0.05)
        while taken < 20_000_000:
            taken += len(client.recv(65_536))
        sending.join(60)
        assert not sending.is_alive()


def test_a_client_that_reads_less_than_the_rate_is_disconnected(listening: socket.socket) -> None:
    """It accepts a little now and then, so the timeout of the kernel never applies."""
    readers = SlowReaders(listening.getsockname()[1], 0.3, 50_000)
    pairs = [connect(listening) for _ in range(3)]
    (slow, to_slow), (fast, to_fast), (idle, to_idle) = pairs
    for sender in (to_slow, to_fast):
        threading.Thread(target=ignore_errors, args=(sender.sendall, b"x" * 50_000_000), daemon=True).start()
    closed, end = 0, time.monotonic() + 20
    while not closed:
        slow.recv(1)
        for _ in range(10):
            fast.recv(65_536)
        closed = readers.close_slow()
        assert time.monotonic() < end
        time.sleep(0.02)
    assert closed == 1
    with pytest.raises(OSError):
        to_slow.sendall(b"x")
    to_idle.sendall(b"x")
    assert (idle.recv(1), len(fast.recv(1))) == (b"x", 1)
    for each in (*pairs[0], *pairs[1], *pairs[2]):
        each.close()


def test_a_period_begins_again_with_each_new_response(listening: socket.socket) -> None:
    readers = SlowReaders(listening.getsockname()[1], 0.0, 10**9)
    client, accepted = connect(listening)
    with client, accepted:
        threading.Thread(target=ignore_errors, args=(accepted.sendall, b"x" * 3_000_000), daemon=True).start()
        assert readers._since == {}
        readers.seconds = 3600
        end = time.monotonic() + 60
        while not readers._since:
            assert (readers.close_slow(), time.monotonic() < end) == (0, True)
        left = 3_000_000
        while left:
            left -= len(client.recv(65_536))
        end = time.monotonic() + 60
        while readers._since:
            assert readers.close_slow() == 0
            assert time.monotonic() < end


def ignore_errors(work: Callable[[bytes], None], content: bytes) -> None:
    with contextlib.suppress(OSError):
        work(content)


def test_the_server_listens_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "BREATH", 0.001)
    port = free_port()
    close_unread_connections(port, 9, 1)
    time.sleep(0.02)
    with socket.create_server(("127.0.0.1", port)) as made:
        end = time.monotonic() + 60
        while limit_of(made) != 9_000:
            assert time.monotonic() < end
            time.sleep(0.001)


def test_other_systems_than_linux_have_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "OPEN_FILES", unread.OPEN_FILES / "nowhere")
    monkeypatch.setattr(unread, "_wait_and_limit", None)
    before = threading.active_count()
    close_unread_connections(1, 7, 1)
    assert threading.active_count() == before
