"""Facts about all lines of an import, in a temporary file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator

import pytest

from elements.transfer.file_facts import FileFacts

LONG = 10  # seconds


def test_closing_waits_for_the_statement_of_another_thread() -> None:
    """SQLite would use memory that is already free, which ends the process."""
    facts = FileFacts()
    has_begun, may_end = threading.Event(), threading.Event()

    def rows() -> Iterator[tuple[str, int]]:
        has_begun.set()
        may_end.wait(LONG)
        yield "shape", 1

    writing = threading.Thread(target=facts.write, args=("INSERT INTO shape VALUES (?, ?)", rows()), daemon=True)
    closing = threading.Thread(target=facts.close, daemon=True)
    writing.start()
    assert has_begun.wait(LONG)
    closing.start()
    closing.join(0.2)
    is_waiting = closing.is_alive()
    may_end.set()
    for thread in (writing, closing):
        thread.join(LONG)
    assert is_waiting
    with pytest.raises(sqlite3.ProgrammingError):
        facts.count("shape")
