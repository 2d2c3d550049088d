"""Prepared statements, and several statements in one trip."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from time import perf_counter, sleep, thread_time
from typing import Any, cast

import psycopg
import pytest
from django.db import DatabaseError, NotSupportedError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus

from repository_site.core.database import base, prepared
from repository_site.core.database.base import DatabaseWrapper, watch_trips
from repository_site.core.database.prepared import TRANSFORMER
from repository_site.core.database.statements import Inquiry, Question, ask, look_up, text_array
from repository_site.core.fairness.cost import Spending
from storage.models import Storage
from tests.api_client import ApiClient
from tests.factories import StorageFactory

NUMBERS = "SELECT number FROM generate_series(1, %s::integer) AS number"
FAILS = "SELECT 1 / (%s::integer - 1)"


@pytest.fixture(params=[False, True], ids=["sleeping", "attentive"], autouse=True)
def _is_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test twice: with threads that sleep at once, and with threads that poll first (D652)."""
    monkeypatch.setattr(prepared, "is_alone", lambda: request.param)
    monkeypatch.setattr(prepared, "resting_until", 0.0)


def numbers(upto: int) -> Question[list[int]]:
    return Question(NUMBERS, [upto], lambda rows: [row[0] for row in rows])


def look_up_all(*numbers: int) -> list[list[tuple[int, ...]]]:
    return cast("DatabaseWrapper", connection).look_up_all([(NUMBERS, [each]) for each in numbers])


@pytest.mark.django_db
def test_each_question_gets_its_answer() -> None:
    order: list[str] = []
    for times in (1, 2, 3):  # the first time they are sent as they are, then they are prepared
        inquiry = Inquiry()
        two, none, three = (inquiry.add(each) for each in (numbers(2), Question("", (), list), numbers(3)))
        inquiry.ask(lambda: order.append("meanwhile"))
        assert (three(), none(), two(), order) == ([1, 2, 3], [], [1, 2], ["meanwhile"] * times)
        assert ask(numbers(1)) == [1]


