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


class StreamTransaction:
    """Transaction, connection and place of a stream, which all end together, in any thread."""

    def __init__(self, pieces: Iterator[bytes], ticket: Ticket) -> None:
        self.pieces, self.ticket = pieces, ticket
        self.scope = ExitStack()
        self.database: Callable[[], AbstractContextManager[None]] = nullcontext

    def end(self) -> None:
        _open.discard(self)
        with ExitStack() as ends:
            ends.callback(stream_places.give_back, self.ticket.who, self.ticket.is_accepted)
            ends.enter_context(self.database())
            # A rollback: it only reads, and its transaction may be broken.
            ends.callback(self.scope.__exit__, GeneratorExit, GeneratorExit(), None)
            if isinstance(self.pieces, Generator):
                ends.callback(self.pieces.close)


# Keeps the scopes of open streams: the garbage collector would end them in a thread with another connection.
_open: set[StreamTransaction] = set()


class Stream:
    """Takes a place and makes the first piece at once, so that a refusal is an ordinary response.

    Further pieces are made in the transaction of the request (D216); each batch waits for its turn at the gate, as a
    request does. The end of the stream ends the transaction and releases the place. A generator that was never started
    would not run its cleanup; this class does.
    """

    _is_open = False
    _first: bytes | None = None

    def __init__(self, pieces: Iterator[bytes], ticket: Ticket) -> None:
        stream_places.take(ticket.who, ticket.is_accepted)
        self.held = StreamTransaction(pieces, ticket)
        self._is_open = True
        _open.add(self.held)
        try:
            # The request has a place at the gate.
            self._first = next(pieces, None)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        held = self.held
        try:
            with gate.batch(*held.ticket.who, held.ticket.is_accepted), held.database():
                return next(held.pieces)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.held.end()

    def __del__(self) -> None:
        """End it in a thread: the garbage collector may run while this one has the lock of the gate, or a transaction
        of its own."""
        if self._is_open:
            self._is_open = False
            # It takes no lock itself, unlike `threading.Thread`.
            _thread.start_new_thread(self.held.end, ())


def limit_stream(idle: int, statement: int) -> None:
    """Make the database end the transaction of a client that stops reading for so many seconds, and cancel statements
    that take longer than `statement` seconds: the next piece can no longer be refused."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', %s, true),"
            " set_config('statement_timeout', %s, true)",
            [f"{idle}s", f"{statement}s"],
        )
