"""From a storage and a caller to the writer of a change, for the API and for pages alike."""

from __future__ import annotations

from uuid import UUID
from zoneinfo import ZoneInfo

from elements.permissions import CHANGING, Permission, granted_to, needs_permission
from elements.writing.history import Author
from elements.writing.updating import Writer
from facets.configuration import settled_configuration
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Forbidden
from storage.access.callers import Caller
from storage.models import Storage


def settled_writer(storage: Storage, caller: Caller, request_id: str) -> Writer:
    """Before anything else in a change: from here on the configuration stays as it is until the change is made."""
    configuration = settled_configuration(storage)
    author = Author(_caller_element(caller), caller.label, request_id)
    return Writer(configuration, caller, ZoneInfo(storage.time_zone), author)


def require_changing(caller: Caller, needed: Permission = Permission.EDIT) -> None:
    """Changes of content need one of the permissions to change something at all."""
    if not granted_to(caller) & CHANGING:
        raise Forbidden(needs_permission(needed))


def _caller_element(caller: Caller) -> UUID | None:
    """The caller's element, when there is one in this storage; it stays until the change is made."""
    if caller.element_id is None:
        return None
    sql = "SELECT id FROM elements_element WHERE id = %s FOR KEY SHARE"
    return caller.element_id if fetch(sql, [caller.element_id]) else None