@pytest.mark.django_db
def test_work_during_the_first_trip_runs_once_and_may_fail() -> None:
    done: list[int] = []
    # The second and fourth one fail: before and after the statement is prepared.
    for divisor in (1, 0, -1, 0, 1):
        inquiry = Inquiry()
        two = inquiry.add(numbers(2))
        inquiry.meanwhile = lambda value=divisor: done.append(1 // value)
        with nullcontext() if divisor else pytest.raises(ZeroDivisionError):
            assert inquiry.ask_after("SELECT 7::integer", [], "") == (7,)
            assert two() == [1, 2]
    assert done == [1, -1, 1]


@pytest.mark.django_db
def test_a_thread_sleeps_until_a_late_result(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, before = list[float](), prepared.attention.seconds
    monkeypatch.setattr(os, "sched_yield", lambda: asked.append(perf_counter()))
    for _ in range(3):
        began = perf_counter()
        assert look_up("SELECT 1 FROM pg_sleep(0.2)", []) == [(1,)]
    assert bool(asked) == prepared.is_alone()
    assert not asked or asked[-1] - began < 0.1
    assert (prepared.attention.seconds - before < 0.1, prepared.attention.seconds > before) == (True, bool(asked))


@pytest.mark.django_db
def test_threads_sleep_at_once_while_others_need_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A poll that takes long shows that another process computes on the core."""
    polls = list[float]()

    def lose_core() -> None:
        polls.append(perf_counter())
        sleep(2 * prepared.LOST)

    monkeypatch.setattr(os, "sched_yield", lose_core)
    for _ in range(4):
        assert look_up("SELECT 1 FROM pg_sleep(0.02)", []) == [(1,)]
    assert len(polls) == int(prepared.is_alone())
    monkeypatch.setattr(prepared, "resting_until", perf_counter())
    assert look_up("SELECT 1 FROM pg_sleep(0.02)", []) == [(1,)]
    assert len(polls) == 2 * int(prepared.is_alone())


@pytest.mark.django_db
def test_the_cost_of_a_request_has_the_time_of_polls_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a statement contains its polls, so polls do not count as CPU time of the request."""
    monkeypatch.setattr(base, "_watchers", ())  # count CPU time only
    monkeypatch.setattr(prepared, "ATTENTION", 0.02)
    monkeypatch.setattr(prepared, "LOST", 60)
    for _ in range(3):
        cpu, polled, spending = thread_time(), prepared.attention.seconds, Spending()
        assert look_up("SELECT 1 FROM pg_sleep(0.05)", []) == [(1,)]
        cost = spending.cost(only_reads=True)
        polled = prepared.attention.seconds - polled
        assert 0 <= cost <= thread_time() - cpu - polled
    assert (polled > 0) == prepared.is_alone()


def test_meanwhile_runs_without_questions() -> None:
    """This test has no access to the database."""
    inquiry, order = Inquiry(), list[str]()
    none = inquiry.add(Question("", (), list))
    inquiry.ask(lambda: order.append("meanwhile"))
    assert (none(), order) == ([], ["meanwhile"])


@pytest.mark.django_db
def test_each_statement_is_counted() -> None:
    with CaptureQueriesContext(connection) as captured:
        assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]
    assert [each["sql"] for each in captured] == [NUMBERS.replace("%s", "1"), NUMBERS.replace("%s", "2")]


@pytest.mark.django_db
def test_watchers_see_each_trip_and_nothing_is_told_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    database = cast("DatabaseWrapper", connection)
    with monkeypatch.context() as patched:
        patched.setattr(base, "_watchers", ())
        patched.setattr(base, "_tell", lambda kind, *told: kind != "look_up" or pytest.fail("told without a watcher"))
        for statement in ((NUMBERS, [1]), (FAILS, [2]), (FAILS, [1])):
            with suppress(DatabaseError), transaction.atomic():
                database.look_up_all([statement])
    told: list[tuple[list[str], bool]] = []
    end = watch_trips(lambda kind, texts, started, problem: told.append(([*texts], problem is not None)))
    try:
        with suppress(DatabaseError):
            look_up_all(1, 2)
            database.look_up(FAILS, [1])
    finally:
        end()
    assert told == [([NUMBERS, NUMBERS], False), ([FAILS], True)]


@pytest.mark.django_db
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failing_statement_fails_all_and_leaves_the_connection_usable(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = [(NUMBERS, [1]), (NUMBERS, [2])]
    statements.insert(failing, (FAILS, [1]))
    for _ in range(2):
        with pytest.raises(DatabaseError, match="division by zero"), transaction.atomic():
            cast("DatabaseWrapper", connection).look_up_all(statements)
        assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]
        with pytest.raises(DatabaseError, match="division by zero"), transaction.atomic():
            prepare()
            without_cursors(monkeypatch)
            cast("DatabaseWrapper", connection).look_up_all(statements)
        monkeypatch.undo()
        assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]


@pytest.mark.django_db
@pytest.mark.parametrize("is_prepared", [False, True])
def test_an_error_meanwhile_leaves_the_connection_usable(is_prepared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble() -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError), transaction.atomic():
        if is_prepared:
            prepare()
            without_cursors(patched)
        cast("DatabaseWrapper", connection).look_up_all([(NUMBERS, [1])], stumble)
    assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]


def prepare() -> None:
    """Let the driver prepare the statements; it forgets them after an error."""
    for _ in range(2):
        look_up(NUMBERS, [1])
        look_up(FAILS, [2])


def without_cursors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "psycopg_cursor", lambda driver: pytest.fail("a cursor was made"))


@pytest.fixture
def table(transactional_db: None) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE changing (value integer)")
        cursor.execute("INSERT INTO changing VALUES (1)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE changing")


