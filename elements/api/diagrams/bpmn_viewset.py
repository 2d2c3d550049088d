"""The diagram of an element as a BPMN 2.0 document: export and import (D288)."""

from __future__ import annotations

import re

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.http.multipartparser import MultiPartParserError
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from elements.api import query_parameters
from elements.api.diagrams.bpmn_serializers import BPMN_BODY, BPMN_DOCUMENT, BpmnImportSerializer
from elements.api.query import DRY_RUN, QueryParameters
from elements.api.writing_viewset import ElementWritingViewSet
from elements.bpmn.exporting import export_bpmn
from elements.bpmn.importing import import_bpmn
from elements.reading.rows import VersionRow
from repository_site.core.problems import NotFound, TooLarge, Unreadable
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import HTML_TYPE, XML_TYPE, answer
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import listed, printable
from storage.api.conditional_requests import Prepared

BPMN_TYPE = "application/bpmn+xml"
XML_TYPES = (XML_TYPE, BPMN_TYPE, "text/xml", "application/octet-stream")
MULTIPART = "multipart/form-data"
FILE = "file"


class BpmnViewSet(ElementWritingViewSet):
    @Operation(
        "exportBpmn",
        tag="diagrams",
        summary="Export a diagram as BPMN 2.0",
        versions=ApiVersions.up_to("1.0"),
        # A browser that opens the address asks for HTML.
        media_types=(XML_TYPE, BPMN_TYPE, "text/xml", HTML_TYPE),
        parameters=query_parameters.BPMN_EXPORT,
        is_conditional=True,
        responses=BPMN_DOCUMENT,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return the diagram of an element, or of one of its versions, as a BPMN 2.0 document.

        The names in the document are those of one culture; the other cultures are in extension elements. A document
        that was imported comes back with all its parts and with every change since.
        """
        query = self.query(request)
        culture = self._culture(query)
        query.finish()
        row = self._diagram(names["elementId"])

        def export() -> LateResponse:
            make = export_bpmn(self.reader, row, culture)
            headers = {
                "Content-Disposition": f'attachment; filename="{row.version}.bpmn"',
                "X-Content-Type-Options": "nosniff",
            }
            return LateResponse(make, XML_TYPE, headers)

        return Prepared(export)

    @Operation(
        "importBpmn",
        tag="diagrams",
        summary="Import a BPMN 2.0 document into a diagram",
        versions=ApiVersions.up_to("1.0"),
        writes=True,
        parameters=query_parameters.BPMN_IMPORT,
        body=BPMN_BODY,
        body_types=(XML_TYPE, BPMN_TYPE, MULTIPART),
        responses=BpmnImportSerializer,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Replace the diagram of an element with that of a BPMN 2.0 document. Requires the permission EditElement.

        The document is the body, or the file `file` of a form. BPMN ids are remembered: the same document again changes
        nothing. The response lists what is added, changed and removed, what only the stored document keeps, and what is
        lost. `dryRun=true` only reports. A version that is not in process gets 409; create a new version first.
        """
        writer = self.writer(request)
        query = self.query(request)
        culture = self._culture(query)
        dry_run = query.boolean(DRY_RUN, query.text(DRY_RUN)) is True
        query.finish()
        row = self._diagram(names["elementId"])
        view = self.reader.addresses.detail_view(self.reader.types[row.type])
        report = import_bpmn(
            writer,
            view,
            row,
            _document(request),
            culture,
            lambda rows: self.check_match(request, rows),
            dry_run=dry_run,
        )
        return answer(report.wire())

    def _diagram(self, element_id: str) -> VersionRow:
        row = self.element(element_id)
        type = self.reader.types[row.type]
        if not type.has_diagram:
            known = [each.key for each in self.configuration.types.values() if each.has_diagram]
            text = f"There is no diagram of {row.version}: elements of the type {type.key} have no diagram."
            raise NotFound(f"{text} Choose an element of the type {listed(known, 'or')}." if known else text)
        return row

    def _culture(self, query: QueryParameters) -> int:
        cultures = self.configuration.cultures
        text = query.text("lcid")
        if text is None:
            return cultures.default
        if not re.fullmatch("[0-9]{1,9}", text) or int(text) not in cultures.data:
            query.problems.append(
                f"lcid: {printable(text, 40)!r} is not a culture of this storage; it has {listed(cultures.data)}."
            )
            return cultures.default
        return int(text)


def _document(request: Request) -> bytes:
    """Return the document in the body, or in the file of a form."""
    plain = request._request
    media_type = (request.content_type or "").partition(";")[0].strip().lower()
    if media_type in XML_TYPES or not media_type:
        return plain.body
    if media_type != MULTIPART:
        raise UnsupportedMediaType(media_type)
    try:
        files = plain.FILES
    except MultiPartParserError as problem:
        raise Unreadable(f"The form cannot be read: {problem}.") from None
    file = files.get(FILE)
    if not isinstance(file, UploadedFile):
        raise Unreadable(f"The form has no file. Send the document as the file {FILE!r}, or as the body.")
    # Django limits the fields of a form, but not its files.
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if (file.size or 0) > most:
        raise TooLarge(f"The file has more than {most:,} bytes. Divide the model.")
    data: bytes = file.read()
    return data
