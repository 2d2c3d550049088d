"""Limits for clients that do not read their response, or read it slowly (D166, D199).

The server has no such limits: its thread would wait, and occupy a database connection and a place for whole lists. The
kernel has a timeout for clients that read nothing, and knows how much each client has read.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# The open files of this process. Only Linux has this folder; other systems have no timeout.
OPEN_FILES = Path("/proc/self/fd")
# Seconds to wait for the listening socket, which the server opens after it has loaded the service.
PATIENCE, BREATH = 60.0, 0.05
# In milliseconds.
LONGEST = 2**31 - 1
# The field tcpi_bytes_acked of the kernel's struct tcp_info.
BYTES_ACKNOWLEDGED = struct.Struct("=120xQ")
# Each client is looked at several times within its timeout.
LOOKS = 4


def close_unread_connections(port: int, seconds: int, rate: int) -> None:
    """Close connections to this port whose client has read nothing for this long, or fewer bytes a second."""
    if OPEN_FILES.exists() and hasattr(socket, "TCP_USER_TIMEOUT"):
        threading.Thread(target=_wait_and_limit, args=(port, seconds, rate), daemon=True).start()


def _wait_and_limit(port: int, seconds: int, rate: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not limit_unread(port, seconds):
        time.sleep(BREATH)
    # Again, for connections that were made before the first time and accepted after it.
    time.sleep(1)
    limit_unread(port, seconds)
    readers = SlowReaders(port, seconds, rate)
    while True:
        time.sleep(seconds / LOOKS)
        readers.close_slow()


class SlowReaders:
    """Watches how fast clients read: each must take `rate` bytes a second in any period of `seconds`.

    A client that has nothing to read is not slow.
    """

    def __init__(self, port: int, seconds: float, rate: int) -> None:
        self.port, self.seconds, self.rate = port, seconds, rate
        self._since: dict[int, tuple[float, int]] = {}
        """When a period began, and how many bytes the client had read by then, for each socket."""

    def close_slow(self) -> int:
        """Disconnect slow clients, and return how many."""
        now, closed, seen = time.monotonic(), 0, {}
        for each in _sockets_at(self.port):
            with each, suppress(OSError):
                if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) or not _has_unread(each):
                    continue
                number, taken = os.fstat(each.fileno()).st_ino, _bytes_read(each)
                began, before = self._since.get(number, (now, taken))
                if now - began >= self.seconds:
                    if taken - before < self.rate * (now - began):
                        each.shutdown(socket.SHUT_RDWR)
                        closed += 1
                    began, before = now, taken
                seen[number] = (began, before)
        self._since = seen
        return closed


def _has_unread(connection: socket.socket) -> bool:
    """Return whether the kernel has bytes that the client has not taken."""
    return bool(struct.unpack("=i", fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)))[0])


def _bytes_read(connection: socket.socket) -> int:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTES_ACKNOWLEDGED.size)
    taken: int = BYTES_ACKNOWLEDGED.unpack(info)[0]
    return taken


def limit_unread(port: int, seconds: int) -> bool:
    """Set the timeout on all sockets of the port, and return whether the listening socket was among them.

    New connections inherit it from the listening socket.
    """
    is_limited = False
    for each in _sockets_at(port):
        with each:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, min(seconds * 1000, LONGEST))
            is_limited |= bool(each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    return is_limited


def _sockets_at(port: int) -> Iterator[socket.socket]:
    """Yield copies of the sockets; closing a copy does not close the original."""
    for each in OPEN_FILES.iterdir():
        # Many files are not sockets, and some are closed meanwhile.
        with suppress(OSError):
            if not str(each.readlink()).startswith("socket:"):
                continue
            copy = os.dup(int(each.name))
            try:
                found = socket.socket(fileno=copy)
            except OSError:
                os.close(copy)
                raise
            is_tcp = found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM
            if is_tcp and found.getsockname()[1] == port:
                yield found
            else:
                found.close()
