"""Large storages, and many of them, by copying generated rows inside the database, which is quicker than the import.

A copy has what `elements.sample` would have made: names of a word and the element's number, a tree of fan-out ten,
stamps a second apart; only the words and the references of an element are those of an earlier one. Triggers and foreign
keys do their work as ever, so whatever the database derives from content is derived here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql

CHUNK = 50_000
"""Elements a statement: what triggers and checks remember of one has to fit into memory."""
Step = Callable[[int], None]

# What a copied storage gets row by row, besides its type configuration. What triggers write is not among it.
CONTENT = ("elements_element", "elements_elementversion", "elements_reference", "elements_shape", "elements_shapeflow")
CONFIGURATION_SQL = """SELECT table_name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'storage_id' AND table_name LIKE 'facets\\_%' ORDER BY 1"""
COLUMNS_SQL = """SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s
    AND is_identity = 'NO' AND is_generated = 'NEVER' ORDER BY ordinal_position"""
# The ids of processes and of their versions, and the names, as the generator makes them.
FUNCTIONS_SQL = """
    CREATE FUNCTION pg_temp.process(number int) RETURNS uuid LANGUAGE sql IMMUTABLE
        AS $$ SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(number), 12, '0'))::uuid $$;
    CREATE FUNCTION pg_temp.version(number int) RETURNS uuid LANGUAGE sql IMMUTABLE
        AS $$ SELECT ('00000000-0000-0004-0000-' || lpad(to_hex(number), 12, '0'))::uuid $$;
    CREATE FUNCTION pg_temp.renamed(name text, number int) RETURNS text LANGUAGE sql IMMUTABLE
        AS $$ SELECT split_part(name, ' ', 1) || ' ' || number $$;
    CREATE TEMP SEQUENCE reference_number"""
ELEMENT = {
    "id": "pg_temp.process(n)",
    "creation_id": "pg_temp.process(n)",
    # The first of all has another type.
    "type_id": """(SELECT type_id FROM elements_element WHERE storage_id = %(storage)s AND id = pg_temp.process(1))""",
    "parent_id": "pg_temp.process((n - 1) / 10)",
    "position": "(n - 1) %% 10",
    "newest_id": "pg_temp.version(n)",
    "published_id": "pg_temp.version(n)",
}
LATER = "(n - n %% %(block)s) * interval '1 second'"
VERSION = {
    "id": "pg_temp.version(n)",
    "element_id": "pg_temp.process(n)",
    "attributes": """old.attributes || jsonb_build_object('name', (
        SELECT jsonb_object_agg(key, pg_temp.renamed(value, n)) FROM jsonb_each_text(old.attributes -> 'name')))""",
    "sort_name": "pg_temp.renamed(old.sort_name, n)",
    "changed_on": f"old.changed_on + {LATER}",
    "released_on": f"old.released_on + {LATER}",
    "valid_from": f"old.valid_from + {LATER}",
    "created_on": f"old.created_on + {LATER} / 2",
}
REFERENCE = {
    # Ids that begin alike, as the import makes them: an index takes them side by side.
    "id": "(%(beginning)s::text || lpad(to_hex(nextval('reference_number')), 12, '0'))::uuid",
    "version_id": "pg_temp.version(n)",
}
# Of each table: what differs, and by which column and id the row is found that is copied.
GROWN = {
    "elements_element": (ELEMENT, "id", "process"),
    "elements_elementversion": (VERSION, "id", "version"),
    "elements_reference": (REFERENCE, "version_id", "version"),
}


def grow_storage(connection: psycopg.Connection, storage: str, key: str, block: int, count: int, step: Step) -> None:
    """From `block` generated processes to `count`; the last thing is that the storage gets its key. All or nothing."""
    values = {"storage": storage, "block": block, "beginning": str(uuid4())[:24]}
    with connection.transaction():
        _enter(connection, storage)
        connection.execute(FUNCTIONS_SQL)
        for first in range(block, count, CHUNK):
            last = min(first + CHUNK, count) - 1
            for table, (differing, column, function) in GROWN.items():
                numbers = f"""generate_series({first}, {last}) AS n JOIN {table} AS old
                    ON old.storage_id = %(storage)s AND old.{column} = pg_temp.{function}(n %% %(block)s)"""
                _copy(connection, table, differing, numbers, values)
            # An element and its versions refer to each other, so they are checked when both are there.
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            connection.execute("SET CONSTRAINTS ALL DEFERRED")
            step(last + 1 - first)
        connection.execute("UPDATE storage_storage SET key = %s WHERE id = %s", [key, storage])


def copy_storage(connection: psycopg.Connection, source: str, key: str) -> None:
    """The same storage once more under another key. All or nothing."""
    storage = str(uuid4())
    values = {"storage": storage, "key": key, "source": source}
    with connection.transaction():
        _enter(connection, storage)
        _copy(
            connection,
            "storage_storage",
            {"id": "%(storage)s::uuid", "key": "%(key)s::text"},
            "storage_storage AS old WHERE old.id = %(source)s",
            values,
        )
        configuration = [str(table) for (table,) in connection.execute(CONFIGURATION_SQL)]
        for table in ("storage_culture", *configuration, *CONTENT):
            rows = f"{table} AS old WHERE old.storage_id = %(source)s"
            _copy(connection, table, {"storage_id": "%(storage)s::uuid"}, rows, values)


def _enter(connection: psycopg.Connection, storage: str) -> None:
    connection.execute("SELECT set_config('repository.storage', %s, true)", [storage])
    # Foreign keys are checked by plans that are kept: one from when a table was small would read all of it each time.
    connection.execute("SET LOCAL enable_seqscan = off")


def _copy(
    connection: psycopg.Connection, table: str, differing: Mapping[str, str], rows: str, values: Mapping[str, Any]
) -> None:
    names = [str(name) for (name,) in connection.execute(COLUMNS_SQL, [table])]
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    found = sql.SQL(", ").join(
        sql.SQL(differing[name]) if name in differing else sql.Identifier("old", name) for name in names
    )
    statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}")
    connection.execute(statement.format(sql.Identifier(table), columns, found, sql.SQL(rows)), values)
