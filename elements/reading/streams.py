"""Lists that are written while the client reads. Each uses a connection for that long, so their number is limited.

A client that stops reading loses its list, and a client that finds all places taken is asked to retry: one slow reader
must not block others or other tenants.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

from django.conf import settings
from django.db import connection

from repository_site.core.problems import TooManyRequests

# Half of a worker's connections; the others serve all other requests.
_places = threading.BoundedSemaphore(max(1, settings.POOL_SIZE // 2))
RETRY_AFTER = 5


class Stream:
    """Takes a place at once, so that a refusal is an ordinary response, and releases it when it is closed.

    A generator that was never started would not run its cleanup; this class does.
    """

    _is_open = False

    def __init__(self, pieces: Generator[bytes, None, None] | Iterator[bytes]) -> None:
        if not _places.acquire(blocking=False):
            raise TooManyRequests(
                "Too many whole lists are being read; read pages with $page, or retry later.", RETRY_AFTER
            )
        self._pieces = pieces
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._pieces)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            _places.release()
            if isinstance(self._pieces, Generator):
                self._pieces.close()

    def __del__(self) -> None:
        self.close()


def limit_idleness(seconds: int) -> None:
    """Make the database end the transaction of a client that stops reading for so long."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [f"{seconds}s"])
