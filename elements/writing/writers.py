"""The writer of a change: caller, storage and settled configuration, for the API and for pages alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from elements.permissions import CHANGING, Permission, granted_to, needs_permission
from elements.writing.authors import Author
from facets.configuration import Configuration, settling
from repository_site.core.database.statements import Inquiry, Question
from repository_site.core.problems import Forbidden
from storage.access.callers import Caller
from storage.models import Storage
from storage.quotas import begin_quota
from storage.tenancy.scope import whole_content

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


@whole_content()
def settled_writer(storage: Storage, caller: Caller, request_id: str) -> Writer:
    """Return the writer, and lock the configuration until the transaction ends. Call this first in a change."""
    inquiry = Inquiry()
    asked = ask_for_writer(inquiry, storage, caller, request_id)
    inquiry.ask()
    return asked()


def ask_for_writer(inquiry: Inquiry, storage: Storage, caller: Caller, request_id: str) -> Callable[[], Writer]:
    """Add the questions that a writer needs, and return a function that returns it."""
    configuration, element = inquiry.add(settling(storage)), inquiry.add(_caller_element(caller))

    def writer() -> Writer:
        settled = configuration()
        author = Author(element(), caller.label, request_id, begin_quota(storage))
        return Writer(settled, caller, ZoneInfo(storage.time_zone), author)

    return writer


def can_change(caller: Caller) -> bool:
    """Return whether the roles of a caller grant any permission to change content."""
    return bool(granted_to(caller) & CHANGING)


def require_changing(caller: Caller, needed: Permission = Permission.EDIT) -> None:
    """Refuse callers whose roles grant no permission to change content at all."""
    if not can_change(caller):
        raise Forbidden(needs_permission(needed))


def _caller_element(caller: Caller) -> Question[UUID | None]:
    """Return the caller's element if this storage has it, locked against deletion until the transaction ends."""
    sql = "SELECT id FROM elements_element WHERE id = %s FOR KEY SHARE" if caller.element_id else ""
    return Question(sql, [caller.element_id], lambda rows: caller.element_id if rows else None)
