"""Numbers of committed events (D326), and the retention time (D332)."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from django.utils import timezone

from repository_site.core.database.statements import fetch, look_up
from storage.models import Storage
from storage.models.events import new_epoch
from storage.tenancy.scope import tenant_scope

# Events that one transaction numbers or deletes.
BATCH = 10_000
_STATE = """SELECT l.last_number, EXISTS (SELECT FROM storage_event e WHERE e.number IS NULL)
    FROM storage_eventlog l"""
_ADD_LOG = """INSERT INTO storage_eventlog (id, epoch, last_number, oldest_number) VALUES (%s::uuid, %s::bigint, 0, 1)
    ON CONFLICT (storage_id) DO NOTHING"""
# Only readers lock this row. The next statement sees everything that the last holder of the lock has numbered.
_LOCK = "SELECT l.last_number, l.oldest_number FROM storage_eventlog l FOR UPDATE"
_NUMBER = """UPDATE storage_event e SET number = n.number FROM (
        SELECT o.id, %s::bigint + row_number() OVER (ORDER BY o.time, o.id) AS number FROM (
            SELECT u.id, u.time FROM storage_event u WHERE u.number IS NULL ORDER BY u.time, u.id LIMIT %s) o) n
    WHERE e.id = n.id RETURNING e.number"""
_SET_LAST = "UPDATE storage_eventlog SET last_number = %s::bigint"
# Stops at the first event that is kept, which in most storages is the oldest one.
_FIRST_KEPT = """SELECT e.number FROM storage_event e WHERE e.number >= %s::bigint AND e.number <= %s::bigint
    AND e.time >= %s::timestamptz ORDER BY e.number LIMIT 1"""
_FORGET = "DELETE FROM storage_event e WHERE e.number <= %s::bigint"
_SET_OLDEST = "UPDATE storage_eventlog SET oldest_number = %s::bigint"


def number_events(storage: Storage) -> int:
    """Number committed events, at most 10,000, and return the last number. Call this before reading, outside a
    transaction that only reads."""
    with tenant_scope(storage):
        state = look_up(_STATE)
        if state and not state[0][1]:
            return int(state[0][0])
        last, _ = _lock()
        # Planned for its values: a storage has many events, and few without a number.
        if numbered := fetch(_NUMBER, [last, BATCH]):
            last += len(numbered)
            look_up(_SET_LAST, [last])
        return last


def number_all_events(storage: Storage) -> int:
    """Number all events that are committed now, and return the last number. This ends although somebody writes all the
    time: a transaction with room for more has seen all of them."""
    last, numbered = 0, BATCH
    while numbered >= BATCH:
        found = number_events(storage)
        last, numbered = found, found - last
    return last


def forget_old_events(storage: Storage) -> int:
    """Delete events that are older than the retention time of the storage, and return their number."""
    before = timezone.now() - timedelta(days=storage.event_days)
    number_all_events(storage)
    deleted = 0
    while batch := _forget_batch(storage, before):
        deleted += batch
    return deleted


def begin_epoch() -> None:
    """Make all cursors of the storage of the scope invalid, because its events were restored."""
    look_up("UPDATE storage_eventlog SET epoch = %s::bigint", [new_epoch()])


def _lock() -> tuple[int, int]:
    rows = look_up(_LOCK)
    if not rows:
        look_up(_ADD_LOG, [uuid4(), new_epoch()])
        rows = look_up(_LOCK)
    last, oldest = rows[0]
    return int(last), int(oldest)


def _forget_batch(storage: Storage, before: datetime) -> int:
    """Delete the first events up to one that is still kept: a cursor must not skip an event that is gone."""
    with tenant_scope(storage):
        last, oldest = _lock()
        until = min(last, oldest + BATCH - 1)
        kept = look_up(_FIRST_KEPT, [oldest, until, before])
        # Numbers have no gaps.
        old = kept[0][0] - 1 if kept else until
        if old >= oldest:
            look_up(_FORGET, [old])
            look_up(_SET_OLDEST, [old + 1])
        return max(0, old + 1 - oldest)