def widen(table: str, column: str, type: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {type}")


def test_a_changed_table_gets_a_new_plan(table: None) -> None:
    for _ in range(3):
        assert look_up("SELECT value FROM changing") == [(1,)]
    widen("changing", "value", "text")
    assert look_up("SELECT value FROM changing") == [("1",)]


def test_a_changed_table_inside_a_transaction_raises(table: None) -> None:
    for _ in range(3):
        assert look_up("SELECT value FROM changing") == [(1,)]
    widen("changing", "value", "text")
    with pytest.raises(NotSupportedError), transaction.atomic():
        look_up("SELECT value FROM changing")


@pytest.mark.django_db(transaction=True)
def test_requests_survive_changed_tables(api: ApiClient) -> None:
    """Both while the storage is looked up and inside its scope."""
    storage: Storage = StorageFactory.create(collection="acme", key="open", anonymous="read")
    address = "/acme/open/_api/rest/facets/processes/views/detail/elements/11111111-1111-1111-1111-111111111111"
    answers = [api.get(address).content for _ in range(3)]
    changes = {"storage_storage": ("title", "varchar(201)"), "elements_elementversion": ("state", "varchar(101)")}
    before = {table: _type_of(table, column) for table, (column, _) in changes.items()}
    try:
        for table, (column, type) in changes.items():
            widen(table, column, type)
            answers.append(api.get(address).content)
    finally:
        for table, (column, _) in changes.items():
            widen(table, column, before[table])
    assert answers == answers[:1] * 5
    assert storage.key.encode() not in answers[0]


def _type_of(table: str, column: str) -> str:
    sql = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s"
    with connection.cursor() as cursor:
        cursor.execute(sql, [table, column])
        return str(cursor.fetchone()[0])


def test_plans_are_forgotten_as_often_as_needed(table: None) -> None:
    """Even if there was no plan the first time: the driver must not rely on an earlier result."""
    database = cast("DatabaseWrapper", connection)
    for type, value in (("text", "1"), ("varchar(5)", "1"), ("varchar(6)", "1"), ("integer USING value::integer", 1)):
        for _ in range(3):
            look_up("SELECT value FROM changing")
            look_up_all(1, 2)
        widen("changing", "value", type)
        with pytest.raises(NotSupportedError), transaction.atomic():
            look_up("SELECT value FROM changing")
        database.forget_plans()
        for _ in range(3):
            assert look_up("SELECT value FROM changing") == [(value,)]
            assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]
        database.forget_plans()
        assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_inner", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_a_rollback_keeps_prepared_statements_unless_one_has_failed(is_inner: bool, fails: bool) -> None:
    for _ in range(3):
        look_up_all(1)
    known = cast("Any", connection).connection._prepared._names
    [prepared] = [name for (sql, _), name in known.items() if b"generate_series" in sql]
    with transaction.atomic() if is_inner else nullcontext():
        with suppress(DatabaseError), transaction.atomic():
            look_up_all(1)
            look_up(FAILS, [int(fails)]) if fails else transaction.set_rollback(True)
        found = [name for (sql, _), name in known.items() if b"generate_series" in sql]
        assert found == ([] if fails else [prepared])
        assert look_up_all(2) == [[(1,), (2,)]]


@pytest.mark.django_db
def test_a_savepoint_of_the_same_name_is_rolled_back_as_often_as_needed() -> None:
    database: Any = connection
    for _ in range(3):
        for statements in ([(FAILS, [1]), (NUMBERS, [1])], [(NUMBERS, [1]), (FAILS, [1]), (NUMBERS, [2])]):
            savepoint = "same"
            database._savepoint(savepoint)
            with pytest.raises(DatabaseError, match="division by zero"):
                database.look_up_all(statements)
            database._savepoint_rollback(savepoint)
            database.needs_rollback = False
            assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]


