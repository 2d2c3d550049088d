"""Receives the body of an upload: streamed to disk, with its digest, without a database connection (D453)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.formats import number_format
from django.utils.http import parse_header_parameters
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from repository_site.core.problems import Invalid, Problem, TooLarge, TooSlow, Unreadable, placed
from repository_site.core.refused_bodies import PIECE, discard_body
from storage.files.contents import incoming_file, storing
from storage.files.media_types import ContentProbe, file_name

MULTIPART = "multipart/form-data"
# The field of a form that has the file.
FILE = "file"
# Bytes of a form beside its file: boundaries, headers and other fields.
FORM_ROOM = 64 * 1024
# Enough for the last boundary, and for some line breaks after it.
TAIL = 512
CUT_OFF = gettext_lazy("The request body is shorter than its Content-Length; nothing was stored. Send the file again.")
NO_NAME = gettext_lazy("a file needs a name, such as ?name=plan.pdf, or the filename of a form")


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A complete file on disk, which is not stored yet."""

    path: str
    name: str
    media_type: str
    digest: str
    size: int


@contextmanager
def received_file(request: HttpRequest, name: str | None) -> Iterator[ReceivedFile]:
    """Return the file in the body of a request, or in its form. Without a name of its own, it is called `name`."""
    with incoming_file() as file:
        taking = _Taking(file)
        body = _Body(request)
        try:
            body.check_length()
            given, claimed = _read(request, body, taking)
        except TooLarge:
            discard_body(request, body.left, body.most, already=body.read_so_far)
            raise
        body.finish()
        with storing():
            file.flush()
        cleaned = file_name(name or given)
        if not cleaned:
            raise Invalid(placed("name", f"{NO_NAME}."))
        media_type = taking.probe.media_type(claimed, cleaned)
        yield ReceivedFile(str(file.name), cleaned, media_type, taking.digest.hexdigest(), taking.size)


def _read(request: HttpRequest, body: _Body, taking: _Taking) -> tuple[str, str]:
    """Read a body, and return the name and the media type that the client claims for its file."""
    content_type = request.META.get("CONTENT_TYPE", "")
    if content_type.partition(";")[0].strip().lower() == MULTIPART:
        return _read_form(request, body, taking)
    while piece := body.read(PIECE):
        taking.add(piece)
    return "", content_type


class _Taking:
    """Writes the pieces of a file, and computes everything that has to be known about it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.digest = hashlib.sha256()
        self.probe = ContentProbe()
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > settings.FILE_LIMIT:
            raise too_large()
        self.digest.update(piece)
        self.probe.add(piece)
        with storing():
            self.file.write(piece)


def too_large() -> TooLarge:
    text = _("The file is larger than %(most)s bytes, the limit of the installation.")
    return TooLarge(text % {"most": number_format(settings.FILE_LIMIT, force_grouping=True)})


class _Body:
    """The body of a request, read piece by piece up to its end. A body that is cut off is a problem, not an end."""

    def __init__(self, request: HttpRequest) -> None:
        length = request.META.get("CONTENT_LENGTH") or ""
        is_chunked = not length and "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
        if length and not length.isdecimal():
            raise Unreadable("The Content-Length header is not a number.")
        self.input: Any = request.META["wsgi.input"]
        self.most = settings.FILE_LIMIT + FORM_ROOM
        self.left = None if is_chunked else int(length or 0)
        self.read_so_far = 0
        self.tail = b""

    def check_length(self) -> None:
        if (self.left or 0) > self.most:
            raise too_large()

    def read(self, size: int = PIECE) -> bytes:
        wanted = size if self.left is None else min(size, self.left)
        if not wanted:
            return b""
        try:
            piece: bytes = self.input.read(wanted)
        except TimeoutError as problem:
            text = _("The request body arrives more slowly than %(rate)d bytes a second. Send it faster.")
            raise TooSlow(text % {"rate": settings.STREAM_RATE}) from problem
        except OSError as problem:
            raise Unreadable(str(CUT_OFF)) from problem
        self.read_so_far += len(piece)
        if self.read_so_far > self.most:
            raise too_large()
        if self.left is not None:
            if not piece:
                raise Unreadable(str(CUT_OFF))
            self.left -= len(piece)
        self.tail = (self.tail + piece)[-TAIL:]
        return piece

    def finish(self) -> None:
        """Raise if the body is not complete."""
        if self.left:
            raise Unreadable(str(CUT_OFF))


class _FormFile(FileUploadHandler):
    """Takes the file of a form."""

    def __init__(self, taking: _Taking) -> None:
        super().__init__()
        self.taking = taking
        self.names: list[str] = []
        self.claimed = ""

    def new_file(self, field_name: str, file_name: str, content_type: str, *args: Any, **kwargs: Any) -> None:
        if field_name != FILE:
            raise SkipFile
        if self.names:
            raise Unreadable(f"The form has several files {FILE!r}. Send one file in each request.")
        self.names.append(file_name)
        self.claimed = content_type or ""
        super().new_file(field_name, file_name, content_type, *args, **kwargs)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.taking.add(raw_data)

    def file_complete(self, file_size: int) -> None:
        """Return nothing: the caller has the file."""


def _read_form(request: HttpRequest, body: _Body, taking: _Taking) -> tuple[str, str]:
    """Read a form, and return the name and the media type that the client claims for its file."""
    handler = _FormFile(taking)
    content_type = request.META["CONTENT_TYPE"]
    # Django takes a form of unknown length for an empty one.
    meta = {"CONTENT_TYPE": content_type, "CONTENT_LENGTH": str(body.most if body.left is None else body.left)}
    try:
        parser = MultiPartParser(meta, body, [handler], "utf-8")  # type: ignore[arg-type]  # it needs `read` only
        parser.parse()
    except Problem:
        raise
    except (MultiPartParserError, BadRequest, SuspiciousOperation, RequestDataTooBig) as problem:
        raise Unreadable(f"The form cannot be read: {problem}") from None
    boundary = parse_header_parameters(content_type)[1].get("boundary", "")
    if f"--{boundary}--".encode() not in body.tail:
        raise Unreadable("The form ends before its last boundary; nothing was stored. Send the file again.")
    if not handler.names:
        raise Unreadable(f"The form has no file. Send the content as the file {FILE!r}, or as the body.")
    return handler.names[0], handler.claimed
