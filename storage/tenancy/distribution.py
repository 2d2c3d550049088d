"""Distribution of the tables over the nodes of a Citus cluster (D251).

Tenant tables are distributed by `storage_id` and co-located: all rows of a storage are on one node. Tables that are
joined with them, or that their foreign keys refer to, are copied to every node; requests never write these. All other
tables stay on the coordinator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.db import connection, transaction

from repository_site.core.database.statements import engine, fetch
from repository_site.core.problems import Conflict
from storage.tenancy.migration_operations import (
    FIRST_DISTRIBUTED,
    POLICY,
    SHARD_EXPRESSION,
    SHARD_POLICY_EXPRESSION,
    distribution_of,
)
from storage.tenancy.scope import tenant_models

# Citus ends the prepared transactions of lost nodes every minute.
OLDEST_PREPARED = "5 minutes"
MOVES_ADVICE = "As a superuser, in the database of the service on that node: psql -f docs/how-to/files/citus-moves.sql"
PREPARED_ADVICE = "On the coordinator, as a superuser: SELECT recover_prepared_transactions();"
_OPERATED = f"""SELECT concat_ws(' ', CASE WHEN NOT EXISTS (
        SELECT FROM pg_event_trigger WHERE evtname = 'let_shards_move' AND evtenabled <> 'D') THEN 'moves' END,
    CASE WHEN EXISTS (SELECT FROM pg_prepared_xacts WHERE database = current_database()
        AND prepared < now() - interval '{OLDEST_PREPARED}') THEN 'prepared' END)"""  # noqa: S608  a constant
# Wraps the statements of a long operation, so that a command can show its progress.
StatementProgress = Callable[[list[str]], Iterable[str]]
# Copied to every node. A storage comes after its collection.
COPIED = ("storage_storagecollection", "storage_storage", "storage_culture", "storage_storagesize")
# Distributed without a policy: scopes and triggers use them.
BESIDE_TENANTS = (FIRST_DISTRIBUTED, "storage_storagegrowth")
NO_PLACE = (
    "No node of the cluster takes shards. On the coordinator, as a superuser, add a worker: SELECT"
    " citus_add_node('worker-1', 5432); or let the coordinator have the shards: SELECT"
    " citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0;"
)
NO_CITUS = (
    "This database has no Citus extension. Install Citus on all nodes, then CREATE EXTENSION citus in the database, as"
    " a superuser. Without Citus there is nothing to distribute."
)
# Without any node, Citus makes this server the coordinator, and gives it the shards.
_HAS_PLACE = """SELECT NOT EXISTS (SELECT FROM pg_dist_node)
    OR EXISTS (SELECT FROM pg_dist_node WHERE shouldhaveshards AND isactive)"""
# Two commands at the same time would both drop what they create again.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('distribution', 0))"
_KNOWN = "SELECT logicalrelid::text FROM pg_dist_partition WHERE partmethod = 'h' OR repmodel = 't'"


def distributed_tables() -> list[str]:
    return [*BESIDE_TENANTS, *(model._meta.db_table for model in tenant_models())]


def has_citus() -> bool:
    return bool(fetch("SELECT FROM pg_extension WHERE extname = 'citus'"))


def is_empty() -> bool:
    """Return whether there is no storage yet."""
    return not fetch("SELECT FROM storage_storage LIMIT 1")


def plan(shards: int | None = None) -> list[str]:
    """Return the statements that distribute what is not distributed yet; none if everything is."""
    if not has_citus():
        raise Conflict(NO_CITUS)
    if fetch(_HAS_PLACE) == [(False,)]:
        raise Conflict(NO_PLACE)
    known = {name for (name,) in fetch(_KNOWN)}
    copied = [table for table in COPIED if table not in known]
    distributed = [table for table in distributed_tables() if table not in known]
    functions = [f"SELECT create_distributed_function('{name}')" for (name,) in fetch(_OWN_FUNCTIONS)]
    if not copied and not distributed:
        return functions
    keys, triggers = _foreign_keys([*copied, *distributed]), _triggers(distributed)
    return [
        "SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
        "SET LOCAL citus.enable_unsafe_triggers = on",
        *functions,
        *([f"SET LOCAL citus.shard_count = {int(shards)}"] if shards else []),
        *(f'ALTER TABLE "{table}" DROP CONSTRAINT "{name}"' for table, name, _ in keys),
        *(f'DROP TRIGGER "{name}" ON "{table}"' for table, name, _ in [*triggers, *_triggers(copied)]),
        *_without_policy(distributed),
        *(f"SELECT create_reference_table('{table}')" for table in copied),
        *(distribution_of(table) for table in distributed),
        *(f'ALTER TABLE "{table}" ADD CONSTRAINT "{name}" {text}' for table, name, text in keys),
        *(text for _, _, text in triggers),
        *_with_policy(distributed),
    ]


def distribute(shards: int | None = None, progress: StatementProgress = iter) -> bool:
    """Distribute everything in one transaction, or nothing. Return whether there was anything to do."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK)
        statements = plan(shards)
        for statement in progress(statements):
            cursor.execute(statement)
    engine().forget_distribution()
    return bool(statements)


