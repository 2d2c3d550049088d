"""BPMN documents of a diagram in the back office: a link that exports, and a form that previews and imports (D289)."""

from __future__ import annotations

import base64
from itertools import islice
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from elements.admin.detail import office_context
from elements.admin.editing.views import same_revision
from elements.admin.labels import OfficeLabels
from elements.admin.linking import linked_texts
from elements.admin.panels import ElementPage, find_page
from elements.bpmn.exporting import export_bpmn
from elements.bpmn.importing import ImportReport, import_bpmn
from elements.locks import Lock
from elements.permissions import Permission, needs_permission
from elements.presentation.page_requests import content_writer_of
from elements.writing.writers import Writer
from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, Problem, TooLarge, Unreadable
from repository_site.core.rest.errors import status_of
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.rendering import XML_TYPE
from storage.back_office import storage_office

PAGE = "back_office/elements/bpmn.html"
SHOWN = 200
"""Most items of a list that a preview shows."""


def export_view(request: HttpRequest, element: str) -> HttpResponseBase:
    page = _page_with_diagram(request, element)
    make = export_bpmn(page.labels.reader, page.row, page.labels.lcid)
    return LateResponse(make, XML_TYPE, {"Content-Disposition": f'attachment; filename="{page.row.version}.bpmn"'})


def import_view(request: HttpRequest, element: str) -> HttpResponseBase:
    """Show what a chosen file would change. The preview posts the same document again, which is then imported."""
    writer = content_writer_of(request) if request.method == "POST" else None
    page = _page_with_diagram(request, element)
    _require_drawable(page)
    if writer is None:
        return _render(page)
    is_preview = "_import" not in request.POST
    document = b""
    try:
        document = _document(request)
        report = _import(writer, page, document, request.POST.get("revision", ""), dry_run=is_preview)
    except Forbidden:
        raise
    except Problem as problem:
        return _render(page, problem=problem)
    if is_preview:
        return _render(page, report, document)
    if report.changes.is_empty:
        messages.info(request, _("Nothing was changed."))
    else:
        messages.success(request, _("The diagram of %(name)s was imported.") % {"name": page.name})
    return redirect(page.address(tab="diagram"))


def _import(writer: Writer, page: ElementPage, document: bytes, revision: str, *, dry_run: bool) -> ImportReport:
    check = same_revision(revision)
    with transaction.atomic():
        return import_bpmn(writer, page.view, page.row, document, page.labels.lcid, check, dry_run=dry_run)


def _page_with_diagram(request: HttpRequest, element: str) -> ElementPage:
    page = find_page(request, element, request.GET.get("version"))
    if not page.type.has_diagram:
        raise NotFound(_("Elements of the type %(type)s have no diagram.") % {"type": page.type_name})
    return page


def _require_drawable(page: ElementPage) -> None:
    if not page.can_draw:
        by_state = page.standing.lock in (Lock.ALL, Lock.DIAGRAM)
        raise (Conflict if by_state else Forbidden)(page.lock_text or needs_permission(Permission.EDIT))


def _document(request: HttpRequest) -> bytes:
    """Return the chosen file, or the document that the preview sent back."""
    file = request.FILES.get("file")
    if isinstance(file, UploadedFile):
        # The preview sends the document back in base64, which must stay below the limit of a request body.
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE * 7 // 10
        if (file.size or 0) > most:
            text = _("The file has more than %(most)d bytes. Import it with the API or with manage.py import_bpmn.")
            raise TooLarge(text % {"most": most})
        found: bytes = file.read()
        return found
    text = request.POST.get("document", "")
    if not text:
        raise Invalid(_("Choose a BPMN 2.0 file."))
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise Unreadable(_("The preview cannot be read. Choose the file again.")) from None


def _render(
    page: ElementPage, report: ImportReport | None = None, document: bytes = b"", problem: Problem | None = None
) -> HttpResponseBase:
    context: dict[str, Any] = {
        **office_context(page.request, _("Import BPMN into %(name)s") % {"name": page.name}),
        "page": page,
        "cancel": page.address(tab="diagram"),
        "culture": next((each.name for each in page.labels.cultures if each.lcid == page.labels.lcid), ""),
        "problems": linked_texts(page.labels, problem.details[:SHOWN]) if problem else (),
        "revision": page.row.revision,
    }
    if report is not None:
        context |= {
            "report": report,
            "lists": _lists(page.labels, report),
            "document": base64.b64encode(document).decode(),
        }
    return TemplateResponse(page.request, PAGE, context, status=status_of(problem) if problem else 200)


def _lists(labels: OfficeLabels, report: ImportReport) -> list[dict[str, Any]]:
    """Return what the document adds and removes, keeps and loses, each with its heading."""
    changes = report.changes
    parts = (
        (_("Added"), [_change_text(each) for each in changes.added]),
        (_("Changed"), [_change_text(each) for each in changes.changed]),
        (_("Removed"), [_change_text(each) for each in changes.removed]),
        (_("Kept in the document"), [_item_text(each.kind, each.name, each.id, each.text) for each in report.kept]),
        (_("Lost"), [_item_text(each.kind, each.name, each.id, each.text) for each in report.lost]),
    )
    linked = iter(linked_texts(labels, (text for _title, texts in parts for text in texts[:SHOWN])))
    return [
        {
            "title": title,
            "count": len(texts),
            "items": [*islice(linked, min(len(texts), SHOWN))],
            "more": max(len(texts) - SHOWN, 0),
        }
        for title, texts in parts
        if texts
    ]


def _change_text(note: dict[str, Any]) -> str:
    kinds = {
        "shape": _("Shape"),
        "flow": _("Flow"),
        "lane": _("Lane"),
        "element": _("Element"),
        "bpmn": _("BPMN document"),
        "caller": _("Diagram that calls this process"),
    }
    name = note.get("bpmnId") or note.get("type") or note.get("id") or note.get("shapeId") or ""
    return f"{kinds[note['kind']]} {name}".strip()


def _item_text(kind: str, name: str, id: str, text: str) -> str:
    label = f"{kind} {id}".strip() + (f" “{name}”" if name else "")
    return f"{label}: {text}" if text else label


storage_office.add_page("elements/element/<str:element>/bpmn/", export_view, "elements_bpmn_export")
storage_office.add_page("elements/element/<str:element>/bpmn/import/", import_view, "elements_bpmn_import")
