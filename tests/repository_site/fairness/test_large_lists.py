"""Large lists are written one at a time, and storages take turns (D301)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from elements.reading.lists import batches
from repository_site.core.fairness.gate import Ticket
from repository_site.core.fairness.large_lists import LargeLists, Turns
from repository_site.core.problems import TooManyRequests


class Writers:
    """Requests in threads of their own, each of which writes one large list."""

    def __init__(self, patience: float = 5) -> None:
        self.turns = Turns(patience)
        self.lists = LargeLists(self.turns)
        self.events: list[str] = []
        self.threads: list[threading.Thread] = []

    def begin(self, storage: str, during: Callable[[], object] = lambda: None, only_reads: bool = True) -> None:
        """Let a request write, and wait until it is done or waits for its turn."""

        def run() -> None:
            with self.lists.request(Ticket((storage, 1), only_reads=only_reads)):
                try:
                    self.lists.write(write)
                except TooManyRequests as refusal:
                    self.events.append(f"{storage} refused, {refusal.retry_after}")

        def write() -> None:
            self.lists.claim()
            self.events.append(storage)
            during()

        before = len(self.events), self.waiting
        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()
        end = time.monotonic() + 60
        while (len(self.events), self.waiting) == before:
            assert time.monotonic() < end
            time.sleep(0.001)

    @property
    def waiting(self) -> int:
        return sum(len(each) for each in self.turns._lines.values())

    def join(self) -> list[str]:
        for each in self.threads:
            each.join(60)
        return self.events


def test_storages_take_turns_and_one_writes_at_a_time() -> None:
    writers, may_end = Writers(), threading.Event()
    writers.begin("a", may_end.wait)
    for storage in ("a", "a", "b", "c", "b"):
        writers.begin(storage)
    assert (writers.events, writers.waiting) == (["a"], 5)
    may_end.set()
    assert writers.join() == ["a", "a", "b", "c", "a", "b"]
    # The turn is free again.
    writers.begin("c")
    assert writers.join()[-1] == "c"


def test_a_request_that_waits_too_long_is_refused_and_leaves_the_line() -> None:
    writers, may_end = Writers(patience=0.05), threading.Event()
    writers.begin("a", may_end.wait)
    writers.begin("b")
    writers.threads[-1].join(60)
    assert (writers.events, writers.turns._lines) == (["a", "b refused, 2"], {})
    may_end.set()
    writers.join()
    assert writers.turns.take_now()


def test_what_was_written_is_given_up_before_waiting() -> None:
    writers, may_end, calls = Writers(), threading.Event(), list[int]()
    writers.begin("a", may_end.wait)

    def write() -> int:
        calls.append(writers.waiting)
        writers.lists.claim()
        return len(calls)

    def end_when_another_waits() -> None:
        while not writers.waiting:
            time.sleep(0.001)
        may_end.set()

    threading.Thread(target=end_when_another_waits).start()
    with writers.lists.request(Ticket(("b", 1))):
        assert writers.lists.write(write) == 2
    assert calls == [0, 0]
    writers.join()


def test_changes_and_programs_without_a_request_do_not_wait() -> None:
    writers, may_end = Writers(), threading.Event()
    writers.begin("a", may_end.wait)
    writers.begin("b", only_reads=False)
    assert writers.events == ["a", "b"]
    writers.lists.claim()
    may_end.set()
    writers.join()


def test_an_error_ends_the_turn_before_the_request_ends() -> None:
    """A list that is too large is streamed next, in the same request."""
    writers = Writers()

    def write() -> None:
        writers.lists.claim()
        raise KeyError

    with writers.lists.request(Ticket(("a", 1))):
        with pytest.raises(KeyError):
            writers.lists.write(write)
        assert writers.turns.take_now()


def test_a_list_claims_the_turn_when_it_becomes_large(monkeypatch: pytest.MonkeyPatch) -> None:
    writers, seen = Writers(), list[bool]()
    monkeypatch.setattr(batches, "large_lists", writers.lists)
    with writers.lists.request(Ticket(("a", 1))):
        for size in (1, 3, 5):
            text = {"name": "x" * (size * 1024 * 1024 - 100)}
            assert len(batches.whole_list("values", lambda text=text: iter([text]))) > size * 1024 * 1024 - 100  # type: ignore[misc]
            seen.append(writers.lists.has_turn)
    assert seen == [False, False, True]
    assert not writers.lists.has_turn
