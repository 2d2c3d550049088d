"""Import of a table in the back office: choose a file, map its columns, look at the preview, confirm (D466, D467)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from elements.admin.detail import office_context
from elements.admin.labels import OfficeLabels, element_address, labels_of
from elements.admin.linking import linked_reasons
from elements.models import TableImport
from elements.tables.columns import ColumnKind
from elements.tables.kept_imports import (
    SHOWN,
    UNFINISHED,
    KeptChoices,
    begin_import,
    begin_preview,
    discard_import,
    find_import,
    is_running,
    repeat_preview,
)
from elements.tables.mapping import known_columns
from elements.tables.read_tables import MOST_COLUMNS
from elements.writing.writers import require_changing
from repository_site.core.problems import Forbidden, Invalid, Problem
from repository_site.core.rest.errors import status_of
from repository_site.core.wording import clean_text
from storage.back_office import storage_office
from storage.pages import caller_of, storage_address, storage_of

PAGE = "elements_import_table"
Progress = TableImport.Progress


def import_view(request: HttpRequest) -> HttpResponseBase:
    """Show the file that a visitor imports: its preview, its progress or its result. Without one, ask for it."""
    require_changing(caller_of(request))
    if request.method != "POST":
        return _render(request)
    try:
        return _act(request)
    except Forbidden:
        raise
    except Problem as problem:
        return _render(request, problem)


def _act(request: HttpRequest) -> HttpResponseBase:
    storage, caller, given = storage_of(request), caller_of(request), request.POST
    if "_discard" in given:
        discard_import(caller)
    elif "_import" in given:
        table = begin_import(storage, caller, given.get("digest", ""))
        if table.progress == Progress.IMPORTED:
            messages.success(request, _result(table))
            discard_import(caller)
            return redirect("admin:elements_element_changelist")
    elif isinstance(file := request.FILES.get("file"), UploadedFile):
        address, request_id = storage_address(request), getattr(request, "request_id", "")
        begin_preview(storage, caller, request_id, address, str(file.name), file.read(), _choices(request))
    elif find_import(caller) is not None:
        repeat_preview(storage, caller, _choices(request))
    else:
        raise Invalid(_("Choose a workbook (xlsx) or a csv file."))
    return redirect(f"admin:{PAGE}")


def _choices(request: HttpRequest) -> KeptChoices:
    given = request.POST
    columns = {place: clean_text(given[name]) for place in range(MOST_COLUMNS) if (name := f"column-{place}") in given}
    key, type, only = (clean_text(given.get(name, "")) for name in ("key", "type", "only"))
    return KeptChoices(key, type, only, columns)


def _result(table: TableImport) -> str:
    counts = table.report["counts"]
    done = counts["create"] + counts["update"]
    return ngettext("%(count)d element was imported.", "%(count)d elements were imported.", done) % {"count": done}


def _render(request: HttpRequest, problem: Problem | None = None) -> HttpResponseBase:
    labels, table = labels_of(request), find_import(caller_of(request))
    known = known_columns(labels.configuration)
    context: dict[str, Any] = {
        **office_context(request, _("Import a table")),
        "known": list(known),
        "keys": [header for header, each in known.items() if each.kind is ColumnKind.VALUE],
        "types": sorted((labels.type(each), each.key) for each in labels.configuration.types.values()),
        "problems": list(problem.details[:SHOWN]) if problem else [],
        "cancel": reverse("admin:elements_element_changelist"),
        "chosen": KeptChoices(),
    }
    if table is not None:
        context |= _shown(labels, table)
    context["problems"] += context.pop("errors", [])
    return TemplateResponse(
        request, "back_office/elements/import_table.html", context, status=status_of(problem) if problem else 200
    )


def _shown(labels: OfficeLabels, table: TableImport) -> dict[str, Any]:
    if is_running(table):
        return {"running": table}
    if table.progress == Progress.IMPORTED:
        return {"result": _result(table), "name": table.name}
    report = table.report
    shown: dict[str, Any] = {
        "table": table,
        "chosen": KeptChoices.of(table),
        "headers": report.get("headers", []),
        "has_ignored": any(not column for _place, _header, column in report.get("headers", [])),
        "errors": report.get("errors", []),
    }
    if table.progress in UNFINISHED:
        shown["errors"] = [_("The table was not read to its end. Nothing was imported; preview it again.")]
    elif "counts" in report:
        shown |= {
            "report": report,
            "found_problems": _linked(labels, report["problems"]),
            "notes": _linked(labels, report["notes"]),
            "rows": [{**row, "address": element_address(row["id"]) if row["id"] else ""} for row in report["rows"]],
            "more_rows": report["row_count"] - len(report["rows"]),
            "more_problems": report["problem_count"] - len(report["problems"]),
            "more_notes": report["note_count"] - len(report["notes"]),
            "can_import": report["row_count"] > 0 and not report["problem_count"],
        }
    return shown


def _linked(labels: OfficeLabels, found: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Return cells with their problems, or notes, in words of the page."""
    return list(
        zip((cell for cell, _text in found), linked_reasons(labels, (text for _cell, text in found)), strict=True)
    )


storage_office.add_page("elements/element/import/", import_view, PAGE)
