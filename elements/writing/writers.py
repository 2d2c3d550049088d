"""The writer of a change: caller, storage and settled configuration, for the API and for pages alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from elements.permissions import CHANGING, Permission, granted_to, needs_permission
from elements.writing.history import Author
from facets.configuration import Configuration, settled_configuration
from repository_site.core.database.statements import look_up
from repository_site.core.problems import Forbidden
from storage.access.callers import Caller
from storage.models import Storage
from storage.quotas import begin_quota

NO_END = datetime(9999, 12, 31)


@dataclass(frozen=True, slots=True)
class Writer:
    """Caller and storage of a change; the same for everything in one request."""

    configuration: Configuration
    caller: Caller
    zone: ZoneInfo
    author: Author

    @property
    def no_end(self) -> datetime:
        return NO_END.replace(tzinfo=self.zone)


def settled_writer(storage: Storage, caller: Caller, request_id: str) -> Writer:
    """Return the writer, and lock the configuration until the transaction ends. Call this first in a change."""
    configuration = settled_configuration(storage)
    author = Author(_caller_element(caller), caller.label, request_id, begin_quota(storage))
    return Writer(configuration, caller, ZoneInfo(storage.time_zone), author)


def require_changing(caller: Caller, needed: Permission = Permission.EDIT) -> None:
    """Refuse callers whose roles grant no permission to change content at all."""
    if not granted_to(caller) & CHANGING:
        raise Forbidden(needs_permission(needed))


def _caller_element(caller: Caller) -> UUID | None:
    """Return the caller's element if this storage has it, locked against deletion until the transaction ends."""
    if caller.element_id is None:
        return None
    sql = "SELECT id FROM elements_element WHERE id = %s FOR KEY SHARE"
    return caller.element_id if look_up(sql, [caller.element_id]) else None
