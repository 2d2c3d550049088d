"""Lists that are written while the client reads. Each uses a connection for that long, so their number is limited.

A client that stops reading loses its list, and a client that finds all places taken is asked to retry: one slow reader
must not block others or other tenants.
"""

from __future__ import annotations

import _thread
from collections.abc import Generator, Iterator

from django.db import connection

from repository_site.core.fairness.admission import gate, stream_places
from repository_site.core.fairness.gate import Ticket


class Stream:
    """Takes a place at once, so that a refusal is an ordinary response, and releases it when it is closed.

    Each batch waits for its turn at the gate, as a request does. A generator that was never started would not run its
    cleanup; this class does.
    """

    _is_open = False

    def __init__(self, pieces: Generator[bytes, None, None] | Iterator[bytes], ticket: Ticket) -> None:
        self._who = ticket.who
        stream_places.take(self._who)
        self._pieces = pieces
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            with gate.batch(*self._who):
                return next(self._pieces)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            try:
                if isinstance(self._pieces, Generator):
                    self._pieces.close()
            finally:
                stream_places.give_back(self._who)

    def __del__(self) -> None:
        """Give the place back in a thread: the garbage collector may run while this one has the lock of the gate."""
        if self._is_open:
            self._is_open = False
            self._pieces = iter(())
            # It takes no lock itself, unlike `threading.Thread`.
            _thread.start_new_thread(stream_places.give_back, (self._who,))


def limit_idleness(seconds: int) -> None:
    """Make the database end the transaction of a client that stops reading for so long."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [f"{seconds}s"])