@pytest.mark.django_db
def test_results_are_not_kept() -> None:
    database: Any = connection
    for _ in range(3):
        assert look_up_all(2, 3) == [[(1,), (2,)], [(1,), (2,), (3,)]]
    assert getattr(database.connection, TRANSFORMER).pgresult is None


@pytest.mark.django_db
def test_prepared_statements_need_no_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    named = "SELECT %(b)s::integer - %(a)s::integer, %(a)s::integer"
    database = cast("DatabaseWrapper", connection)
    for _ in range(2):
        look_up_all(1, 2)
        look_up(named, {"a": 1, "b": 3})
    without_cursors(monkeypatch)
    assert look_up_all(3) == [[(1,), (2,), (3,)]]
    assert look_up(named, {"a": 2, "b": 7}) == [(5, 2)]
    assert database.look_up_all([(NUMBERS, [1]), (named, {"a": 2, "b": 7})], lambda: None) == [[(1,)], [(5, 2)]]


@pytest.mark.django_db(transaction=True)
def test_a_transaction_begins_with_its_first_prepared_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    isolation = "SELECT current_setting('transaction_isolation'), pg_current_xact_id_if_assigned() IS NULL"
    database: Any = connection
    for _ in range(2):
        look_up(isolation)
    without_cursors(monkeypatch)
    assert look_up(isolation) == [("read committed", True)]
    database.connection.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with transaction.atomic():
            assert look_up(isolation) == [("repeatable read", True)]
            assert database.connection.info.transaction_status == TransactionStatus.INTRANS
    finally:
        database.connection.isolation_level = None
    assert database.connection.info.transaction_status == TransactionStatus.IDLE


@pytest.mark.django_db(transaction=True)
def test_an_error_with_the_beginning_of_a_transaction_rolls_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    database: Any = connection
    for _ in range(2):
        look_up(FAILS, [2])
    with monkeypatch.context() as patched:
        without_cursors(patched)
        with pytest.raises(DatabaseError, match="division by zero"), transaction.atomic():
            look_up(FAILS, [1])
    assert database.connection.info.transaction_status == TransactionStatus.IDLE
    assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]


@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_in_the_middle_of_a_trip_is_replaced() -> None:
    database: Any = connection
    for _ in range(3):
        look_up_all(1, 2)
    lost = database.connection
    ends = "SELECT pg_terminate_backend(%s::integer, 1000)"
    with pytest.raises(OperationalError):
        database.look_up_all([(NUMBERS, [1]), (NUMBERS, [2])], lambda: _run_elsewhere(ends, lost.info.backend_pid))
        look_up_all(1, 2)
    assert lost.closed
    database.close()
    assert look_up_all(1, 2) == [[(1,)], [(1,), (2,)]]


def _run_elsewhere(sql: str, value: int) -> None:
    settings = connection.get_connection_params()
    with psycopg.connect(**{**settings, "cursor_factory": None, "context": None}, autocommit=True) as other:
        other.execute(sql, [value])


@pytest.mark.django_db
def test_changes_return_no_rows() -> None:
    database = cast("DatabaseWrapper", connection)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE changed (value integer) ON COMMIT DROP")
    insert, read = "INSERT INTO changed VALUES (%s)", "SELECT value FROM changed ORDER BY value"
    found = [database.look_up_all([(insert, [number]), (read, [])]) for number in range(4)]
    assert found == [[[], [(number,) for number in range(upto)]] for upto in range(1, 5)]
    with CaptureQueriesContext(connection):
        assert look_up(insert, [4]) == []


@pytest.mark.django_db
def test_a_text_array_keeps_all_characters() -> None:
    texts = ["plain", "a,b", 'a "quoted" one', "back\\slash", "{braces}", "", "NULL", "Prüfung"]
    assert look_up("SELECT %s::text[]", [text_array(texts)]) == [(texts,)]
    assert look_up("SELECT %s::text[]", [text_array([])]) == [([],)]
