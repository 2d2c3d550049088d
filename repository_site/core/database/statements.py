"""Hand-written SQL without the ORM, for statements that every request runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connection, connections

from repository_site.core.database.base import DatabaseWrapper
from repository_site.core.database.prepared import Parameters, Row
from repository_site.core.database.routing import is_limited

T = TypeVar("T")


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


class Inquiry:
    """Independent questions, which are sent in one trip to the database."""

    def __init__(self) -> None:
        self._questions: list[Question[Any]] = []
        self._rows: list[list[Row]] = []

    def add(self, question: Question[T]) -> Callable[[], T]:
        """Add a question, and return a function that returns its answer after `ask`."""
        if not question.sql:
            return lambda: question.understand([])
        self._questions.append(question)
        place = len(self._questions) - 1
        return lambda: question.understand(self._rows[place])

    def ask_after(self, sql: str, parameters: Parameters) -> list[Row]:
        """Send the questions in the trip of a statement that comes before them, and return its rows."""
        statements = [(each.sql, each.parameters) for each in self._questions]
        first, *self._rows = engine().look_up_all([(sql, parameters), *statements])
        return first

    def ask(self, meanwhile: Callable[[], None] | None = None) -> None:
        """Send the questions. `meanwhile` runs while the database works, and must not use the database."""
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
