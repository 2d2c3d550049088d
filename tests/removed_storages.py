"""Rows that a removed storage has left, which no scope can read."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction

from storage.models import TenantModel
from storage.models.tenant import SCOPE_PARAMETER


def rows_left(tenant: UUID, model: type[TenantModel]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        # `set_config` would not reach the nodes of a distributed database. Others ignore the first parameter.
        cursor.execute("SET LOCAL citus.propagate_set_commands = 'local'")
        cursor.execute(f"SET LOCAL {SCOPE_PARAMETER} = '{tenant}'")
        cursor.execute(f"SELECT count(*) FROM {model._meta.db_table} t WHERE t.storage_id = %s", [tenant])
        return int(cursor.fetchone()[0])
