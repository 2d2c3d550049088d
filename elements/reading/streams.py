"""Lists that are written while the client reads. Each uses a connection for that long, so their number is limited.

A client that stops reading loses its list, and a client that finds all places taken is asked to retry: one slow reader
must not block others or other tenants.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext

from django.db import connection

from repository_site.core.fairness.admission import gate, stream_places
from repository_site.core.fairness.gate import Ticket


class Stream:
    """Takes a place and makes the first piece at once, so that a refusal is an ordinary response.

    Further pieces are made in the transaction of the request (D216); each batch waits for its turn at the gate, as a
    request does. The end of the stream ends the transaction and releases the place. A generator that was never started
    would not run its cleanup; this class does.
    """

    _is_open = False
    _first: bytes | None = None

    def __init__(self, pieces: Generator[bytes, None, None] | Iterator[bytes], ticket: Ticket) -> None:
        self._who, self._is_accepted = ticket.who, ticket.is_accepted
        stream_places.take(self._who)
        self._pieces = pieces
        self.scope = ExitStack()
        self.database: Callable[[], AbstractContextManager[None]] = nullcontext
        self._is_open = True
        try:
            # The request has a place at the gate.
            self._first = next(self._pieces, None)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            with gate.batch(*self._who, self._is_accepted), self.database():
                return next(self._pieces)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            with self.database(), ExitStack() as ends:
                ends.callback(stream_places.give_back, self._who)
                # A rollback: it only reads, and its transaction may be broken.
                ends.callback(self.scope.__exit__, GeneratorExit, GeneratorExit(), None)
                if isinstance(self._pieces, Generator):
                    ends.callback(self._pieces.close)

    def __del__(self) -> None:
        """Give the place back in a thread: the garbage collector may run while this one has the lock of the gate."""
        if self._is_open:
            self._is_open = False
            self._pieces, self.scope = iter(()), ExitStack()
            # It takes no lock itself, unlike `threading.Thread`.
            _thread.start_new_thread(stream_places.give_back, (self._who,))


def limit_stream(idle: int, statement: int) -> None:
    """Make the database end the transaction of a client that stops reading for so many seconds, and cancel statements
    that take longer than `statement` seconds: the next piece can no longer be refused."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', %s, true),"
            " set_config('statement_timeout', %s, true)",
            [f"{idle}s", f"{statement}s"],
        )
