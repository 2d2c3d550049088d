"""The check that every reference of a storage leads to a row (D256)."""

from __future__ import annotations

from django.db import IntegrityError, connection

from repository_site.core.database.statements import engine, fetch
from storage.tenancy.migration_operations import constraint_name, tenant_foreign_keys
from storage.tenancy.scope import tenant_models


def check_references() -> None:
    """Check the deferred foreign keys of the scope now, instead of at the commit.

    SET CONSTRAINTS does not reach the nodes of a distributed database, so there the rows are compared.
    """
    connection.check_constraints()
    if not engine().is_distributed:
        return
    for model in tenant_models():
        table = model._meta.db_table
        for field in tenant_foreign_keys(model):
            target = field.related_model._meta.db_table
            sql = f"""SELECT part."{field.column}" FROM "{table}" part
                LEFT JOIN "{target}" whole ON whole.id = part."{field.column}"
                WHERE part."{field.column}" IS NOT NULL AND whole.id IS NULL LIMIT 1"""  # noqa: S608  names of models
            for (missing,) in fetch(sql):
                raise IntegrityError(
                    f'insert or update on table "{table}" violates foreign key constraint'
                    f' "{constraint_name(table, field.column)}": "{target}" has no row {missing}'
                )
