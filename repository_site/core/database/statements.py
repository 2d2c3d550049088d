"""Hand-written SQL without the ORM, for statements that every request runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Model, QuerySet

from repository_site.core.database.base import DatabaseWrapper
from repository_site.core.database.prepared import Parameters, Row, Statement
from repository_site.core.database.routing import is_limited, with_storage

T = TypeVar("T")
M = TypeVar("M", bound=Model)


def engine() -> DatabaseWrapper:
    """Return the connection of this thread. `django.db.connection` looks it up for each attribute, which takes 4 µs."""
    return cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])


def fetch(sql: str, parameters: Parameters = ()) -> list[Row]:
    """Run a statement that PostgreSQL plans for its values: lists, and statements with filters."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def look_up(sql: str, parameters: Parameters = ()) -> list[Row]:
    """Run a statement of fixed text that finds rows by their keys. PostgreSQL plans it once for all values.

    Planned for its values, it would read the whole table for many keys, or while a storage has no statistics.
    """
    return engine().look_up(sql, parameters)


def set_for_transaction(parameter: str, value: str) -> None:
    """Set a parameter that triggers and policies read, until the transaction ends.

    Unlike `set_config`, SET LOCAL reaches all nodes of a distributed database.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL {parameter} = %s", [value])


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A statement to look up, and a function that interprets its rows. An empty statement has no rows."""

    sql: str
    parameters: Parameters
    understand: Callable[[list[Row]], T]


def ask(question: Question[T]) -> T:
    return question.understand(look_up(question.sql, question.parameters) if question.sql else [])


Reading = Generator[Sequence[Question[Any]], list[Any], T]
"""A function that yields questions, gets their answers, and may need several rounds of them."""


def read(reading: Reading[T]) -> T:
    """Return the result of a reading. The questions of a round share a trip to the database."""
    return _in_rounds(reading, engine().look_up_all)


def read_together(*readings: Reading[Any]) -> list[Any]:
    """Return the results of several readings. All of them ask their questions of a round in one statement (D591)."""
    return _in_rounds(side_by_side(*readings), look_up_as_one)


def look_up_as_one(statements: Sequence[Statement]) -> list[list[Row]]:
    """Run several independent statements as one, which returns a list of rows for each of them.

    A distributed database runs them one by one: Citus cannot send all of such a statement to a node.
    """
    database = engine()
    if len(statements) < 2 or database.is_distributed:
        return database.look_up_all(statements)
    # Each text is routed on its own: their combinations are many, and long.
    tenant, hidden, as_of = database.tenant, database.hidden, database.as_of
    routed = [with_storage(*each, tenant, hidden, as_of) for each in statements] if tenant else statements
    parts = [f"ARRAY(SELECT ROW(part.*) FROM ({text}) AS part)" for text, _ in routed]  # noqa: S608  statements of ours
    sql = f"SELECT {', '.join(parts)}"
    database.tenant = ""
    try:
        [found] = database.look_up(sql, [value for _, parameters in routed for value in parameters])
    finally:
        database.tenant = tenant
    return list(found)


def ask_for(question: Question[T]) -> Reading[T]:
    """Return the reading that needs the answer of one question."""
    [found] = yield [question]
    return cast("T", found)


def ask_all(*questions: Question[Any]) -> Reading[list[Any]]:
    """Return the reading that needs the answers of some questions."""
    return (yield questions)


def rows_of(sql: str, parameters: Parameters) -> Reading[list[Row]]:
    """Return the reading of the rows of a statement."""
    return ask_for(Question(sql, parameters, _as_they_are))


def models_of(queryset: QuerySet[M]) -> Question[list[M]]:
    """Return the rows of a queryset as a question. Its values must not affect the plan."""
    try:
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
    except EmptyResultSet:
        return Question("", (), lambda rows: [])
    names = [each.target.attname for each, _, _ in compiler.select]
    make = partial(queryset.model.from_db, connection.alias, names)
    return Question(sql, parameters, lambda rows: [make(row) for row in rows])


def side_by_side(*readings: Reading[Any]) -> Reading[list[Any]]:
    """Return the reading that asks the questions of several readings in the same rounds."""
    results: list[Any] = [None] * len(readings)
    waiting: dict[int, Sequence[Question[Any]]] = {}

    def go_on(place: int, step: Callable[[], Sequence[Question[Any]]]) -> None:
        try:
            waiting[place] = step()
        except StopIteration as end:
            results[place] = end.value
            waiting.pop(place, None)

    for place, reading in enumerate(readings):
        go_on(place, partial(next, reading))
    while waiting:
        asked = [each for questions in waiting.values() for each in questions]
        # A reading gets its own errors: it may know what to do without an answer.
        rows = iter((yield [Question(each.sql, each.parameters, _as_they_are) for each in asked]))
        for place, questions in list(waiting.items()):
            found = [(each, next(rows)) for each in questions]
            try:
                answers = [question.understand(some) for question, some in found]
            except Exception as problem:
                go_on(place, partial(readings[place].throw, problem))
            else:
                go_on(place, partial(readings[place].send, answers))
    return results


