"""Digests of everything that a storage stores about elements, to check that a test changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.db import connection, transaction

from storage.models import Storage
from storage.tenancy.scope import tenant_scope

TABLES = (
    "elements_element", "elements_elementversion", "elements_reference", "elements_shape", "elements_shapeflow",
    "elements_lane", "elements_bpmnsource",
    "elements_elementchange", "release_task", "release_lifecycleentry",
)  # fmt: skip


def contents(storage: Storage) -> str:
    """Return a digest of all rows about elements, versions, tasks and lifecycles."""
    parts = (f"(SELECT coalesce(string_agg(t::text, ',' ORDER BY t.id), '') FROM {name} t)" for name in TABLES)
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute(f"SELECT md5(concat_ws('|', {', '.join(parts)}))")
        return str(cursor.fetchone()[0])


@cache
def first_contents(storage: Storage) -> str:
    """Return the digest from the first call for this storage."""
    return contents(storage)


def rival_of(storage: Storage) -> Storage:
    return Storage.objects.select_related("collection").get(collection__key="rival", key=storage.key)


def fingerprints(storage: Storage) -> list[str]:
    """Return the digests of a storage and of its rival."""
    return [contents(storage), contents(rival_of(storage))]


def fresh(storage: Storage) -> Storage:
    """Return the storage as it is stored, so that the object of a module's fixture keeps no change of a test."""
    return Storage.objects.select_related("collection").get(pk=storage.pk)


@contextmanager
def undone() -> Iterator[None]:
    """Roll back at the end."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
