"""Facts about all lines of a transfer file, in a temporary file: an import of millions of elements needs as much memory
as one of thousands."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from elements.transfer.diagram_lines import TransferReference
from repository_site.core.problems import Busy

# Pages that SQLite keeps in memory, in KB. It writes others to a file that has no name, in the folder of TMPDIR.
MEMORY = 32_768
# References, and lines with one of them, that are collected before they are written: many lines share a reference.
MOST_REFERENCES = 20_000
MOST_LINES = 200_000
# Rows that are fetched together, under one lock.
ROWS_AT_ONCE = 1_000
SCHEMA = """
    CREATE TABLE element (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT, line INTEGER, creation TEXT,
        newest TEXT, major INTEGER, minor INTEGER, state TEXT, published TEXT, published_major INTEGER,
        published_minor INTEGER, published_state TEXT, open_version TEXT);
    CREATE TABLE version (id TEXT PRIMARY KEY, line INTEGER, element TEXT) WITHOUT ROWID;
    CREATE TABLE number (element TEXT, major INTEGER, minor INTEGER, PRIMARY KEY (element, major, minor)) WITHOUT ROWID;
    CREATE TABLE shape (id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID;
    CREATE TABLE lane (id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID;
    CREATE TABLE reference (context TEXT, owner TEXT, target TEXT, type TEXT, lines TEXT);
    CREATE TABLE child (line INTEGER, parent TEXT, version TEXT, position INTEGER, id TEXT, type TEXT);
    CREATE TABLE drawing (id TEXT, owner TEXT, position INTEGER, is_visible INTEGER);
    CREATE TABLE there (id TEXT PRIMARY KEY, type TEXT) WITHOUT ROWID;
    CREATE TABLE type (key TEXT PRIMARY KEY, is_versioned INTEGER, lives_in_diagrams INTEGER) WITHOUT ROWID;
    CREATE TABLE placed (id TEXT PRIMARY KEY, parent TEXT, position INTEGER) WITHOUT ROWID;
"""
FACTS = (
    "type, line, creation, newest, major, minor, state, published, published_major, published_minor, published_state,"
    " open_version"
)
ADD_ELEMENT = f"INSERT INTO element (id, {FACTS}) VALUES (?{', ?' * 12})"  # noqa: S608  constants
READ_ELEMENT = f"SELECT {FACTS} FROM element WHERE id = ?"  # noqa: S608  constants
UPDATE_ELEMENT = """UPDATE element SET newest = ?, major = ?, minor = ?, state = ?, published = ?, published_major = ?,
    published_minor = ?, published_state = ?, open_version = ? WHERE id = ?"""
ADD_VERSION = "INSERT OR IGNORE INTO version VALUES (?, ?, ?)"
ADD_NUMBER = "INSERT OR IGNORE INTO number VALUES (?, ?, ?)"


@dataclass(slots=True)
class ImportedElement:
    """Facts about an element of the file, in the order of its columns."""

    type: str
    line: int
    creation: str
    newest: str | None = None
    major: int = -1
    minor: int = -1
    """Number of the newest version."""
    state: str = ""
    """State of the newest version."""
    published: str | None = None
    published_major: int = 0
    published_minor: int = 0
    published_state: str = ""
    open_version: str | None = None
    parent: str | None = None
    position: int = 0


class FileFacts:
    """Tables of facts. A thread adds lines; another one reads when all are added.

    An import that stops closes them while its thread may still use them. The lock makes closing wait for the statement
    of the thread: otherwise SQLite uses freed memory, and the process crashes. Later statements raise ProgrammingError.
    """

    def __init__(self) -> None:
        # Reentrant, because rows that are written can come from rows that are read.
        self._lock = threading.RLock()
        # Without a name, the database is a temporary file, of which SQLite writes only what does not fit in memory.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._references: dict[tuple[str, str, TransferReference], list[int]] = {}
        self._lines = 0
        # It is never read again, so it needs neither a journal nor to reach the disk.
        self._database.executescript(
            f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{MEMORY}; {SCHEMA} BEGIN"
        )

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def execute(self, sql: str, *values: Any) -> int:
        """Execute a statement and return the number of rows that it has changed."""
        with self._lock:
            return self._database.execute(sql, values).rowcount

    def write(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._lock:
            self._database.executemany(sql, rows)

    def rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Return rows while SQLite finds them."""
        with self._lock:
            found = self._database.execute(sql, values)
            rows = found.fetchmany(ROWS_AT_ONCE)
        while rows:
            yield from rows
            with self._lock:
                rows = found.fetchmany(ROWS_AT_ONCE)

    def row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        with self._lock:
            found: tuple[Any, ...] | None = self._database.execute(sql, values).fetchone()
            return found

    def count(self, table: str) -> int:
        return int(next(self.rows(f"SELECT count(*) FROM {table}"))[0])  # noqa: S608  a constant

    def add_version(self, id: str, element: str, line: int) -> bool:
        """Add a version, and return whether no line before has it."""
        return bool(self.execute(ADD_VERSION, id, line, element))

    def element(self, id: str) -> ImportedElement | None:
        found = self.row(READ_ELEMENT, id)
        return ImportedElement(*found) if found else None

    def keep_element(self, id: str, known: ImportedElement, *, is_new: bool) -> None:
        facts = (
            known.newest, known.major, known.minor, known.state, known.published, known.published_major,
            known.published_minor, known.published_state, known.open_version,
        )  # fmt: skip
        if is_new:
            self.execute(ADD_ELEMENT, id, known.type, known.line, known.creation, *facts)
        else:
            self.execute(UPDATE_ELEMENT, *facts, id)

    def add_number(self, element: str, major: int, minor: int) -> bool:
        """Add the number of a version, and return whether it is new for the element."""
        return bool(self.execute(ADD_NUMBER, element, major, minor))

    def add_once(self, table: str, id: str, line: int) -> bool:
        """Add the line of a shape or a lane, and return whether no line before has it."""
        if self.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", id, line):  # noqa: S608  a constant
            return True
        self.execute(f"UPDATE {table} SET line = ? WHERE id = ?", line, id)  # noqa: S608  a constant
        return False

    def elements(self) -> Iterator[tuple[str, ImportedElement]]:
        """Return all elements in the order of the file, with their places in the tree."""
        sql = f"""SELECT e.id, {FACTS}, p.parent, coalesce(p.position, 0)
            FROM element e LEFT JOIN placed p ON p.id = e.id ORDER BY e.place"""  # noqa: S608  constants
        for id, *facts in self.rows(sql):
            yield id, ImportedElement(*facts)

    def add_reference(self, context: str, owner: str, target: TransferReference, line: int) -> None:
        self._references.setdefault((context, owner, target), []).append(line)
        self._lines += 1
        if self._lines >= MOST_LINES or len(self._references) >= MOST_REFERENCES:
            self.write_references()

    def write_references(self) -> None:
        """Write the references that are still collected. A reference can have several rows."""
        self.write(
            "INSERT INTO reference VALUES (?, ?, ?, ?, ?)",
            (
                (context, owner, target.id, target.type, " ".join(map(str, lines)))
                for (context, owner, target), lines in self._references.items()
            ),
        )
        self._references, self._lines = {}, 0


@contextmanager
def explained() -> Iterator[None]:
    """Tell what to do if the temporary file cannot be written."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        advice = "Free space in the folder for temporary files, or set TMPDIR to another one."
        raise Busy(f"The temporary file of the import cannot be written: {problem}. {advice}", 30) from problem
