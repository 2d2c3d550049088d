"""Files of a storage: upload and content (D450 to D453)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from rest_framework.request import Request

from elements.api.files import file_serializers as bodies
from elements.api.reading_viewset import ElementReadingViewSet
from elements.reading.files import readable_files
from elements.writing.writers import require_changing
from facets.configuration import configuration_of
from repository_site.core.database.pool import release_connection
from repository_site.core.fairness.admission import away_from_gate, gate, stream_ticket
from repository_site.core.middleware import reading
from repository_site.core.problems import NotFound, Unreadable
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, printable
from storage.api.authentication import authenticate, digest_in_header
from storage.api.conditional_requests import asks_for_any, is_known, not_modified
from storage.api.preferences import prefers_minimal
from storage.files import FILES_PATH
from storage.files.cleaning import discard_content
from storage.files.contents import put_content
from storage.files.media_types import KNOWN, UNKNOWN
from storage.files.receiving import MULTIPART, ReceivedFile, received_file
from storage.files.sending import entity_tag, send_file
from storage.files.storing import FileRow, store_file
from storage.tenancy.contexts import find_context

TAG = "files"
FIRST = ApiVersions.up_to("1.0")
# Language of the page that uploads a file.
LANGUAGE = "HTTP_X_PAGE_LANGUAGE"
TOO_MANY = "The server is receiving too many request bodies for this storage. Try again in {wait}."


class FileViewSet(ElementReadingViewSet):
    # The body of an upload can be received only once.
    recalls_contexts = False
    received: ReceivedFile
    found: FileRow | None = None

    @Operation(
        "uploadFile",
        tag=TAG,
        summary="Upload a file",
        versions=FIRST,
        writes=True,
        creates=True,
        parameters=bodies.UPLOAD,
        body=bodies.UPLOAD_BODY,
        body_types=(UNKNOWN, MULTIPART),
        responses=bodies.StoredFilesSerializer,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Store a file, and return the id to put into an attribute of type Files. Requires the permission EditElement.

        The file is the body, with its name as the parameter `name`, or the file `file` of a form. For the same content
        and name, the same caller gets the same id again. A file that no attribute contains is removed after a week.
        """
        row = store_file(self.storage, self.received, self.caller.label, timezone.now())
        file = self._wire(row)
        self.has_created = True
        headers = {"Location": file["fullAddress"]} if prefers_minimal(request) else {}
        return answer(counted("values", [file]), headers=headers)

    @Operation(
        "getFile",
        tag=TAG,
        summary="Read the content of a file",
        versions=FIRST,
        media_types=(UNKNOWN, *KNOWN, "image/*", "text/*", "audio/*", "video/*"),
        parameters=bodies.DOWNLOAD,
        responses=bodies.CONTENT,
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return the content of a file, or the part of it that `Range` asks for.

        Callers can read the files of versions that they can read, and the files that they have uploaded; administrators
        can read all files. Nothing in a file can run in a browser: except for some kinds of pictures and plain text,
        files are always downloaded.
        """
        self.query(request).finish()
        id = names["fileId"]
        if not GUID.fullmatch(id):
            raise Unreadable(f"{printable(id, 80)!r} is not a GUID.")
        found = readable_files(self.caller, configuration_of(self.storage), [id.lower()])
        if not found:
            raise NotFound(f"There is no file {id.lower()}.")
        self.found = found[id.lower()]
        return HttpResponse()

    def _answer(self, request: Request, **names: str) -> HttpResponseBase:
        if self.operation.writes:
            given = request.META.get(LANGUAGE, "")
            # The upload field of the back office shows messages as they are (D449).
            with translation.override(given if given in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE):
                return self._receive(request, names)
        response = super()._answer(request, **names)
        if self.found is None:
            return response
        # The content needs no database, and may take as long as the client reads.
        release_connection()
        if asks_for_any(request) or is_known(request, entity_tag(self.found)):
            return not_modified(entity_tag(self.found))
        return send_file(request._request, self.storage, self.found)

    def _receive(self, request: Request, names: dict[str, str]) -> HttpResponseBase:
        """Receive the body without a place, a connection or a transaction, then store it (D453)."""
        require_changing(self.caller)
        query = self.query(request)
        name = query.text(bodies.NAME)
        query.finish()
        plain = request._request
        ticket = stream_ticket(plain)
        share = ticket.storage, *ticket.parts
        if not reading.take(*share):
            raise gate.refuse("bodies", TOO_MANY, ticket.who)
        failure: Exception | None = None
        with ExitStack() as disk:
            try:
                with away_from_gate(plain):
                    # The request must come back to the gate in any case.
                    try:
                        self.received = disk.enter_context(received_file(plain, name))
                        put_content(self.storage.pk, self.received.digest, self.received.path)
                        disk.push(self._discard)
                    except Exception as problem:
                        failure = problem
            finally:
                reading.give_back(*share)
            if failure is not None:
                raise failure
            self._recognise_again(request)
            return super()._answer(request, **names)

    def _discard(self, kind: type[BaseException] | None, *problem: object) -> None:
        """Remove the content again if the upload fails after all: content beyond a quota would fill the disk."""
        if kind is not None:
            discard_content(self.storage, self.received.digest)

    def _recognise_again(self, request: Request) -> None:
        """Find storage and caller again: meanwhile the storage may have been removed, or the token revoked."""
        self.context = find_context(self.kwargs["collectionId"], self.kwargs["storageId"], digest_in_header(request))
        self.caller = authenticate(request, self.context)
        self.require_access()
        require_changing(self.caller)

    def body_of(self, request: Request) -> bytes:
        return f"{self.received.digest} {self.received.name}".encode()

    def _wire(self, file: FileRow) -> dict[str, Any]:
        return {
            "id": file.id,
            "name": file.name,
            "size": file.size,
            "mimeType": file.media_type,
            "sha256": file.digest,
            "fullAddress": f"{self.storage_address}/{FILES_PATH}{file.id}",
            "uploadedOn": wire_datetime(file.uploaded_on, self.reader.zone),
        }
