"""The reader and the writer of the domain for a request, in the back office or on reader pages."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from django.http import HttpRequest

from elements.permissions import Permission, sees_drafts
from elements.reading.assembly.assembler import Reader
from elements.reading.rows import Audience, VersionRow
from elements.writing.writers import Writer, require_changing, settled_writer
from facets.clearance import visible_to_caller
from facets.configuration import configuration_of
from storage.access.callers import narrow_to
from storage.pages import caller_of, storage_address, storage_of


def reader_of(request: HttpRequest) -> Reader:
    """Return a reader with the same visibility as in the API (D6)."""
    storage, caller = storage_of(request), caller_of(request)
    configuration = visible_to_caller(caller, configuration_of(storage))
    audience = Audience(sees_drafts(caller), configuration.closed, configuration.hidden)
    return Reader(configuration, audience, ZoneInfo(storage.time_zone), storage_address(request))


def reader_of_self(request: HttpRequest, reader: Reader, row: VersionRow) -> Reader:
    """Return a reader for one element: it shows callers everything about themselves (D399)."""
    if row.element != str(caller_of(request).element_id):
        return reader
    return replace(reader, configuration=configuration_of(storage_of(request)), others=reader.nested)


def writer_of(request: HttpRequest) -> Writer:
    """Return a writer for transitions and tasks; it locks the configuration until the change is made."""
    storage, caller = storage_of(request), caller_of(request)
    before = storage.configuration_revision
    writer = settled_writer(storage, caller, getattr(request, "request_id", ""))
    if storage.configuration_revision != before:
        # Permission sets may have changed while this request waited for the configuration (D520).
        narrow_to(storage, lambda: caller)
    return writer


def content_writer_of(request: HttpRequest, needed: Permission = Permission.EDIT) -> Writer:
    """Return a writer for changes of content; raise `Forbidden` if the caller has no permission to change anything."""
    require_changing(caller_of(request), needed)
    return writer_of(request)
