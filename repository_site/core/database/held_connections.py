"""Connections that a stream keeps while its client reads (D224).

The transaction of a stream only reads. Whatever else the thread has to do with the database meanwhile, such as saving
the session of a visitor, needs another connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper


def hold_connection() -> Callable[[], AbstractContextManager[None]]:
    """Take the connection with its transaction away from this thread, and return how to use it, in any thread."""
    held = connections[DEFAULT_DB_ALIAS]
    if len(held.atomic_blocks) > 1:
        # The transaction belongs to somebody else, such as a test.
        return nullcontext
    held.inc_thread_sharing()
    for alias in [each for each in connections if connections[each] is held]:
        # That of a replica has two names now; the next read of the thread must not continue this transaction.
        del connections[alias]
    return partial(as_default, held)


@contextmanager
def as_default(held: BaseDatabaseWrapper) -> Iterator[None]:
    """Exchange the default connection of this thread. Give the other one back unless its transaction is still open."""
    usual = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = held
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = usual
        if not held.in_atomic_block:
            held.close()
