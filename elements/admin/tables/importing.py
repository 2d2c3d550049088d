"""Import of a table in the back office: choose a file, map its columns, look at the preview, confirm (D466)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from elements.admin.detail import office_context
from elements.admin.labels import OfficeLabels, element_address, labels_of
from elements.presentation.page_requests import content_writer_of
from elements.tables.columns import ColumnKind
from elements.tables.drafts import CellChange, RowDraft
from elements.tables.files import key_column, read_any
from elements.tables.importing import ImportChoices, TableReport, import_table, plan_import
from elements.tables.mapping import ColumnMapping, known_columns, map_columns
from elements.tables.read_tables import ReadTable
from elements.tables.remembered import remember_columns, remembered_columns
from elements.writing.writers import Writer, require_changing
from repository_site.core.problems import Conflict, Forbidden, Invalid, Problem, TooLarge, Unreadable
from repository_site.core.rest.errors import status_of
from repository_site.core.wording import printable
from storage.back_office import storage_office
from storage.pages import caller_of

PAGE = "back_office/elements/import_table.html"
MOST_ROWS = 20_000
"""Rows that a page imports; each of them is read twice while a person waits."""
SHOWN = 200
"""Most rows and problems that a preview shows."""
LONGEST = 300
"""Most characters of a value that a preview shows."""


@dataclass(slots=True)
class ImportForm:
    """The request of a person: the file, and choices about it."""

    data: bytes = b""
    name: str = ""
    key: str = ""
    type: str = ""
    digest: str = ""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Chosen columns by header, in lower case."""


@dataclass(frozen=True, slots=True)
class MappedHeader:
    place: int
    header: str
    column: str


@dataclass(frozen=True, slots=True)
class PreviewRow:
    number: int
    address: str
    is_new: bool
    changes: list[CellChange]


def import_view(request: HttpRequest) -> HttpResponseBase:
    """Show what a file would change. The preview posts the same file again, which is then imported."""
    require_changing(caller_of(request))
    writer = content_writer_of(request) if request.method == "POST" else None
    labels, form = labels_of(request), ImportForm()
    if writer is None:
        return _render(request, labels, form)
    table: ReadTable | None = None
    try:
        form = _form(request)
        table = _table(form)
        form.chosen = {**remembered_columns(), **_chosen(request, table)}
        report, mapping = _run(writer, labels, form, table, is_preview="_import" not in request.POST)
    except Forbidden:
        raise
    except Problem as problem:
        return _render(request, labels, form, table, problem=problem)
    if "_import" not in request.POST:
        return _render(request, labels, form, table, report, mapping)
    counts = report.counts
    done = counts["create"] + counts["update"]
    text = ngettext("%(count)d element was imported.", "%(count)d elements were imported.", done)
    messages.success(request, text % {"count": done})
    return redirect("admin:elements_element_changelist")


def _run(
    writer: Writer, labels: OfficeLabels, form: ImportForm, table: ReadTable, *, is_preview: bool
) -> tuple[TableReport, ColumnMapping]:
    known = known_columns(labels.configuration)
    mapping = map_columns(table.headers, known, form.chosen)
    choices = ImportChoices(key_column(known, form.key), form.type)
    if is_preview:
        return plan_import(writer, labels.reader, table, mapping, choices), mapping
    with transaction.atomic():
        report = import_table(writer, labels.reader, table, mapping, choices)
        if digest_of(report) != form.digest:
            raise Conflict(_("The elements have changed since the preview. Nothing was imported; look at it again."))
        folded = {header.casefold() for header in table.headers.values()}
        usual = {header.casefold(): header for header in known}
        remember_columns(
            {
                header: column
                for header, column in form.chosen.items()
                if header in folded and usual.get(header, "") != column
            }
        )
    return report, mapping


