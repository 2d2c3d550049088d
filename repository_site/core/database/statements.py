"""Statements that are written out, past the ORM, where every request pays for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar, cast

from django.db import NotSupportedError, connection

from repository_site.core.database.base import DatabaseWrapper, Parameters, Row

T = TypeVar("T")
# A migration may change several tables, one after the other, while a request is answered.
PLAN_ATTEMPTS = 4


def fetch(sql: str, parameters: Parameters = ()) -> list[Row]:
    """For statements that are planned for their values: lists, and whatever a filter has part in."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def look_up(sql: str, parameters: Parameters = ()) -> list[Row]:
    """For statements of a fixed text that find rows by their keys: planned once, whatever the keys and their number.

    Planned for their values, they would be read off the whole table when a storage has no statistics yet, or when
    there are many keys.
    """
    return cast("DatabaseWrapper", connection).look_up(sql, parameters)


def with_current_plans(work: Callable[[], T]) -> T:
    """What `work`, a whole transaction, answers; again from its start where a migration has changed a table under a
    statement that this connection had prepared (D155)."""
    for _ in range(PLAN_ATTEMPTS - 1):
        try:
            return work()
        except NotSupportedError:
            if connection.in_atomic_block:
                raise
            cast("DatabaseWrapper", connection).forget_plans()
    return work()


def begun_with_current_plans(make: Callable[[], Iterator[T]]) -> Iterator[T]:
    """The same for what is streamed: until its first piece is there it can begin anew. After that its transaction keeps
    migrations off the tables that it reads."""

    def begin() -> tuple[list[T], Iterator[T]]:
        pieces = make()
        return [*islice(pieces, 1)], pieces

    first, pieces = with_current_plans(begin)
    yield from first
    yield from pieces


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A statement to look up, and what its rows mean. Without a text there is nothing to ask: it has no rows."""

    sql: str
    parameters: Parameters
    understand: Callable[[list[Row]], T]


def ask(question: Question[T]) -> T:
    return question.understand(look_up(question.sql, question.parameters) if question.sql else [])


class Inquiry:
    """Questions that do not wait for each other's answers, asked in one trip to the database."""

    def __init__(self) -> None:
        self._questions: list[Question[Any]] = []
        self._rows: list[list[Row]] = []

    def add(self, question: Question[T]) -> Callable[[], T]:
        """What to call for the answer, once they have been asked."""
        if not question.sql:
            return lambda: question.understand([])
        self._questions.append(question)
        place = len(self._questions) - 1
        return lambda: question.understand(self._rows[place])

    def ask(self, meanwhile: Callable[[], None] | None = None) -> None:
        """`meanwhile` is done while the database works, and must not ask it for anything."""
        if self._questions:
            statements = [(each.sql, each.parameters) for each in self._questions]
            self._rows = cast("DatabaseWrapper", connection).look_up_all(statements, meanwhile)
        elif meanwhile is not None:
            meanwhile()


def id_array(ids: Iterable[str]) -> str:
    """Ids as one value for `%s::uuid[]`; the driver takes a hundred times as long to write a list of a hundred."""
    return "{" + ",".join(ids) + "}"