def _foreign_keys(tables: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the foreign keys from and to these tables: table, name and definition.

    Citus checks existing rows without a scope, and accepts keys only between tables that it knows. So the keys are
    dropped first, and added again when all tables are distributed.
    """
    sql = """SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE contype = 'f' AND (conrelid::regclass::text = ANY(%s) OR confrelid::regclass::text = ANY(%s))
        ORDER BY 1, 2"""
    return [(table.strip('"'), name, text) for table, name, text in fetch(sql, [[*tables], [*tables]])]


def _triggers(tables: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the triggers of these tables: table, name and definition.

    Citus copies existing rows into shards that have the triggers already. They would run without a scope, and count
    everything again. The triggers of copied tables stay dropped: they would write rows of other nodes.
    """
    sql = """SELECT tgrelid::regclass::text, tgname::text, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal AND tgrelid::regclass::text = ANY(%s) ORDER BY 1, 2"""
    return [(table.strip('"'), name, text) for table, name, text in fetch(sql, [[*tables]])]


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


def after_migrating(**options: Any) -> None:
    """Distribute a new installation, and tables that a migration has added. Existing content waits for the operator."""
    if not has_citus() or {*COPIED, *distributed_tables()} - {*connection.introspection.table_names()}:
        return
    if engine().is_distributed or is_empty():
        distribute()
    elif options.get("verbosity"):
        sys.stderr.write("The database has Citus, but its tables are not distributed. Run: manage.py distribute\n")


def node_problems() -> Iterator[str]:
    """Yield what is wrong with the tables and the role on any node of a distributed database.

    A migration may still have to create a table.
    """
    tables = distributed_tables()
    for (table,) in fetch(_NOT_DISTRIBUTED, [tables, FIRST_DISTRIBUTED]):
        yield f"{table}: not distributed by storage_id together with {FIRST_DISTRIBUTED}. Run: manage.py distribute"
    for (table,) in fetch(_NOT_COPIED, [[*COPIED]]):
        yield f"{table}: not copied to every node. Run: manage.py distribute"
    for (name,) in fetch(_OWN_FUNCTIONS):
        yield f"{name}: not on every node. Run: manage.py distribute"
    isolated = [table for table in tables if table not in BESIDE_TENANTS]
    names = {"tables": tables, "isolated": isolated, "policy": [POLICY], "expression": [SHARD_EXPRESSION]}
    quoted = {name: ", ".join("'" + each.replace("'", "''") + "'" for each in texts) for name, texts in names.items()}
    for node, is_answered, answer in fetch(_ON_ALL_NODES, [_ON_NODE.format(**quoted)]):
        if not is_answered:
            yield f"Node {node} does not answer: {answer}"
        elif answer:
            yield f"Node {node}: {answer}."


def operating_problems() -> Iterator[tuple[str, str]]:
    """Yield what operators of a cluster should know, and what to do: nodes to which no shard of a used storage can move
    (D263), and prepared transactions that nobody ends, whose locks stay (D307)."""
    nodes = fetch(_ON_ALL_NODES, [_OPERATED])
    for node, is_answered, answer in nodes:
        if is_answered and "moves" in answer and len(nodes) > 1:
            yield f"shards of storages that are written cannot move to {node}", MOVES_ADVICE
        if is_answered and "prepared" in answer:
            yield f"{node} has prepared transactions that are older than {OLDEST_PREPARED}", PREPARED_ADVICE


_ON_ALL_NODES = """SELECT n.nodename || ':' || n.nodeport, r.success, r.result FROM run_command_on_all_nodes(%s) r
    JOIN pg_dist_node n ON n.nodeid = r.nodeid ORDER BY n.nodeid"""
_NOT_DISTRIBUTED = """SELECT t.name FROM unnest(%s::text[]) AS t (name)
    LEFT JOIN citus_tables c ON c.table_name = to_regclass(t.name)
    WHERE to_regclass(t.name) IS NOT NULL AND (c.distribution_column IS DISTINCT FROM 'storage_id'
        OR c.colocation_id IS DISTINCT FROM
            (SELECT colocation_id FROM citus_tables WHERE table_name = %s::regclass))"""
_NOT_COPIED = """SELECT t.name FROM unnest(%s::text[]) AS t (name)
    WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(t.name) AND repmodel = 't')"""
# Functions that are only on the coordinator. Citus copies those of triggers with their tables, but not the functions
# that these call. `pg_dist_object` lists what is on all nodes, and on those that are added later.
_OWN_FUNCTIONS = """SELECT p.oid::regprocedure::text FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND p.prorettype <> 'trigger'::regtype
        AND p.proname ~ '^(elements|facets|release|storage)_'
        AND NOT EXISTS (SELECT FROM pg_dist_object o WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid)
    ORDER BY 1"""
# Shards without forced row-level security and the one policy, shards that lack keys or triggers of their table, and a
# role that would bypass the policies. A migration may have locked a table; the check does not wait until it ends.
_ON_NODE = """WITH patience AS MATERIALIZED (SELECT set_config('lock_timeout', '5s', true) AS value),
    shard AS MATERIALIZED (SELECT s.logicalrelid AS parent, c.* FROM patience CROSS JOIN pg_dist_shard s
        JOIN pg_class c ON c.oid = to_regclass(shard_name(s.logicalrelid, s.shardid))
        WHERE patience.value <> '' AND s.logicalrelid::text IN ({tables})),
    open AS (SELECT string_agg(c.relname, ', ' ORDER BY c.relname) AS names FROM shard c
        WHERE c.parent::text IN ({isolated}) AND NOT (c.relrowsecurity AND c.relforcerowsecurity
            AND (SELECT count(*) = 1 AND bool_and(polname = {policy} AND polpermissive AND polcmd = '*'
                AND polroles = '{{0}}' AND pg_get_expr(polqual, polrelid) = {expression}
                AND pg_get_expr(polwithcheck, polrelid) = {expression}) FROM pg_policy WHERE polrelid = c.oid))),
    key AS (SELECT k.conrelid, k.contype, array(SELECT a.attname FROM unnest(k.conkey) WITH ORDINALITY AS n (id, place)
            JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.id ORDER BY n.place) AS columns
        FROM pg_constraint k WHERE k.contype IN ('p', 'u', 'f') AND k.convalidated),
    keyless AS (SELECT string_agg(c.relname, ', ' ORDER BY c.relname) AS names FROM shard c WHERE EXISTS (
        SELECT contype, columns FROM key WHERE conrelid = c.parent
        EXCEPT ALL SELECT contype, columns FROM key WHERE conrelid = c.oid)),
    effect AS (SELECT tgrelid, tgfoid, tgtype FROM pg_trigger WHERE tgenabled <> 'D' AND NOT tgisinternal),
    still AS (SELECT string_agg(c.relname, ', ' ORDER BY c.relname) AS names FROM shard c WHERE EXISTS (
        SELECT tgfoid, tgtype FROM effect WHERE tgrelid = c.parent
        EXCEPT ALL SELECT tgfoid, tgtype FROM effect WHERE tgrelid = c.oid))
    SELECT concat_ws('. ',
        (SELECT 'row-level security is not complete for ' || names FROM open WHERE names IS NOT NULL),
        (SELECT 'keys are missing on ' || names FROM keyless WHERE names IS NOT NULL),
        (SELECT 'triggers are missing on ' || names FROM still WHERE names IS NOT NULL),
        (SELECT 'the role ' || rolname || ' bypasses row-level security' FROM pg_roles
            WHERE rolname = current_user AND (rolsuper OR rolbypassrls)))"""
