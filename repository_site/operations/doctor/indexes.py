"""Health check of the indexes. A missing or invalid index only makes requests slow, so it is noticed late."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connection, models

from repository_site.core.database.statements import fetch
from repository_site.operations.doctor.database import pending
from repository_site.operations.doctor.findings import HealthFinding, Look, error, ok

# Copies that an interrupted REINDEX CONCURRENTLY leaves beside the index.
LEFT_BY_REINDEX = re.compile(r"_cc(new|old)[0-9]*\"?$")


def indexes(look: Look) -> Iterator[HealthFinding]:
    invalid, building = _not_valid()
    for name, table in building:
        yield ok(f"{name} on {table} is being built")
    advise = _drop if invalid and pending() else _rebuild
    for name, table in invalid:
        yield error(f"{name} on {table} is invalid", advise(name))
    missing = list(_missing())
    for name, table in missing:
        yield error(
            f"{name} on {table} is missing",
            f"Create it as its migration does (manage.py sqlmigrate), with CREATE INDEX CONCURRENTLY on {table}.",
        )
    if not invalid and not building and not missing:
        (count,) = fetch(
            "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
            " WHERE c.relnamespace = current_schema()::regnamespace"
        )[0]
        yield ok(f"all {count} exist and are valid")


def _not_valid() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the abandoned indexes, and those that are being built, which look alike in the catalogue."""
    rows = fetch(
        "SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text, EXISTS (SELECT FROM"
        " pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid) FROM pg_index i"
        " JOIN pg_class c ON c.oid = i.indrelid"
        " WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready) ORDER BY 1"
    )
    return [(name, table) for name, table, is_built in rows if not is_built], [
        (name, table) for name, table, is_built in rows if is_built
    ]


def _drop(name: str) -> str:
    """Advise to drop it: the interrupted migration fails while it exists, valid or not."""
    return f"Run in psql: DROP INDEX CONCURRENTLY {name}; then: manage.py migrate"


def _rebuild(name: str) -> str:
    if LEFT_BY_REINDEX.search(name):
        return f"Run in psql: DROP INDEX CONCURRENTLY {name}; a REINDEX was interrupted, and the index itself exists."
    return f"Run in psql: REINDEX INDEX CONCURRENTLY {name}"


def _missing() -> Iterator[tuple[str, str]]:
    """Yield missing indexes: those that models declare by name, and one for each indexed field."""
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in apps.get_models(include_auto_created=True):
            table = model._meta.db_table
            if not model._meta.managed or model._meta.proxy or table not in tables:
                continue
            present = connection.introspection.get_constraints(cursor, table)
            for name in _declared(model):
                if name not in present:
                    yield name, table
            for column in _indexed_columns(model):
                if not any(each["index"] and each["columns"][:1] == [column] for each in present.values()):
                    yield f"an index over {column}", table


def _declared(model: type[models.Model]) -> Iterator[str]:
    yield from (index.name for index in model._meta.indexes)
    yield from (each.name for each in model._meta.constraints)


def _indexed_columns(model: type[models.Model]) -> Iterator[str]:
    for field in model._meta.concrete_fields:
        described: Any = field
        if described.db_index and not described.primary_key and described.column:
            yield described.column
