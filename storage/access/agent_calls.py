"""Calls of agents by token, day and tool (D596).

A call costs one addition in memory. A thread of each worker process writes the sums once a minute, so that a read stays
a read. Only tools of the service are counted, so a token has a few rows for each day.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import structlog
from django.db import connection
from django.utils import timezone

from storage.models import AgentCalls

KEPT_DAYS = 90
# Sums collect while the database is unreachable. Beyond this many, new ones are dropped.
MAX_WAITING = 10_000
log = structlog.get_logger("agent-calls")

Key = tuple[UUID, date, str]
"""A token, a day in UTC, and a tool."""


@dataclass(slots=True)
class Sum:
    calls: int
    refused: int
    last: datetime

    def add(self, other: Sum) -> None:
        self.calls += other.calls
        self.refused += other.refused
        self.last = max(self.last, other.last)


class CallLog:
    """The calls that a process has not written yet, shared by its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[Key, Sum] = {}

    def add(self, sums: Mapping[Key, Sum]) -> None:
        with self._lock:
            for key, each in sums.items():
                if key in self._sums:
                    self._sums[key].add(each)
                elif len(self._sums) < MAX_WAITING:
                    self._sums[key] = each

    def take(self) -> dict[Key, Sum]:
        with self._lock:
            taken, self._sums = self._sums, {}
        return taken


_log = CallLog()


def note_call(token: UUID, tool: str, *, is_refused: bool) -> None:
    now = datetime.now(UTC)
    _log.add({(token, now.date(), tool): Sum(1, int(is_refused), now)})


# In a fixed order, so that two processes never deadlock, and only for tokens that still exist.
_ADD = """INSERT INTO storage_agentcalls AS kept (token_id, day, tool, calls, refused, last_on)
    SELECT given.* FROM unnest(%s::uuid[], %s::date[], %s::text[], %s::bigint[], %s::bigint[], %s::timestamptz[])
            AS given (token, day, tool, calls, refused, last_on)
        JOIN storage_apitoken t ON t.id = given.token
    ORDER BY given.token, given.day, given.tool
    ON CONFLICT (token_id, day, tool) DO UPDATE SET
        calls = kept.calls + excluded.calls,
        refused = kept.refused + excluded.refused,
        last_on = greatest(kept.last_on, excluded.last_on)"""


def write_calls() -> None:
    """Write what was noted, in one statement."""
    sums = _log.take()
    if not sums:
        return
    rows = [(*key, each.calls, each.refused, each.last) for key, each in sums.items()]
    try:
        with connection.cursor() as cursor:
            cursor.execute(_ADD, [list(column) for column in zip(*rows, strict=True)])
    except Exception as problem:
        # The log must go on, whatever the problem.
        _log.add(sums)
        log.warning("calls of agents not written", problem=" ".join(str(problem).split()))


def forget_old_calls() -> None:
    AgentCalls.objects.filter(day__lt=timezone.now().date() - timedelta(days=KEPT_DAYS)).delete()
