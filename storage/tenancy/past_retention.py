"""Retention of past rows (D602): how long a storage can be read as of a time."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from repository_site.core.database.statements import fetch, look_up
from storage.models import Storage, StorageRevision
from storage.models.past import PastRow
from storage.tenancy.scope import recorded_since, tenant_models, tenant_scope

# Rows that one transaction deletes.
BATCH = 10_000
# A row that ended at the first time of the record is not there at that time. The condition on `since` follows from the
# other one; with both, PostgreSQL can decide more within an index.
_FIND = """SELECT p.id FROM {table} p WHERE p.since < %s::timestamptz AND p.until <= %s::timestamptz LIMIT %s
    FOR UPDATE SKIP LOCKED"""
_FORGET = "DELETE FROM {table} p WHERE p.id = ANY(%s::uuid[])"


def forget_past(storage: Storage) -> int:
    """Move the start of the record of a storage forward to its retention time, delete the past rows that ended before,
    and return their number.

    The start moves first, in a transaction of its own: a read that still sees the old start has a snapshot with all
    rows.
    """
    oldest = timezone.now() - timedelta(days=storage.past_days)
    with tenant_scope(storage):
        StorageRevision.objects.filter(storage=storage, recorded_since__lt=oldest).update(recorded_since=oldest)
        # Later than the oldest one if the days were raised. An interrupted run may have left rows before it.
        begin = recorded_since()
    deleted = 0
    for model in tenant_models():
        if issubclass(model, PastRow):
            while batch := _forget_batch(storage, model, begin):
                deleted += batch
                if batch < BATCH:
                    break
    return deleted


def _forget_batch(storage: Storage, model: type[PastRow], begin: datetime) -> int:
    table = model._meta.db_table
    with tenant_scope(storage):
        found = [id for (id,) in fetch(_FIND.format(table=table), [begin, begin, BATCH])]
        if found:
            look_up(_FORGET.format(table=table), [found])
    return len(found)
