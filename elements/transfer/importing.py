"""Import of a transfer file in one transaction. A thread reads and checks lines while the database writes the batch
before. After the first problem the import only checks the rest, and then rolls back."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from typing import TypeVar
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone

from elements.models import (
    BpmnSource,
    Element,
    ElementVersion,
    Lane,
    Reference,
    SearchDocument,
    Shape,
    ShapeFlow,
    VersionFile,
    VersionName,
)
from elements.permission_sets.inheritance import rebuild_inherited
from elements.transfer.copy_rows import ELEMENT_COLUMNS, ImportRows, RowMaker, element_rows
from elements.transfer.event_rows import EventRows
from elements.transfer.file_archives import import_files
from elements.transfer.file_checks import Survey
from elements.transfer.file_facts import FileFacts, ImportedElement, explained
from elements.transfer.files import read_lines
from elements.transfer.lines import LineReader
from elements.transfer.problem_summary import problem_count
from elements.writing.authors import Author
from elements.writing.statements import execute
from facets.configuration import Configuration, settled_configuration
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Invalid
from repository_site.core.terminal.progress import with_progress
from storage.events.recording import announce_after_commit
from storage.models import Storage, StoredFile, TenantModel
from storage.quotas import begin_quota
from storage.tenancy.bulk import ANALYSED, analyse_after_commit, copy_rows
from storage.tenancy.migration_operations import constraint_name
from storage.tenancy.scope import tenant_scope

T = TypeVar("T")
ASKED_AT_ONCE = 10_000
PLACED_AT_ONCE = 5_000
CALLER = "import_elements"
SHORT_TURN = 0.0002  # seconds
# Foreign keys within a batch, or to the storage. The database checks them with each batch, while the thread reads the
# next lines; it checks all others, such as references to later elements, at the end.
WITHIN_BATCH = [
    (Reference, "version_id"),
    (Shape, "version_id"),
    (ShapeFlow, "shape_id"),
    (ShapeFlow, "predecessor_id"),
    (Shape, "lane_id"),
    (Lane, "version_id"),
    (BpmnSource, "version_id"),
    (VersionFile, "version_id"),
    (VersionName, "version_id"),
    (SearchDocument, "storage_id"),
]


@dataclass(slots=True)
class ImportResult:
    elements: int = 0
    versions: int = 0
    references: int = 0
    shapes: int = 0


def import_elements(storage: Storage, path: str, *, dry_run: bool = False, files: Path | None = None) -> ImportResult:
    """Import everything or nothing. Raise Invalid with the problems of all lines. `path` - is standard input.

    `files` is the archive of the files that the lines name; the storage may also have them already.
    """
    with tenant_scope(storage):
        configuration = settled_configuration(storage)
        quota = begin_quota(storage)
        if files is not None:
            import_files(storage, files, CALLER, keep=not dry_run)
        with explained(), closing(Survey(configuration.types)) as survey:
            reader = LineReader(configuration, ZoneInfo(storage.time_zone))
            references = _read_and_write(reader, survey, path, dry_run)
            facts = survey.facts
            result = ImportResult(facts.count("element"), facts.count("version"), references, facts.count("shape"))
            if not dry_run:
                _write_elements(configuration, facts)
                if configuration.sets:
                    rebuild_inherited()
                _check_everything()
                announce_after_commit()
                if quota is not None:
                    quota.check()
                _analyse(result)
        if dry_run and files is not None:
            # The lines could be checked only with the rows of the files.
            transaction.set_rollback(True)
        return result


def _read_and_write(reader: LineReader, survey: Survey, path: str, dry_run: bool) -> int:
    """Check all lines, write what belongs to versions, and return the number of references."""
    references = 0
    versions_there: list[str] = []
    shapes_there: list[str] = []
    lanes_there: list[str] = []
    _check_within_batches()
    for rows in _one_ahead(_batches(reader, survey, path, dry_run)):
        versions_there += _ids_there(ElementVersion._meta.db_table, rows.version_ids)
        shapes_there += _ids_there(Shape._meta.db_table, rows.shape_ids)
        lanes_there += _ids_there(Lane._meta.db_table, rows.lane_ids)
        _check_files(survey, rows)
        references += len(rows.references)
        if not (dry_run or survey.problems or versions_there or shapes_there or lanes_there):
            rows.write()
    survey.finish(_types_there(reader.configuration, survey), versions_there, shapes_there, lanes_there)
    if survey.problems:
        raise Invalid(problem_count(len(survey.problems)), survey.problems)
    return references


def _write_elements(configuration: Configuration, facts: FileFacts) -> None:
    """Write elements and their events. The thread makes the next rows while the database writes."""
    events = EventRows(Author(None, CALLER, ""), configuration.types)
    found = with_progress(facts.elements(), "Placing elements", facts.count("element"))

    def made() -> Iterator[tuple[int, list[tuple[str, ImportedElement]], list[str], list[str]]]:
        first = 0
        while batch := list(islice(found, PLACED_AT_ONCE)):
            yield first, batch, element_rows(configuration, batch), [*events.rows(first, batch)]
            first += len(batch)

    for first, batch, rows, announced in _one_ahead(made()):
        copy_rows(Element, ELEMENT_COLUMNS, rows)
        events.write(first, batch, announced)


def _analyse(result: ImportResult) -> None:
    """Update the statistics of tables that got many rows."""
    grown: tuple[tuple[int, tuple[type[TenantModel], ...]], ...] = (
        (result.versions, (Element, ElementVersion)),
        (result.references, (Reference,)),
        (result.shapes, (Shape, ShapeFlow, Lane)),
    )
    analyse_after_commit(model for rows, models in grown if rows >= ANALYSED for model in models)


def _batches(reader: LineReader, survey: Survey, path: str, dry_run: bool) -> Iterator[ImportRows]:
    maker = RowMaker(reader.configuration, timezone.now())
    rows = ImportRows()
    for number, raw in with_progress(read_lines(path), "Checking" if dry_run else "Importing"):
        line = reader.read(raw, lambda text, number=number: survey.report(number, text))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        if line is not None and survey.add(number, line):
            maker.add(line, rows)
            for _, file in line.files:
                rows.file_lines.setdefault(file, number)
            if rows.is_full():
                yield rows
                rows = ImportRows()
    yield rows


def _one_ahead(items: Iterator[T]) -> Iterator[T]:
    """Produce the next item in a thread, without the database, while the caller works on the current one.

    The caller mostly waits for the database and needs the interpreter only for moments. A short switch interval lets it
    have these at once; otherwise the database would be idle half the time.
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
    # A daemon thread: stopping the import must not wait for a line that may never come.
    threading.Thread(target=make, daemon=True).start()
    try:
        while (item := made.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        is_left.set()
        # The thread may wait for room, and would keep its items for ever.
        with suppress(Empty):
            made.get_nowait()
        sys.setswitchinterval(usual)


def _check_within_batches() -> None:
    names = ", ".join(f'"{constraint_name(model._meta.db_table, column)}"' for model, column in WITHIN_BATCH)
    execute(f"SET CONSTRAINTS {names} IMMEDIATE", ())


def _check_everything() -> None:
    """Check here instead of at the commit, because the caller may continue in an outer transaction."""
    execute("SET CONSTRAINTS ALL IMMEDIATE", ())
    execute("SET CONSTRAINTS ALL DEFERRED", ())


def _ids_there(table: str, ids: Sequence[str]) -> list[str]:
    if not ids:
        return []
    sql = f"SELECT id::text FROM {table} WHERE id = ANY(%s::uuid[])"  # noqa: S608  a model's table
    return [row[0] for row in fetch(sql, [_array(ids)])]


def _check_files(survey: Survey, rows: ImportRows) -> None:
    there = {*_ids_there(StoredFile._meta.db_table, [*rows.file_lines])}
    for file, number in rows.file_lines.items():
        if file not in there:
            survey.report(
                number, f"there is no file {file} in this storage; upload it first, or import it with --files"
            )


def _array(ids: Sequence[str]) -> str:
    """Return an array literal; the driver would inspect the type of each id."""
    return f"{{{','.join(ids)}}}"


def _types_there(configuration: Configuration, survey: Survey) -> Iterator[tuple[str, str]]:
    """Return elements that the storage already has and the file contains or refers to, with their types."""
    types = {row_id: key for key, row_id in configuration.type_ids.items()}
    names = survey.targets()
    while batch := list(islice(names, ASKED_AT_ONCE)):
        rows = fetch("SELECT id::text, type_id FROM elements_element WHERE id = ANY(%s::uuid[])", [_array(batch)])
        yield from ((element, types[type_id]) for element, type_id in rows)
