"""Bulk writing of rows, faster than bulk_create, which composes an expression for each value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any
from uuid import uuid4

from django.db import connection, models, transaction

from repository_site.core.database.statements import engine
from repository_site.core.rest.rendering import to_json
from storage.models import TenantModel

# Rows, and characters of their JSON text, in one statement of a distributed database.
ROWS_AT_ONCE, TEXT_AT_ONCE = 1_000, 4_000_000
# A table that gets at least this many new rows gets new statistics at once.
ANALYSED = 200


def analyse_after_commit(found: Iterable[type[TenantModel]]) -> None:
    """Update the statistics of tables that got many rows, as soon as they are committed (D604).

    Until then the planner assumes that a new storage is empty, and chooses plans that read all of it for each row.
    """
    if tables := ", ".join(sorted(model._meta.db_table for model in found)):
        transaction.on_commit(lambda: _analyse(tables), robust=True)


def _analyse(tables: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {tables}")


def copy_rows(model: type[TenantModel], columns: Sequence[str], rows: Sequence[str]) -> None:
    """Write many rows, each made by `copy_row`, into the storage of the scope."""
    if rows:
        copy_blocks(model, columns, ["".join(rows)])


def copy_blocks(
    model: type[TenantModel], columns: Sequence[str], blocks: Iterable[str | bytes], *, is_binary: bool = False
) -> int:
    """Write rows from blocks in a format of COPY, which may be cut anywhere; return the number of rows.

    PostgreSQL refuses COPY into a table with row-level security, so the rows pass through a temporary table.
    """
    table, names = model._meta.db_table, ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE TEMP TABLE incoming ON COMMIT DROP AS SELECT {names} FROM "{table}" WITH NO DATA')  # noqa: S608  names of the model
        # The driver raises its own errors while it sends; the wrapper makes them Django's.
        copying = f"COPY incoming ({names}) FROM STDIN{' (FORMAT binary)' if is_binary else ''}"
        with connection.wrap_database_errors, cursor.copy(copying) as copy:
            for block in blocks:
                copy.write(block)
        if engine().is_distributed:
            count = _insert_incoming(model, names)
        else:
            cursor.execute(f'INSERT INTO "{table}" ({names}) SELECT {names} FROM incoming')  # noqa: S608  names of the model
            count = int(cursor.rowcount)
        cursor.execute("DROP TABLE incoming")
        return count


def _insert_incoming(model: type[TenantModel], names: str) -> int:
    """Insert the rows of the temporary table in batches of JSON: other nodes do not know the table."""
    count, batch, size = 0, [], 0
    with connection.chunked_cursor() as rows:
        rows.execute("SELECT row_to_json(incoming)::text FROM incoming")
        for (row,) in chain.from_iterable(iter(lambda: rows.fetchmany(ROWS_AT_ONCE), [])):
            batch.append(row)
            size += len(row)
            if size > TEXT_AT_ONCE or len(batch) >= ROWS_AT_ONCE:
                count += _insert_json(model, names, f"[{','.join(batch)}]")
                batch, size = [], 0
    return count + _insert_json(model, names, f"[{','.join(batch)}]")


def _insert_json(model: type[TenantModel], names: str, rows: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(json_insert(model, names), [rows])
        return int(cursor.rowcount)


def json_insert(model: type[TenantModel], names: str) -> str:
    """Return the statement that inserts the rows of a JSON text."""
    table = model._meta.db_table
    return f'INSERT INTO "{table}" ({names}) SELECT {names} FROM json_populate_recordset(NULL::"{table}", %s)'  # noqa: S608  names of the model


def copy_row(*values: str | int | None) -> str:
    """Return a row as COPY text, in a quarter of the time that the driver needs for values of any type."""
    return "\t".join(["\\N" if value is None else str(value) for value in values]) + "\n"


def copy_text(text: str) -> str:
    """Escape the characters of a value that have a meaning in COPY text."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def ascending_ids() -> Iterator[str]:
    """Return ids with a common random prefix: an index stores them side by side instead of all over its pages."""
    beginning = str(uuid4())[:24]
    for number in count():
        yield f"{beginning}{number:012x}"


def insert_rows(model: type[TenantModel], rows: Sequence[object]) -> None:
    """Insert rows, whose attributes are the columns of the model, in one statement; the database fills the storage."""
    if not rows:
        return
    _insert_json(model, ", ".join(f'"{field.column}"' for field in _own_fields(model)), _as_json(model, rows))


def update_rows(model: type[TenantModel], rows: Sequence[object]) -> None:
    """Set every column of these rows, found by their ids, in one statement."""
    if not rows:
        return
    table, columns = model._meta.db_table, [field.column for field in _own_fields(model) if not field.primary_key]
    changes = ", ".join(f'"{column}" = new."{column}"' for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f'UPDATE "{table}" AS old SET {changes}'  # noqa: S608  names of the model
            f' FROM json_populate_recordset(NULL::"{table}", %s) AS new WHERE old.id = new.id',
            [_as_json(model, rows)],
        )


def _own_fields(model: type[TenantModel]) -> list[models.Field[Any, Any]]:
    return [field for field in model._meta.concrete_fields if field.name != "storage_id"]


def _as_json(model: type[TenantModel], rows: Sequence[object]) -> str:
    """Return all values as one JSON text, which costs the driver far less than one array a column."""
    names = [(field.column, field.attname) for field in _own_fields(model)]
    return to_json([{column: getattr(row, name) for column, name in names} for row in rows]).decode()
