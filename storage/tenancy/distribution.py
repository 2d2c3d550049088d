"""Distribution of the tables over the nodes of a Citus cluster (D251).

Tenant tables are distributed by `storage_id` and co-located: all rows of a storage are on one node. Tables that are
joined with them, or that their foreign keys refer to, are copied to every node; requests never write these. All other
tables stay on the coordinator.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection, transaction

from repository_site.core.database.statements import engine
from repository_site.core.problems import Conflict
from storage.tenancy.migration_operations import (
    FIRST_DISTRIBUTED,
    POLICY,
    SHARD_POLICY_EXPRESSION,
    distribution_of,
)
from storage.tenancy.scope import tenant_models

# Copied to every node. A storage comes after its collection.
COPIED = ("storage_storagecollection", "storage_storage", "storage_culture", "storage_storagesize")
# Distributed without a policy: scopes and triggers use them.
BESIDE_TENANTS = (FIRST_DISTRIBUTED, "storage_storagegrowth")
NO_WORKERS = (
    "The cluster has no node for shards. Add workers on the coordinator, as a superuser:"
    " SELECT citus_add_node('worker-1', 5432);"
)
NO_CITUS = (
    "This database has no Citus extension. Install Citus on all nodes, then CREATE EXTENSION citus in the database, as"
    " a superuser. Without Citus there is nothing to distribute."
)
_KNOWN = "SELECT logicalrelid::text FROM pg_dist_partition WHERE partmethod = 'h' OR repmodel = 't'"


def distributed_tables() -> list[str]:
    return [*BESIDE_TENANTS, *(model._meta.db_table for model in tenant_models())]


def has_citus() -> bool:
    return bool(_rows("SELECT FROM pg_extension WHERE extname = 'citus'"))


def is_empty() -> bool:
    """Return whether there is no storage yet."""
    return not _rows("SELECT FROM storage_storage LIMIT 1")


def plan(shards: int | None = None) -> list[str]:
    """Return the statements that distribute what is not distributed yet; none if everything is."""
    if not has_citus():
        raise Conflict(NO_CITUS)
    if not _rows("SELECT FROM pg_dist_node WHERE shouldhaveshards AND isactive"):
        raise Conflict(NO_WORKERS)
    known = {name for (name,) in _rows(_KNOWN)}
    copied = [table for table in COPIED if table not in known]
    distributed = [table for table in distributed_tables() if table not in known]
    if not copied and not distributed:
        return []
    keys, triggers = _foreign_keys([*copied, *distributed]), _triggers([*copied, *distributed])
    return [
        "SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
        "SET LOCAL citus.enable_unsafe_triggers = on",
        *([f"SET LOCAL citus.shard_count = {int(shards)}"] if shards else []),
        *(f'ALTER TABLE "{table}" DROP CONSTRAINT "{name}"' for table, name, _ in keys),
        *(f'DROP TRIGGER "{name}" ON "{table}"' for table, name, _ in triggers),
        *_without_policy(distributed),
        *(f"SELECT create_reference_table('{table}')" for table in copied),
        *(distribution_of(table) for table in distributed),
        *(f'ALTER TABLE "{table}" ADD CONSTRAINT "{name}" {text}' for table, name, text in keys),
        *(text for _, _, text in triggers),
        *_with_policy(distributed),
    ]


def distribute(statements: Iterable[str]) -> None:
    """Run the statements in one transaction: either everything is distributed or nothing."""
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    engine().forget_distribution()


def _foreign_keys(tables: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the foreign keys from and to these tables: table, name and definition.

    Citus checks existing rows without a scope, and accepts keys only between tables that it knows. So the keys are
    dropped first, and added again when all tables are distributed.
    """
    sql = """SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE contype = 'f' AND (conrelid::regclass::text = ANY(%s) OR confrelid::regclass::text = ANY(%s))
        ORDER BY 1, 2"""
    return [(table.strip('"'), name, text) for table, name, text in _rows(sql, [[*tables], [*tables]])]


def _triggers(tables: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the triggers of these tables: table, name and definition.

    Citus copies existing rows into shards that have the triggers already. They would run without a scope, and count
    everything again.
    """
    sql = """SELECT tgrelid::regclass::text, tgname::text, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal AND tgrelid::regclass::text = ANY(%s) ORDER BY 1, 2"""
    return [(table.strip('"'), name, text) for table, name, text in _rows(sql, [[*tables]])]


def _without_policy(tables: Iterable[str]) -> Iterator[str]:
    for table in tables:
        if table not in BESIDE_TENANTS:
            yield f'DROP POLICY {POLICY} ON "{table}"'
            yield f'ALTER TABLE "{table}" NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY'


def _with_policy(tables: Iterable[str]) -> Iterator[str]:
    for table in tables:
        if table not in BESIDE_TENANTS:
            yield f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY'
            yield f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY'
            yield (
                f'CREATE POLICY {POLICY} ON "{table}" USING ({SHARD_POLICY_EXPRESSION})'
                f" WITH CHECK ({SHARD_POLICY_EXPRESSION})"
            )


def _rows(sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def after_migrating(**options: Any) -> None:
    """Distribute a new installation, and tables that a migration has added. Existing content waits for the operator."""
    if not has_citus() or {*COPIED, *distributed_tables()} - {*connection.introspection.table_names()}:
        return
    if engine().is_distributed or is_empty():
        distribute(plan())
    elif options.get("verbosity"):
        sys.stderr.write("The database has Citus, but its tables are not distributed. Run: manage.py distribute\n")


def node_problems() -> Iterator[str]:
    """Yield what is wrong with the tables and the role on any node of a distributed database."""
    tables = distributed_tables()
    sql = """SELECT t.name FROM unnest(%s::text[]) AS t (name)
        LEFT JOIN citus_tables c ON c.table_name = t.name::regclass
        WHERE c.distribution_column IS DISTINCT FROM 'storage_id' OR c.colocation_id IS DISTINCT FROM
            (SELECT colocation_id FROM citus_tables WHERE table_name = %s::regclass)"""
    for (table,) in _rows(sql, [tables, FIRST_DISTRIBUTED]):
        yield f"{table}: not distributed by storage_id together with {FIRST_DISTRIBUTED}. Run: manage.py distribute"
    isolated = ", ".join(f"'{table}'" for table in tables if table not in BESIDE_TENANTS)
    nodes = _rows(
        "SELECT n.nodename || ':' || n.nodeport, r.success, r.result FROM run_command_on_all_nodes(%s) r"
        " JOIN pg_dist_node n ON n.nodeid = r.nodeid",
        [_ON_NODE.format(tables=isolated, policy=POLICY)],
    )
    for node, is_answered, answer in nodes:
        if not is_answered:
            yield f"Node {node} does not answer: {answer}"
        elif answer:
            yield f"Node {node}: row-level security is not complete for {answer}."


# Shards without forced row-level security and the one policy, and a role that would bypass it.
_ON_NODE = """SELECT concat_ws(', ', (SELECT string_agg(c.relname, ', ') FROM pg_dist_shard s
    JOIN pg_class c ON c.oid = to_regclass(shard_name(s.logicalrelid, s.shardid))
    WHERE s.logicalrelid::text IN ({tables}) AND NOT (c.relrowsecurity AND c.relforcerowsecurity
        AND (SELECT count(*) = 1 AND bool_and(polname = '{policy}' AND polpermissive) FROM pg_policy
            WHERE polrelid = c.oid))),
    (SELECT 'the role ' || rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)))"""
