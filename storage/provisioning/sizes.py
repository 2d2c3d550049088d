"""Sizes of storages. Counting takes time in proportion to the content, so results are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from repository_site.core.problems import NotFound
from storage.extension import storage_extensions
from storage.models import Storage, StorageGrowth, StorageSize, TenantModel
from storage.models.past import PastRow
from storage.quotas import hold_growth
from storage.tenancy.scope import tenant_models, tenant_scope

# Bytes of each row beside its columns: header and line pointer.
ROW_OVERHEAD = 28
# Each content exists once, however many files have it.
_CONTENTS = """(SELECT coalesce(sum(d.size), 0)::bigint FROM (
    SELECT f.digest, max(f.size) AS size FROM storage_storedfile f GROUP BY f.digest) AS d)"""
# Rows and bytes of each table.
Counts = Mapping[type[TenantModel], tuple[int, int]]


def measure_storage(storage: Storage) -> StorageSize:
    """Count the content of a storage in one snapshot and store the result."""
    now = timezone.now()
    with transaction.atomic(), tenant_scope(storage):
        hold_growth(storage)
        return _store(storage, now, *_count(storage))


def _store(
    storage: Storage, now: datetime, tables: Counts, files: int, contents: int, growth: Sequence[UUID]
) -> StorageSize:
    found = {
        "measured_on": now,
        "rows": sum(rows for rows, _ in tables.values()),
        "bytes": sum(size for _, size in tables.values()) + contents,
        "past_bytes": sum(size for model, (_, size) in tables.items() if issubclass(model, PastRow)),
        "files": files,
        **{
            name: tables[model][0]
            for extension in storage_extensions
            for name, model in extension.counted_models.items()
        },
    }
    with transaction.atomic():
        if not Storage.objects.select_for_update(no_key=True).filter(pk=storage.pk).exists():
            raise NotFound(_("The storage has been removed."))
        size = StorageSize.objects.update_or_create(storage=storage, defaults=found)[0]
        StorageGrowth.objects.filter(storage=storage, pk__in=growth).delete()
    return size


def _count(storage: Storage) -> tuple[Counts, int, int, list[UUID]]:
    """Return rows and bytes of each table, the number of files, the bytes of contents, and the growth that they have.

    One statement reads one snapshot. With a second one, a change in between would be counted twice or not at all.
    """
    models = tenant_models()
    counts = " UNION ALL ".join(f"SELECT {index}, t.* FROM ({_sql(model)}) t" for index, model in enumerate(models))  # noqa: S608
    files = " + ".join(f"({each.count_files})" for each in storage_extensions if each.count_files) or "0"
    grown = "(SELECT array_agg(id) FROM storage_storagegrowth WHERE storage_id = %s)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT c.*, {files}, {_CONTENTS}, {grown} FROM ({counts}) AS c", [storage.pk])  # noqa: S608  tables of the models
        rows = cursor.fetchall()
    counts_of = {models[index]: (int(count), int(size)) for index, count, size, *_ in rows}
    return counts_of, int(rows[0][3]), int(rows[0][4]), list(rows[0][5] or [])


def _sql(model: type[TenantModel]) -> str:
    """Sum the sizes of the columns: the size of a whole row would decompress out-of-line values."""
    columns = " + ".join(
        f'coalesce(pg_column_size("{field.column}"), 0)' for field in model._meta.concrete_fields if field.column
    )
    return f'SELECT count(*), coalesce(sum({ROW_OVERHEAD} + {columns}), 0) FROM "{model._meta.db_table}"'  # noqa: S608
