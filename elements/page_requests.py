"""From a request for a page, in the back office or for readers, to the reader and the writer of the domain."""

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
    """Reads as the API would for this caller, with the same visibility (D6)."""
    storage = storage_of(request)
    audience = Audience(sees_drafts(caller_of(request)))
    return Reader(configuration_of(storage), audience, ZoneInfo(storage.time_zone), storage_address(request))


def writer_of(request: HttpRequest) -> Writer:
    """For transitions and tasks; the configuration stays as it is until the change is made."""
    return settled_writer(storage_of(request), caller_of(request), getattr(request, "request_id", ""))


def content_writer_of(request: HttpRequest, needed: Permission = Permission.EDIT) -> Writer:
    """For changes of content, which need one of the permissions to change something at all."""
    require_changing(caller_of(request), needed)
    return writer_of(request)