def digest_of(report: TableReport) -> str:
    """Return a digest of everything that an import changes."""
    parts = [(draft.given.id, draft.row.number, list(draft.changes.values())) for draft in report.changed]
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _form(request: HttpRequest) -> ImportForm:
    """Return the chosen file, or the one that the preview sent back."""
    form = ImportForm(
        name=request.POST.get("name", ""),
        key=request.POST.get("key", "").strip(),
        type=request.POST.get("type", ""),
        digest=request.POST.get("digest", ""),
    )
    file = request.FILES.get("file")
    if isinstance(file, UploadedFile):
        # The preview sends the file back in base64, which must stay below the limit of a request body.
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE * 7 // 10
        if (file.size or 0) > most:
            text = _("The file has more than %(most)d bytes. Import it with manage.py import_table.")
            raise TooLarge(text % {"most": most})
        form.data, form.name = file.read(), str(file.name)
        return form
    text = request.POST.get("document", "")
    if not text:
        raise Invalid(_("Choose a workbook (xlsx) or a csv file."))
    try:
        form.data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Unreadable(_("The preview cannot be read. Choose the file again.")) from None
    return form


def _table(form: ImportForm) -> ReadTable:
    table = read_any(form.data, form.name)
    if len(table.rows) > MOST_ROWS:
        text = _("The table has more than %(most)d rows. Import it with manage.py import_table.")
        raise TooLarge(text % {"most": MOST_ROWS})
    return table


def _chosen(request: HttpRequest, table: ReadTable) -> dict[str, str]:
    """Return the columns that the form names for the headers of the file."""
    found = {}
    for place, header in table.headers.items():
        column = request.POST.get(f"column-{place}")
        if column is not None:
            found[header.casefold()] = column.strip()
    return found


def _render(
    request: HttpRequest,
    labels: OfficeLabels,
    form: ImportForm,
    table: ReadTable | None = None,
    report: TableReport | None = None,
    mapping: ColumnMapping | None = None,
    problem: Problem | None = None,
) -> HttpResponseBase:
    known = known_columns(labels.configuration)
    headers = _mapped(table, form, known, mapping) if table else []
    context: dict[str, Any] = {
        **office_context(request, _("Import a table")),
        "form": form,
        "document": base64.b64encode(form.data).decode() if table else "",
        "headers": headers,
        "has_ignored": any(not each.column for each in headers),
        "known": list(known),
        "keys": [header for header, each in known.items() if each.kind is ColumnKind.VALUE],
        "types": sorted((labels.type(each), each.key) for each in labels.configuration.types.values()),
        "problems": list(problem.details[:SHOWN]) if problem else [],
        "cancel": reverse("admin:elements_element_changelist"),
    }
    if report is not None:
        context |= _preview(report)
    return TemplateResponse(request, PAGE, context, status=status_of(problem) if problem else 200)


def _mapped(
    table: ReadTable, form: ImportForm, known: Mapping[str, Any], mapping: ColumnMapping | None
) -> list[MappedHeader]:
    usual = {header.casefold(): header for header in known}
    found = []
    for place, header in table.headers.items():
        column = form.chosen.get(header.casefold(), usual.get(header.casefold(), ""))
        if mapping is not None:
            column = mapping.columns[place].header if place in mapping.columns else ""
        found.append(MappedHeader(place, printable(header, 100), column))
    return found


def _preview(report: TableReport) -> dict[str, Any]:
    changed, problems, notes = report.changed, report.problems, report.notes
    return {
        "report": report,
        "counts": report.counts,
        "rows": [_row(each) for each in changed[:SHOWN]],
        "more_rows": max(len(changed) - SHOWN, 0),
        "cell_problems": problems[:SHOWN],
        "problem_count": len(problems),
        "more_problems": max(len(problems) - SHOWN, 0),
        "notes": notes[:SHOWN],
        "more_notes": max(len(notes) - SHOWN, 0),
        "can_import": bool(changed) and not problems,
        "digest": digest_of(report),
    }


def _row(draft: RowDraft) -> PreviewRow:
    changes = [
        CellChange(each.cell, each.column, _shown(each.old), _shown(each.new)) for each in draft.changes.values()
    ]
    address = element_address(draft.given.id) if draft.given.id else ""
    return PreviewRow(draft.row.number, address, draft.is_new, changes)


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


storage_office.add_page("elements/element/import/", import_view, "elements_import_table")
