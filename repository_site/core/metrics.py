"""Where worker processes leave their numbers, so that whichever of them is asked can answer for all (D159).

A file in memory, made before the workers are forked. Each worker has a part of it to which nobody else writes, so that
adding needs no lock between processes. The part of a worker that has died goes to the next one: what was counted stays
counted, since counters must never fall, and what was true of the dead one only (requests in flight, connections) is
not shown any more.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
import threading
import time
import weakref
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import structlog

Label = tuple[str, ...]
"""What a row counts: the name of a metric, then the values of its labels."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METRICS = ("request", "database", "database_error")
"""The names there are; each has a row in reserve for what finds no other."""
GAUGES = ("in_flight", "pool_open", "pool_idle", "pool_most", "pool_waiting")

NUMBER = 8
# A row: how many fell into each bucket, how many were longer than all, the sum; then its label as text.
ROW_NUMBERS = len(BUCKETS) + 2
LABEL_BYTES = 400
ROW_BYTES = ROW_NUMBERS * NUMBER + LABEL_BYTES
# The head of a part: process, when it was started, rows in use, gauges.
PID, STARTED, USED, FIRST_GAUGE = range(4)
HEAD_BYTES = (FIRST_GAUGE + len(GAUGES)) * NUMBER
# The head of all: how many workers have been started.
STARTS = 0
# Bounded, whatever labels come; memory is taken only for rows in use.
MOST_ROWS = 20_000
SEPARATOR = "\x1f"
CUT = "…"
log = structlog.get_logger("metrics")


class Row(NamedTuple):
    label: Label
    counts: list[float]
    """By bucket, each alone; the last one for what was longer than all."""
    sum: float


class Reading(NamedTuple):
    """The numbers of all workers together; gauges of those that live."""

    rows: dict[Label, Row]
    gauges: dict[str, float]
    workers: list[int]
    starts: int


class Board:
    def __init__(self, parts: int, rows: int = MOST_ROWS) -> None:
        self.parts, self.rows = parts, rows
        self.free_rows = rows - len(METRICS)
        self._part_bytes = HEAD_BYTES + rows * ROW_BYTES
        size = NUMBER + parts * self._part_bytes
        self._file = _file_in_memory()
        weakref.finalize(self, os.close, self._file)
        os.truncate(self._file, size)
        self._memory = mmap.mmap(self._file, size)
        self._numbers = memoryview(self._memory).cast("d")

    def claim(self) -> Part:
        """A part for this process. The lock belongs to the process: when that is killed, the kernel takes it back."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            for number in range(self.parts):
                part = Part(self, number)
                if not part.is_alive():
                    part.begin()
                    part.start = int(self._numbers[STARTS])
                    self._numbers[STARTS] += 1
                    return part
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
        log.warning("no part of the metrics is free; this process is not counted", parts=self.parts)
        return Board(1, 500).claim()

    def read(self) -> Reading:
        rows: dict[Label, Row] = {}
        gauges = dict.fromkeys(GAUGES, 0.0)
        workers = []
        for number in range(self.parts):
            part = Part(self, number)
            for row in part.read():
                known = rows.get(row.label)
                rows[row.label] = row if known is None else _together(known, row)
            if part.is_alive():
                workers.append(part.pid)
                for name, value in part.gauges().items():
                    gauges[name] += value
        return Reading(rows, gauges, workers, int(self._numbers[STARTS]))


def _file_in_memory() -> int:
    """Linux has such; elsewhere a file without a name does."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("metrics")
    descriptor, name = tempfile.mkstemp()
    Path(name).unlink()
    return descriptor


def _together(one: Row, other: Row) -> Row:
    return Row(one.label, [a + b for a, b in zip(one.counts, other.counts, strict=True)], one.sum + other.sum)


