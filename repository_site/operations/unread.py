"""Timeout for clients that do not read their response (D166).

The server has no such timeout: its thread would wait, and occupy a database connection and a slot for whole lists.
The kernel has one.
"""

from __future__ import annotations

import os
import socket
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


def close_unread_connections(port: int, seconds: int) -> None:
    """Let the kernel close connections to this port whose client has read nothing for this long."""
    if OPEN_FILES.exists() and hasattr(socket, "TCP_USER_TIMEOUT"):
        threading.Thread(target=_wait_and_limit, args=(port, seconds), daemon=True).start()


def _wait_and_limit(port: int, seconds: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not limit_unread(port, seconds):
        time.sleep(BREATH)
    # Again, for connections that were made before the first time and accepted after it.
    time.sleep(1)
    limit_unread(port, seconds)


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
