"""Periodic jobs of this app: measurements, and the deletion of what has expired."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.utils import timezone

from storage.access.agent_calls import forget_old_calls
from storage.access.sign_ins import forget_old_failures
from storage.access.token_addresses import forget_old_addresses
from storage.accounts.invitations import forget_old_invitations
from storage.accounts.sessions import forget_old_sessions
from storage.events.numbering import forget_old_events
from storage.files.cleaning import remove_unused_files
from storage.files.texts import note_missing_texts
from storage.idempotency import FORGOTTEN_AT_ONCE, forget_expired
from storage.jobs.declaring import periodic_job
from storage.jobs.every_storage import in_every_storage
from storage.models import Storage, StorageSize
from storage.provisioning.sizes import measure_storage
from storage.quotas import note_bytes
from storage.tenancy.past_retention import forget_past
from storage.tenancy.scope import tenant_models, tenant_scope
from storage.traffic import forget_old_hours
from storage.webhooks.pruning import forget_old_messages

# Days that failed jobs stay in the queue, where somebody can retry them.
KEPT_FAILURES = 30
# A table with at least this many changed rows gets new statistics, however large it is.
STALE = 1_000
_FIND_STALE = """SELECT s.relname FROM pg_stat_user_tables s
    WHERE s.schemaname = current_schema() AND s.relname = ANY(%s) AND s.n_mod_since_analyze >= %s ORDER BY 1"""
# A job whose error could not be stored has the time of its last event only.
_FORGET_FAILED = """DELETE FROM procrastinate_jobs j WHERE j.status = 'failed' AND coalesce(
        (SELECT f.failed_on FROM storage_jobfailure f WHERE f.job_id = j.id),
        (SELECT max(e.at) FROM procrastinate_events e WHERE e.job_id = j.id))
    < clock_timestamp() - make_interval(days => %s)"""


@periodic_job("storage.measure", cron="20 3 * * *")
def measure_storages() -> None:
    """Do what `manage.py measure_storages` does."""
    in_every_storage(forget_and_measure)


class Forgotten(NamedTuple):
    """Numbers of deleted rows."""

    events: int
    past_rows: int


def forget_and_measure(storage: Storage) -> tuple[Forgotten, StorageSize]:
    """Delete expired idempotency keys, old events (D332), old messages to webhooks, old past rows (D602) and unused
    files (D454), note files whose text was not read (D446), then measure.

    Return the numbers of these events and past rows, and the size.
    """
    _forget_keys(storage)
    forgotten = Forgotten(forget_old_events(storage), forget_past(storage))
    forget_old_messages(storage)
    remove_unused_files(storage)
    with tenant_scope(storage):
        note_missing_texts(storage)
    return forgotten, measure_storage(storage)


def _forget_keys(storage: Storage) -> None:
    """Delete the expired idempotency keys of a storage. Its requests with a key do that too, but it may have none."""
    deleted = FORGOTTEN_AT_ONCE
    while deleted == FORGOTTEN_AT_ONCE:
        with tenant_scope(storage):
            deleted = forget_expired(partial(note_bytes, storage), timezone.now())


@periodic_job("storage.clean_up", cron="50 * * * *")
def clean_up() -> None:
    """Delete expired sessions, old counts of requests and of failed sign-ins, addresses that tokens have not used for
    long (D487), old counts of agents' calls (D596), old invitations (D550), and old failed jobs."""
    SessionStore.clear_expired()
    forget_old_hours()
    forget_old_failures()
    forget_old_addresses()
    forget_old_calls()
    forget_old_invitations()
    forget_old_sessions()
    with connection.cursor() as cursor:
        cursor.execute(_FORGET_FAILED, [KEPT_FAILURES])


@periodic_job("storage.analyse", cron="*/5 * * * *")
def update_statistics() -> None:
    """Update the statistics of tables in which many rows have changed (D604).

    PostgreSQL itself waits until a tenth of a table has changed. Until then it expects a new storage to be empty, and
    compares every row with every other row.
    """
    tables = [model._meta.db_table for model in tenant_models()]
    with connection.cursor() as cursor:
        cursor.execute(_FIND_STALE, [tables, STALE])
        for (table,) in cursor.fetchall():
            cursor.execute(f'ANALYZE "{table}"')


HOUSEKEEPING = (measure_storages, clean_up, update_statistics)