class Part:
    """The part of one process; its threads take turns."""

    def __init__(self, board: Board, number: int) -> None:
        self.board, self.start = board, 0
        self._at = NUMBER + number * board._part_bytes
        self._head = self._at // NUMBER
        self._numbers, self._memory = board._numbers, board._memory
        self._lock = threading.Lock()
        self._places: dict[Label, int] = {}
        self._in_flight = self._head + FIRST_GAUGE + GAUGES.index("in_flight")

    def begin(self) -> None:
        """What somebody before has counted is gone on with."""
        self._places = {label: self._place(number) for number, label in self._shown()}
        for gauge in range(len(GAUGES)):
            self._numbers[self._head + FIRST_GAUGE + gauge] = 0
        self._numbers[self._head + STARTED] = psutil.Process().create_time()
        self._numbers[self._head + PID] = os.getpid()

    @property
    def pid(self) -> int:
        return int(self._numbers[self._head + PID])

    def is_alive(self) -> bool:
        """The time of its start tells a process from another one that has come to its number."""
        if self.pid == 0:
            return False
        try:
            process = psutil.Process(self.pid)
            started = self._numbers[self._head + STARTED]
            return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - started) < 0.5
        except psutil.Error:
            return False

    def observe(self, label: Label, seconds: float) -> None:
        self.observe_all([(label, seconds)])

    def observe_all(self, found: Iterable[tuple[Label, float]], ended: int = 0) -> None:
        """`ended` requests are no longer in flight. All at once: a request has some ten of these."""
        numbers, places = self._numbers, self._places
        with self._lock:
            for label, seconds in found:
                place = places.get(label) or self._new_place(label)
                numbers[place + bisect_left(BUCKETS, seconds)] += 1
                numbers[place + ROW_NUMBERS - 1] += seconds
            if ended:
                numbers[self._in_flight] -= ended

    def count(self, label: Label) -> None:
        self.observe(label, 0.0)

    def add(self, gauge: int, change: float) -> None:
        with self._lock:
            self._numbers[self._head + FIRST_GAUGE + gauge] += change

    def set(self, gauge: int, value: float) -> None:
        self._numbers[self._head + FIRST_GAUGE + gauge] = value

    def gauges(self) -> dict[str, float]:
        start = self._head + FIRST_GAUGE
        return dict(zip(GAUGES, self._numbers[start : start + len(GAUGES)].tolist(), strict=True))

    def read(self) -> Iterator[Row]:
        for number, label in self._shown():
            place = self._place(number)
            values: list[float] = [*map(float, self._numbers[place : place + ROW_NUMBERS])]
            yield Row(label, values[:-1], values[-1])

    def _shown(self) -> Iterator[tuple[int, Label]]:
        yield from ((number, self._label(number)) for number in range(int(self._numbers[self._head + USED])))
        reserve = ((number, self._label(number)) for number in range(self.board.free_rows, self.board.rows))
        yield from ((number, label) for number, label in reserve if label[0])

    def _place(self, number: int) -> int:
        return (self._at + HEAD_BYTES + number * ROW_BYTES) // NUMBER

    def _label(self, number: int) -> Label:
        at = self._place(number) * NUMBER + ROW_NUMBERS * NUMBER
        text = self._memory[at : at + LABEL_BYTES].rstrip(b"\0").decode(errors="replace")
        return tuple(text.split(SEPARATOR))

    def _new_place(self, label: Label) -> int:
        """A row is shown once it is in use, so its label is written first. When there are no more rows, all else of a
        metric is counted together, in the row that it has in reserve."""
        reserve = self.board.free_rows + METRICS.index(label[0])
        used = int(self._numbers[self._head + USED])
        is_full = used >= self.board.free_rows
        shown = _that_fits(label)
        if is_full and shown not in self._places:
            shown = (label[0], *("other" for _ in label[1:]))
        known = self._places.get(shown)
        if known is not None:
            return known
        place = self._place(reserve if is_full else used)
        at = place * NUMBER + ROW_NUMBERS * NUMBER
        self._memory[at : at + LABEL_BYTES] = SEPARATOR.join(shown).encode().ljust(LABEL_BYTES, b"\0")
        if not is_full:
            self._numbers[self._head + USED] = used + 1
        self._places[shown] = place
        return place


def _that_fits(label: Label) -> Label:
    """Each value is cut alone: the name of the metric and the order of the values stay, so that no row becomes one of
    something else. Those that are alike up to there are counted together."""
    if len(SEPARATOR.join(label).encode()) <= LABEL_BYTES:
        return label
    name, *values = label
    most = (LABEL_BYTES - len(name.encode())) // len(values) - len(SEPARATOR)
    return (name, *(_cut(value, most) for value in values))


def _cut(text: str, most: int) -> str:
    whole = text.encode()
    # What is left of a letter that the cut goes through is no letter.
    return text if len(whole) <= most else whole[: most - len(CUT.encode())].decode(errors="ignore") + CUT


_board: Board | None = None
_part: Part | None = None


def prepare(workers: int) -> None:
    """In the process from which workers are forked. More parts than workers: while one is replaced there are two."""
    global _board
    _board = Board(2 * workers + 2)


def begin() -> int:
    """In a worker, once: from now on it has a part of its own. How many workers were started before it."""
    global _board, _part
    if _board is None:
        _board = Board(1)
    _part = _board.claim()
    return _part.start


def own() -> Part:
    """The part of this process. Commands, which nobody asks for numbers, have a small one."""
    global _board, _part
    if _part is None:
        _board = Board(1, 500)
        _part = _board.claim()
    return _part


def everybody() -> Reading:
    return own().board.read()


class _Pending(threading.local):
    """Trips of this thread to the database that are not on the board yet."""

    def __init__(self) -> None:
        self.trips: list[tuple[Label, float]] = []


_pending = _Pending()
LOOK_UP, STATEMENT = ("database", "look_up"), ("database", "statement")
# Threads that answer no requests leave theirs when they have made so many.
MOST_PENDING = 50


def database_trip(kind: Label, started: float) -> None:
    """Kept until the request ends: taking turns for each would cost a request more than all else here."""
    trips = _pending.trips
    trips.append((kind, time.perf_counter() - started))
    if len(trips) > MOST_PENDING:
        own().observe_all(_taken())


def request_ended(part: Part, label: Label, seconds: float) -> None:
    part.observe_all([*_taken(), (label, seconds)], ended=1)


def _taken() -> list[tuple[Label, float]]:
    trips, _pending.trips = _pending.trips, []
    return trips


def database_error(problem: BaseException) -> None:
    own().count(("database_error", type(problem).__name__))
