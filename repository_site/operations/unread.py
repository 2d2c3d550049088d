"""Clients that do not read what is sent to them (D166).

The thread of such an answer waits in the server, which has no limit for that, and holds what the answer has taken: a
place for whole lists, and its connection to the database. The kernel does have a limit.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# Where the kernel lists what a process has open; elsewhere than on Linux nobody is cut off.
OPEN_FILES = Path("/proc/self/fd")
# Seconds to look for the socket that the server listens at, which it opens after it has loaded the service.
PATIENCE, BREATH = 60.0, 0.05
# Milliseconds.
LONGEST = 2**31 - 1


def cut_off_who_does_not_read(port: int, seconds: int) -> None:
    """Let the kernel close connections to this port whose client has taken nothing for so long."""
    if OPEN_FILES.exists() and hasattr(socket, "TCP_USER_TIMEOUT"):
        threading.Thread(target=_wait_and_limit, args=(port, seconds), daemon=True).start()


def _wait_and_limit(port: int, seconds: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not limit_unread(port, seconds):
        time.sleep(BREATH)
    # Once more, for those who were connected before the first time and accepted after it.
    time.sleep(1)
    limit_unread(port, seconds)


def limit_unread(port: int, seconds: int) -> bool:
    """Of all sockets of this process at that port; whoever is connected from now on takes it over from the one that
    listens. Answers whether that was there."""
    is_limited = False
    for each in _sockets_at(port):
        with each:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, min(seconds * 1000, LONGEST))
            is_limited |= bool(each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    return is_limited


def _sockets_at(port: int) -> Iterator[socket.socket]:
    """Copies of them: to close one leaves the server its own."""
    for each in OPEN_FILES.iterdir():
        # Many are no sockets, and some are closed meanwhile.
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
