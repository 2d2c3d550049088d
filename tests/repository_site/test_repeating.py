"""A transaction is repeated if its failure is over when it runs again: shards that move, deadlocks, changed tables
(D308)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import NotSupportedError, OperationalError, ProgrammingError, connection
from psycopg.errors import DeadlockDetected, InternalError_, LockNotAvailable, QueryCanceled, UndefinedTable
from psycopg.errors import SerializationFailure as Serialization
from pytest_django import Settings

from repository_site.core.database import repeating
from repository_site.core.database.base import DatabaseWrapper
from repository_site.core.database.commits import ShardMoved
from repository_site.core.database.repeating import ATTEMPTS, repeated

pytestmark = pytest.mark.django_db
SPLIT = "shard for the given value does not exist"


def caused_by(cause: Exception) -> OperationalError:
    found = OperationalError(str(cause))
    found.__cause__ = cause
    return found


class Attempts:
    """Work that fails a number of times, and the places where nothing is done meanwhile."""

    def __init__(self, problem: Exception, failures: int) -> None:
        self.problem, self.failures = problem, failures
        self.made = self.pauses = 0

    def work(self) -> str:
        self.made += 1
        if self.made <= self.failures:
            raise self.problem
        return "done"

    @contextmanager
    def away(self) -> Iterator[None]:
        self.pauses += 1
        yield

    def run(self) -> str:
        return repeated(self.work, self.away)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let time pass in pauses only."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(repeating, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: now[0]))
    return now


@pytest.mark.parametrize("problem", [ShardMoved("moved"), caused_by(DeadlockDetected())])
def test_a_moved_shard_and_a_deadlock_are_repeated_a_few_times(problem: Exception) -> None:
    attempts = Attempts(problem, ATTEMPTS - 1)
    assert (attempts.run(), attempts.made, attempts.pauses) == ("done", ATTEMPTS, ATTEMPTS - 1)
    attempts = Attempts(problem, ATTEMPTS)
    with pytest.raises(type(problem)):
        attempts.run()
    assert attempts.made == ATTEMPTS


@pytest.mark.parametrize("problem", [OperationalError("lost"), caused_by(QueryCanceled()), ValueError("wrong")])
def test_other_problems_are_not_repeated(problem: Exception) -> None:
    attempts = Attempts(problem, 1)
    with pytest.raises(type(problem)):
        attempts.run()
    assert (attempts.made, attempts.pauses) == (1, 0)


def test_a_write_waits_for_the_end_of_a_move_as_long_as_a_statement_may_take(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, clock: list[float]
) -> None:
    settings.STATEMENT_TIMEOUT = 7
    monkeypatch.setattr(DatabaseWrapper, "is_distributed", True)
    attempts = Attempts(caused_by(LockNotAvailable()), 30)
    assert (attempts.run(), attempts.made) == ("done", 31)
    clock[0] = 0.0
    attempts = Attempts(caused_by(LockNotAvailable()), 10**6)
    with pytest.raises(OperationalError):
        attempts.run()
    assert 7 <= clock[0] < 7.2


@pytest.mark.parametrize(
    ("problem", "most"),
    [(ShardMoved("moved"), ATTEMPTS - 1), (caused_by(DeadlockDetected()), ATTEMPTS - 1), (NotSupportedError("no"), 0)],
)
def test_waiting_does_not_use_up_the_attempts(monkeypatch: pytest.MonkeyPatch, problem: Exception, most: int) -> None:
    """The last attempt after a wait is the one that meets the moved shard. (Inside the transaction of this test, plans
    cannot be forgotten.)"""
    monkeypatch.setattr(DatabaseWrapper, "is_distributed", True)
    waits = [caused_by(LockNotAvailable())] * 2 * ATTEMPTS
    problems: list[Exception] = [*waits, *[problem] * most]

    def work() -> str:
        if problems:
            raise problems.pop(0)
        return "done"

    assert repeated(work) == "done"
    problems += [*waits, *[problem] * (most + 1)]
    with pytest.raises(type(problem)):
        repeated(work)
    assert problems == []


def test_a_lock_of_one_server_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DatabaseWrapper, "is_distributed", False)
    attempts = Attempts(caused_by(LockNotAvailable()), 1)
    with pytest.raises(OperationalError):
        attempts.run()
    assert attempts.made == 1


@pytest.mark.django_db(transaction=True)
def test_a_changed_table_is_planned_again() -> None:
    attempts = Attempts(NotSupportedError("cached plan must not change result type"), ATTEMPTS - 1)
    assert (attempts.run(), attempts.made, attempts.pauses) == ("done", ATTEMPTS, 0)


def of_node(kind: type[Exception], context: str | None) -> Callable[[str], Exception]:
    diagnosis = SimpleNamespace(context=context)
    return type(kind.__name__, (kind,), {"diag": diagnosis})


@pytest.mark.parametrize(
    ("problem", "raised"),
    [
        (of_node(UndefinedTable, "while executing command on 10.0.0.2:5432")("relation does not exist"), ShardMoved),
        (of_node(UndefinedTable, None)("relation does not exist"), ProgrammingError),
        (InternalError_("the query contains a join that requires repartitioning"), ShardMoved),
        (InternalError_("could not find valid entry for shard 102008"), ShardMoved),
        (Serialization(SPLIT), ShardMoved),
        (Serialization("could not serialize access"), OperationalError),
    ],
)
def test_errors_of_a_move(problem: Any, raised: type[Exception]) -> None:
    connection.ensure_connection()
    with pytest.raises(raised) as found, connection.wrap_database_errors:
        raise problem
    assert type(found.value) is raised
