"""Sizes of storages. Counting takes time in proportion to the content, so results are stored."""

from __future__ import annotations

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from repository_site.core.problems import NotFound
from storage.extension import storage_extensions
from storage.models import Storage, StorageSize, TenantModel
from storage.tenancy.scope import tenant_models, tenant_scope

# Bytes of each row beside its columns: header and line pointer.
ROW_OVERHEAD = 28


def measure_storage(storage: Storage) -> StorageSize:
    """Count the content of a storage in one snapshot and store the result."""
    now = timezone.now()
    with tenant_scope(storage, snapshot=True):
        tables = {model: _rows_and_bytes(model) for model in tenant_models()}
    found = {
        "measured_on": now,
        "rows": sum(rows for rows, _ in tables.values()),
        "bytes": sum(size for _, size in tables.values()),
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
    return size


def _rows_and_bytes(model: type[TenantModel]) -> tuple[int, int]:
    """Sum the sizes of the columns: the size of a whole row would decompress out-of-line values."""
    columns = " + ".join(
        f'coalesce(pg_column_size("{field.column}"), 0)' for field in model._meta.concrete_fields if field.column
    )
    sql = f'SELECT count(*), coalesce(sum({ROW_OVERHEAD} + {columns}), 0) FROM "{model._meta.db_table}"'  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql)
        rows, size = cursor.fetchone()
    return int(rows), int(size)
