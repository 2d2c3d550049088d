"""Importing a transfer file in one transaction. A thread reads and checks lines while the database writes those before;
as soon as anything is wrong, nothing more is written, the rest is only checked, and all is taken back."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from queue import Queue
from typing import TypeVar
from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.utils import timezone

from elements.models import Element, ElementVersion, Reference, Shape, ShapeFlow
from elements.transfer.checking import Survey
from elements.transfer.files import read_lines
from elements.transfer.lines import LineReader
from elements.transfer.rows import ImportRows, RowMaker, write_elements
from facets.blueprint.definitions import ElementType
from facets.configuration import Configuration, settled_configuration
from repository_site.core.problems import Invalid
from repository_site.core.progress import with_progress
from storage.models import Storage
from storage.tenancy.migration_operations import constraint_name
from storage.tenancy.scope import tenant_scope

T = TypeVar("T")
ASKED_AT_ONCE = 10_000
SHORT_TURN = 0.0002  # seconds
# Versions from which on an import is worth a look of the planner.
ANALYSED = 200
# What a batch refers to in itself. The database checks that with each batch, while the next lines are read; all else,
# such as references to elements that come later, at the end.
WITHIN_BATCH = [
    (Reference, "version_id"),
    (Shape, "version_id"),
    (ShapeFlow, "shape_id"),
    (ShapeFlow, "predecessor_id"),
]


@dataclass(slots=True)
class ImportResult:
    elements: int = 0
    versions: int = 0
    references: int = 0
    shapes: int = 0


def import_elements(storage: Storage, path: str, *, dry_run: bool = False) -> ImportResult:
    """All or nothing; Invalid lists every problem of every line. `path` may be - for standard input."""
    with tenant_scope(storage):
        configuration = settled_configuration(storage)
        survey = Survey(configuration.types)
        result = ImportResult()
        versions_there: list[str] = []
        shapes_there: list[str] = []
        reader = LineReader(configuration, ZoneInfo(storage.time_zone))
        _check_within_batches()
        for rows in _one_ahead(_batches(reader, survey, path, dry_run)):
            versions_there += _ids_there(ElementVersion._meta.db_table, rows.version_ids)
            shapes_there += _ids_there(Shape._meta.db_table, rows.shape_ids)
            result.references += len(rows.references)
            if not (dry_run or survey.problems or versions_there or shapes_there):
                rows.write()
        survey.finish(_types_there(configuration, survey), versions_there, shapes_there)
        if survey.problems:
            raise Invalid(f"{len(survey.problems)} problem(s); nothing was imported.", survey.problems)
        result.elements, result.versions = len(survey.elements), len(survey.versions)
        result.shapes = len(survey.shapes)
        if not dry_run:
            write_elements(configuration, survey)
            _check_everything()
            if result.versions >= ANALYSED:
                transaction.on_commit(_analyse)
        return result


def _analyse() -> None:
    """Let the planner know of the rows at once: it takes a storage it has never seen for empty, and reads all of it
    again for each row."""
    tables = ", ".join(model._meta.db_table for model in (Element, ElementVersion, Reference, Shape, ShapeFlow))
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {tables}")


def _batches(reader: LineReader, survey: Survey, path: str, dry_run: bool) -> Iterator[ImportRows]:
    """Check every line; the rows of those that are good by themselves."""
    maker = RowMaker(reader.configuration, timezone.now())
    rows = ImportRows()
    for number, raw in with_progress(read_lines(path), "Checking" if dry_run else "Importing"):
        line = reader.read(raw, lambda text, number=number: survey.report(number, text))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        if line is not None and survey.add(number, line):
            maker.add(line, rows)
            if rows.is_full():
                yield rows
                rows = ImportRows()
    yield rows


def _one_ahead(items: Iterator[T]) -> Iterator[T]:
    """The next item is made by a thread of its own, without the database, while the caller works on this one.

    The caller waits for the database most of the time, and has something to say to it only for moments. For those it
    should not have to wait until the thread has had its usual turn, or the database would be idle half the time.
    """
    made: Queue[T | BaseException | None] = Queue(1)
    is_left = threading.Event()

    def make() -> None:
        try:
            for item in items:
                made.put(item)
                if is_left.is_set():
                    return
            made.put(None)
        except BaseException as problem:
            made.put(problem)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(SHORT_TURN)
    # A daemon: somebody who stops the import does not have to wait for a line that may never come.
    threading.Thread(target=make, daemon=True).start()
    try:
        while (item := made.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        is_left.set()
        sys.setswitchinterval(usual)


def _check_within_batches() -> None:
    names = ", ".join(f'"{constraint_name(model._meta.db_table, column)}"' for model, column in WITHIN_BATCH)
    with connection.cursor() as cursor:
        cursor.execute(f"SET CONSTRAINTS {names} IMMEDIATE")


def _check_everything() -> None:
    """Here and not with the commit: the caller may have a transaction of its own around this, and go on in it."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def _ids_there(table: str, ids: Sequence[str]) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id::text FROM {table} WHERE id = ANY(%s::uuid[])", [_array(ids)])  # noqa: S608  a model's table
        return [row[0] for row in cursor.fetchall()]


def _array(ids: Sequence[str]) -> str:
    """As PostgreSQL reads it; the driver would look at the type of each."""
    return f"{{{','.join(ids)}}}"


def _types_there(configuration: Configuration, survey: Survey) -> dict[str, ElementType]:
    """Of the elements the file names, those in the storage already."""
    types = {row_id: configuration.types[key] for key, row_id in configuration.type_ids.items()}
    found: dict[str, ElementType] = {}
    names = iter(survey.targets())
    with connection.cursor() as cursor:
        while batch := list(islice(names, ASKED_AT_ONCE)):
            cursor.execute("SELECT id::text, type_id FROM elements_element WHERE id = ANY(%s::uuid[])", [_array(batch)])
            found.update({element: types[type_id] for element, type_id in cursor.fetchall()})
    return found
