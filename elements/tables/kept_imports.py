"""Imports of tables in the back office (D467): a file is kept until it is imported, and each person has one at a time.

A small table is read at once. A large one takes too long for a request, so a background job reads and imports it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from elements.models import TableImport
from elements.permissions import sees_drafts
from elements.reading.assembly.assembler import Reader
from elements.reading.rows import Audience
from elements.tables.drafts import CellNote, RowDraft
from elements.tables.files import import_choices, read_any
from elements.tables.importing import TableReport, import_table, plan_import
from elements.tables.mapping import (
    known_columns,
    map_columns,
    remember_columns,
    remembered_columns,
    wanted_columns,
)
from elements.tables.read_tables import MEGABYTE, ReadTable, TableBounds, TableTooLarge
from elements.writing.writers import require_changing, settled_writer
from facets.clearance import visible_to_caller
from repository_site.core.database.repeating import repeated
from repository_site.core.problems import Conflict, Forbidden, Problem
from repository_site.core.wording import clean_text, printable
from storage.access.callers import Caller, narrow_to
from storage.access.recalling import recall_caller
from storage.jobs.declaring import job, periodic_job
from storage.jobs.every_storage import in_every_storage
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

Progress = TableImport.Progress
UNFINISHED = (Progress.PREVIEWING, Progress.IMPORTING)
# Tables that a request reads, and those that a job reads.
SMALL, LARGE = TableBounds(500, 20_000, 4 * MEGABYTE), TableBounds(20_000, 1_000_000, 100 * MEGABYTE)
# Rows, problems and notes of a report, changes of all rows, and characters of each text in it.
SHOWN, MOST_CHANGES, LONGEST = 200, 1_000, 300
# A job without a sign of life for so long does not keep its caller from the next import.
LOST = timedelta(hours=1)
KEPT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class KeptChoices:
    """Choices of a person about a file."""

    key: str = ""
    type: str = ""
    only: str = ""
    columns: dict[int, str] = field(default_factory=dict)
    """Chosen columns by the places of headers."""

    @classmethod
    def of(cls, table: TableImport) -> KeptChoices:
        given = table.choices
        columns = {int(place): name for place, name in given["columns"].items()}
        return cls(given["key"], given["type"], given["only"], columns)


def find_import(caller: Caller) -> TableImport | None:
    return TableImport.objects.defer("content").filter(caller_label=caller.label).first()


def is_running(table: TableImport) -> bool:
    return table.progress in UNFINISHED and table.changed_on > timezone.now() - LOST


def begin_preview(
    storage: Storage, caller: Caller, request_id: str, address: str, name: str, data: bytes, choices: KeptChoices
) -> None:
    """Keep a file, in place of the former one of the caller, and make its preview. Raise the problem of a file that
    cannot be read at all."""
    _refuse_second(find_import(caller))
    read = _read_small(data, name)
    table, _made = TableImport.objects.update_or_create(
        caller_label=caller.label,
        defaults={
            "name": clean_text(name),
            "content": data,
            "choices": asdict(choices),
            "progress": Progress.PREVIEWING,
            "report": {},
            "address": address,
            "language": translation.get_language() or "",
            "request_id": request_id,
            "changed_on": timezone.now(),
        },
    )
    _go_on(storage, caller, table, read)


def repeat_preview(storage: Storage, caller: Caller, choices: KeptChoices) -> None:
    table = _hold(caller)
    table.choices, table.progress = asdict(choices), Progress.PREVIEWING
    _go_on(storage, caller, table, _read_small(bytes(table.content), table.name))


def begin_import(storage: Storage, caller: Caller, digest: str) -> TableImport:
    """Import the table as its preview shows it, or have a job do so."""
    table = _hold(caller)
    if not digest or table.report.get("digest") != digest:
        raise Conflict(_changed())
    table.progress = Progress.IMPORTING
    _go_on(storage, caller, table, _read_small(bytes(table.content), table.name))
    return table


def discard_import(caller: Caller) -> None:
    found = find_import(caller)
    _refuse_second(found)
    TableImport.objects.filter(caller_label=caller.label).delete()


def _hold(caller: Caller) -> TableImport:
    _refuse_second(find_import(caller))
    table = TableImport.objects.select_for_update().filter(caller_label=caller.label).first()
    if table is None or table.progress == Progress.IMPORTED:
        raise Conflict(_("The file no longer exists. Choose it again."))
    return table


def _refuse_second(table: TableImport | None) -> None:
    if table is not None and is_running(table):
        text = _("The service is still working on your table %(name)s. Try again when it has finished.")
        raise Conflict(text % {"name": table.name})


def _changed() -> str:
    return _("The elements have changed since the preview. Nothing was imported; look at it again.")


def _read_small(data: bytes, name: str) -> ReadTable | None:
    """Return a table that a request can read, None for a larger one."""
    try:
        return read_any(data, name, SMALL)
    except TableTooLarge:
        return None


def _go_on(storage: Storage, caller: Caller, table: TableImport, read: ReadTable | None) -> None:
    if read is None:
        _save(table)
        run_import.enqueue(storage, table=str(table.id))
    else:
        _take_step(storage, caller, table, read)


@job("elements.import_table", lock=(), retry=(5.0, 60.0, 600.0), own_scope=True)
def run_import(storage: Storage, table: str) -> None:
    """Make the preview or the import that a table waits for, in one transaction with its report."""
    repeated(partial(_run, storage, table))


def _run(storage: Storage, id: str) -> None:
    with tenant_scope(storage):
        table = TableImport.objects.select_for_update().filter(id=id, progress__in=UNFINISHED).first()
        if table is None:
            return
        with translation.override(table.language or None):
            try:
                caller = recall_caller(storage, table.caller_label)
                if caller is None:
                    raise Forbidden(_("The caller has no access to the storage any more."))
                _take_step(storage, caller, table, read_any(bytes(table.content), table.name, LARGE))
            except Problem as problem:
                _stop(table, problem)


def _take_step(storage: Storage, caller: Caller, table: TableImport, read: ReadTable) -> None:
    """Make the preview or the import. If that fails, nothing is written but the problem."""
    try:
        with transaction.atomic():
            table.report = _import(storage, caller, table, read)
    except Problem as problem:
        _stop(table, problem)
    else:
        is_imported = table.progress == Progress.IMPORTING
        table.progress = Progress.IMPORTED if is_imported else Progress.PREVIEWED
        if is_imported:
            table.content = b""
        _save(table, *(["content"] if is_imported else []))


def _stop(table: TableImport, problem: Problem) -> None:
    errors = [_shown(each) for each in problem.details[:SHOWN]]
    table.report = {"errors": errors, "headers": table.report.get("headers", [])}
    table.progress = Progress.PREVIEWED
    _save(table)


def _save(table: TableImport, *more: str) -> None:
    """Save everything but the content, which is large."""
    table.changed_on = timezone.now()
    table.save(update_fields={"choices", "progress", "report", "changed_on", *more})


def _import(storage: Storage, caller: Caller, table: TableImport, read: ReadTable) -> dict[str, Any]:
    """Plan or import a table, and return its report."""
    require_changing(caller)
    writer = settled_writer(storage, caller, table.request_id)
    narrow_to(storage, lambda: caller)
    configuration = visible_to_caller(caller, writer.configuration)
    audience = Audience(sees_drafts(caller), configuration.closed, configuration.hidden)
    reader = Reader(configuration, audience, ZoneInfo(storage.time_zone), table.address)
    chosen, known = KeptChoices.of(table), known_columns(configuration)
    wanted = wanted_columns(read.headers, known, remembered_columns(), chosen.columns)
    columns = {place: column.header if column else "" for place, column in wanted.items()}
    headers = [[place, printable(header, 100), columns[place]] for place, header in read.headers.items()]
    accepted = table.report.get("digest")
    # A person can correct the columns, whatever the problem is.
    table.report = {"headers": headers}
    mapping = map_columns(read.headers, wanted)
    choices = import_choices(known, chosen.key, chosen.type, chosen.only)
    if table.progress == Progress.PREVIEWING:
        report = plan_import(writer, reader, read, mapping, choices)
        return {**_preview(report), "digest": digest_of(report), "headers": headers}
    report = import_table(writer, reader, read, mapping, choices)
    if digest_of(report) != accepted:
        raise Conflict(_changed())
    remember_columns(read.headers, known, chosen.columns)
    return {"counts": report.counts}


def digest_of(report: TableReport) -> str:
    """Return a digest of everything that an import changes."""
    digest = blake2b(digest_size=16)
    for draft in report.changed:
        digest.update(repr((draft.given.id, draft.row.number, list(draft.changes.values()))).encode())
    return digest.hexdigest()


def _preview(report: TableReport) -> dict[str, Any]:
    changed, problems, notes = report.changed, report.problems, report.notes
    rows: list[dict[str, Any]] = []
    for draft in changed[:SHOWN]:
        if sum(len(each["changes"]) for each in rows) > MOST_CHANGES:
            break
        rows.append(_row(draft))
    return {
        "counts": report.counts,
        "rows": rows,
        "row_count": len(changed),
        "problems": [_note(each) for each in problems[:SHOWN]],
        "problem_count": len(problems),
        "notes": [_note(each) for each in notes[:SHOWN]],
        "note_count": len(notes),
    }


def _row(draft: RowDraft) -> dict[str, Any]:
    changes = [[each.cell, each.column, _shown(each.old), _shown(each.new)] for each in draft.changes.values()]
    return {"number": draft.row.number, "id": draft.given.id, "changes": changes}


def _note(note: CellNote) -> list[str]:
    return [note.cell, _shown(note.text)]


def _shown(text: str) -> str:
    """Return as much of a text as a report shows. The database stores no NUL."""
    return (text if len(text) <= LONGEST else f"{text[:LONGEST]}…").replace("\x00", "\N{REPLACEMENT CHARACTER}")


@periodic_job("elements.forget_imports", cron="50 3 * * *")
def forget_old_imports() -> None:
    in_every_storage(forget_imports)


def forget_imports(storage: Storage) -> None:
    """Delete tables that nobody has looked at for a week."""
    with tenant_scope(storage):
        TableImport.objects.filter(changed_on__lt=timezone.now() - KEPT).delete()
