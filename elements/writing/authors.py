"""The author of a change: caller, request and time, for the change history and for events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from uuid import UUID

from django.utils import timezone
from django.utils.functional import cached_property

from storage.quotas import Quota

_clock: ContextVar[datetime | None] = ContextVar("clock", default=None)


@contextmanager
def changes_at(moment: datetime) -> Iterator[None]:
    """Let changes have an earlier time, for generated content with a past such as the demo (D430)."""
    token = _clock.set(moment)
    try:
        yield
    finally:
        _clock.reset(token)


@dataclass(frozen=True)
class Author:
    element: UUID | None
    label: str
    request_id: str
    quota: Quota | None = None
    """Quota of the storage. It is checked here, because every change of a request ends with an entry in the history."""

    places: Iterator[int] = field(default_factory=count, compare=False, repr=False)
    """Counts the events of the change, so that they keep their order."""

    @cached_property
    def now(self) -> datetime:
        """Time of the change. It is read once, when the first row is written and all locks are held: the later of two
        changes to an element has the later time."""
        return _clock.get() or timezone.now()
