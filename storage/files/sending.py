"""The response with the content of a file: entity tag, ranges, and headers that let nothing run (D452)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

from repository_site.core.fairness.admission import gate, stream_ticket
from repository_site.core.fairness.shares import Shares
from repository_site.core.fairness.unread_responses import LARGE
from repository_site.core.policies import NAME as POLICY_NAME
from repository_site.core.rest.errors import ErrorKind, error_answer
from storage.files.contents import Readable, open_part, storing
from storage.files.media_types import SHOWN, TEXT
from storage.files.storing import FileRow
from storage.models import Storage

# Nothing in a file can load, run or be framed, whatever a browser takes it for.
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
PIECE = 128 * 1024
# Clients that can read large files from a worker at once; each of them occupies a thread.
SENDING_AT_ONCE = 32
sending = Shares(SENDING_AT_ONCE)
TOO_MANY = "Too many files of this storage or caller are being read; try again in {wait}."


class Unsatisfiable(Exception):
    """The range begins after the end of the content."""


def entity_tag(file: FileRow) -> str:
    return f'"{file.digest}"'


def send_file(request: HttpRequest, storage: Storage, file: FileRow) -> HttpResponseBase:
    """Return the content, or the part of it that the request asks for. Call this after the transaction."""
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Disposition": content_disposition_header(file.media_type not in SHOWN, file.name) or "attachment",
        POLICY_NAME: POLICY,
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "ETag": entity_tag(file),
    }
    try:
        part = wanted_part(request, file)
    except Unsatisfiable:
        text = f"Range: the file has {file.size} bytes; the range begins after its end."
        unsatisfied = {"Content-Range": f"bytes */{file.size}"}
        return error_answer(ErrorKind(416, "error", "volatile"), text, headers=unsatisfied)
    start, end = part or (0, file.size)
    if part:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    headers["Content-Length"] = str(end - start)
    content_type = f"{TEXT}; charset=utf-8" if file.media_type == TEXT else file.media_type
    response = _content(request, storage, file, start, end)
    response["Content-Type"] = content_type
    response.status_code = 206 if part else 200
    for name, value in headers.items():
        response[name] = value
    return response


def wanted_part(request: HttpRequest, file: FileRow) -> tuple[int, int] | None:
    """Return start and end of the part that a request asks for; None for everything.

    Several ranges, other units and a changed file (`If-Range`) mean everything, as RFC 9110 allows.
    """
    found = RANGE.fullmatch(request.META.get("HTTP_RANGE", "").strip()) if request.method == "GET" else None
    condition = request.META.get("HTTP_IF_RANGE")
    if found is None or not (found[1] or found[2]) or (condition and condition.strip() != entity_tag(file)):
        return None
    if not found[1]:
        start, end = max(0, file.size - int(found[2])), file.size
    else:
        start, end = int(found[1]), min(int(found[2]) + 1, file.size) if found[2] else file.size
        if found[2] and int(found[2]) < int(found[1]):
            return None
    if start >= end:
        raise Unsatisfiable
    return start, end


def _content(request: HttpRequest, storage: Storage, file: FileRow, start: int, end: int) -> HttpResponseBase:
    if request.method == "HEAD":
        return HttpResponse()
    if end - start <= LARGE:
        with closing(open_part(storage.pk, file.digest, start, end)) as content, storing():
            return HttpResponse(content.read(end - start))
    ticket = stream_ticket(request)
    share = ticket.storage, *ticket.parts
    if not sending.take(*share):
        raise gate.refuse("files", TOO_MANY, ticket.who)
    try:
        content = open_part(storage.pk, file.digest, start, end)
    except BaseException:
        sending.give_back(*share)
        raise
    return StreamingHttpResponse(_FilePieces(content, end - start, share))


class _FilePieces:
    """Pieces of a content for a client that reads it. The server closes them, even if the client reads none."""

    def __init__(self, content: Readable, left: int, share: tuple[Any, ...]) -> None:
        self.content, self.left, self.share = content, left, share
        self.is_open = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        piece = self.content.read(min(PIECE, self.left)) if self.left else b""
        if not piece:
            self.close()
            raise StopIteration
        self.left -= len(piece)
        return piece

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            sending.give_back(*self.share)
            self.content.close()