def _in_rounds(reading: Reading[T], send: Callable[[list[Statement]], list[list[Row]]]) -> T:
    try:
        questions = next(reading)
        while True:
            asked = [(each.sql, each.parameters) for each in questions if each.sql]
            rows = iter(send(asked) if asked else ())
            found = [(each, next(rows) if each.sql else []) for each in questions]
            try:
                answers = [question.understand(some) for question, some in found]
            except Exception as problem:
                questions = reading.throw(problem)
            else:
                questions = reading.send(answers)
    except StopIteration as end:
        return cast("T", end.value)


def _as_they_are(rows: list[Row]) -> list[Row]:
    return rows


class Inquiry:
    """Independent questions, which are sent in one trip to the database."""

    def __init__(self) -> None:
        self._questions: list[Question[Any]] = []
        self._rows: list[list[Row]] = []
        self._beside: Question[Any] | None = None
        self._value: list[Row] = []
        self.meanwhile: Callable[[], object] | None = None
        """Runs in `ask_after` while the database works, and must not use the database."""

    def add(self, question: Question[T]) -> Callable[[], T]:
        """Add a question, and return a function that returns its answer after `ask`."""
        if not question.sql:
            return lambda: question.understand([])
        self._questions.append(question)
        place = len(self._questions) - 1
        return lambda: question.understand(self._rows[place])

    def add_beside(self, question: Question[T]) -> Callable[[], T]:
        """Add a question for one value, which becomes a column of the statement before all questions: a statement of
        its own would cost 40 µs. Only for `ask_after`."""
        self._beside = question
        return lambda: question.understand(self._value)

    def ask_after(self, columns: str, parameters: Sequence[Any], rest: str) -> Row:
        """Send the questions in the trip of a statement that comes before them, and return its only row."""
        if self._beside is not None:
            columns, parameters = f"{columns}, ({self._beside.sql})", [*parameters, *self._beside.parameters]
        statements = [(each.sql, each.parameters) for each in self._questions]
        # It may refer to the holder of this inquiry, and must not leave a reference cycle (D211).
        meanwhile, self.meanwhile = self.meanwhile, None
        [first], *self._rows = engine().look_up_all([(f"{columns}{rest}", parameters), *statements], meanwhile)
        self._value = [first[-1:]]
        return first

    def asking(self) -> Reading[None]:
        """Return the reading that sends the questions in its next round."""
        self._rows = yield [Question(each.sql, each.parameters, _as_they_are) for each in self._questions]

    def ask(self, meanwhile: Callable[[], object] | None = None) -> None:
        """Send the questions. `meanwhile` runs while the database works, and must not use the database."""
        assert self._beside is None  # noqa: S101  nobody would ask it
        if self._questions:
            statements = [(each.sql, each.parameters) for each in self._questions]
            self._rows = engine().look_up_all(statements, meanwhile)
        elif meanwhile is not None:
            meanwhile()

    def ask_limited_again(self) -> None:
        """Send those questions again whose answers depend on limits of the caller, which were not known before."""
        places = [place for place, each in enumerate(self._questions) if is_limited(each.sql)]
        if places:
            asked = [self._questions[place] for place in places]
            rows = engine().look_up_all([(each.sql, each.parameters) for each in asked])
            for place, found in zip(places, rows, strict=True):
                self._rows[place] = found


def text_array(texts: Iterable[str]) -> str:
    """Return the texts as one value for `%s::text[]`, which is faster than a list, too."""
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    return '{"' + '","'.join(quoted) + '"}' if quoted else "{}"


def as_arrays(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return each column of rows as one value for an array. The driver would escape the quotes of a list of texts one
    by one: a minute for a request body of quotes."""
    return [
        text_array(column) if all(isinstance(each, str) for each in column) else list(column)
        for column in zip(*rows, strict=True)
    ]


def id_array(ids: Iterable[str]) -> str:
    """Return the ids as one value for `%s::uuid[]`. The driver would need a hundred times as long for a list."""
    return "{" + ",".join(ids) + "}"
