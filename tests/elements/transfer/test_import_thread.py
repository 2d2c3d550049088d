"""Thread that reads the lines of an import."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from elements.transfer.importing import _one_ahead

LONG = 10  # seconds


def test_the_thread_ends_when_the_import_stops() -> None:
    before = {*threading.enumerate()}
    made = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        yield 2
        made.set()
        yield 3

    found = _one_ahead(items())
    assert next(found) == 1
    assert made.wait(LONG)
    (thread,) = {*threading.enumerate()} - before
    found.close()  # type: ignore[attr-defined]  # a generator
    thread.join(LONG)
    assert not thread.is_alive()
