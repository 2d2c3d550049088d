"""The reader and the writer of the domain for a request, in the back office or on reader pages."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from django.http import HttpRequest

from elements.permissions import Permission, sees_drafts
from elements.reading.assembly.assembler import Reader
from elements.reading.rows import Audience
from elements.writing.writers import Writer, require_changing, settled_writer
from facets.configuration import configuration_of
from storage.pages import caller_of, storage_address, storage_of


def reader_of(request: HttpRequest) -> Reader:
    """Return a reader with the same visibility as in the API (D6)."""
    storage = storage_of(request)
    audience = Audience(sees_drafts(caller_of(request)))
    return Reader(configuration_of(storage), audience, ZoneInfo(storage.time_zone), storage_address(request))


def writer_of(request: HttpRequest) -> Writer:
    """Return a writer for transitions and tasks; it locks the configuration until the change is made."""
    return settled_writer(storage_of(request), caller_of(request), getattr(request, "request_id", ""))


def content_writer_of(request: HttpRequest, needed: Permission = Permission.EDIT) -> Writer:
    """Return a writer for changes of content; raise `Forbidden` if the caller has no permission to change anything."""
    require_changing(caller_of(request), needed)
    return writer_of(request)
