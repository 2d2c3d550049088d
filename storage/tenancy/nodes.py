"""Nodes of the database: their availability (D260), and the node of each storage (D255).

PostgreSQL has a primary and perhaps a replica. A Citus cluster has a coordinator and workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, transaction
from psycopg import Connection

from repository_site.core.database.pool import REPLICA
from repository_site.core.database.replica import has_replica
from repository_site.core.database.servers import ServerState, server_states
from repository_site.core.database.statements import engine, fetch
from repository_site.core.problems import Conflict, NotFound
from repository_site.core.wording import printable
from storage.models import Storage
from storage.tenancy.migration_operations import FIRST_DISTRIBUTED

NOT_DISTRIBUTED = (
    "The tables of this database are not distributed: all storages are on the same PostgreSQL server. For a Citus"
    " cluster, run manage.py distribute first."
)
SINGLE_POOL = "default"
COORDINATOR_POOL = "coordinator"
# Milliseconds until a worker counts as silent. Longer than above: its storages are refused.
SILENCE = 3000
# Milliseconds for the connections from the coordinator to all workers, and at least for each of them. Citus waits for
# one after the other.
ALL_WORKERS, ONE_WORKER = 3000, 250
# All tables of a storage are co-located, so the shard of one table tells the node of all.
_PLACED = """storage_storage s
    JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column(%s::regclass, s.id)"""
_PLACES = f"""SELECT s.id, n.nodename || ':' || n.nodeport FROM {_PLACED}
    JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'"""  # noqa: S608  a constant
_COUNTS = f"SELECT p.groupid, count(*) FROM {_PLACED} GROUP BY 1"  # noqa: S608  a constant
_HERE = f"SELECT s.id::text FROM {_PLACED} WHERE p.groupid = ANY(%s)"  # noqa: S608  a constant
_WORKERS = """SELECT groupid, noderole = 'secondary', nodename, nodeport, isactive FROM pg_dist_node
    WHERE groupid > 0 AND nodecluster = current_setting('citus.cluster_name') ORDER BY groupid, noderole, nodeid"""
_ASK = "SELECT node_name, node_port, success, result FROM master_run_on_worker(%s::text[], %s::int[], %s::text[], true)"


class NodeRole(StrEnum):
    PRIMARY = "primary"
    REPLICA = "replica"
    COORDINATOR = "coordinator"
    WORKER = "worker"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DatabaseNode:
    pool: str
    """Name of the nodes that have the same rows: a primary and its replicas."""
    role: NodeRole
    host: str
    port: int
    storages: int
    """Number of storages whose rows the node has."""
    problem: str
    """Why the node is not available; empty if it is."""


def node_of_storages() -> dict[UUID, str]:
    """Return host and port of the node of each storage."""
    if not engine().is_distributed:
        raise Conflict(NOT_DISTRIBUTED)
    return dict(fetch(_PLACES, [FIRST_DISTRIBUTED]))


def list_nodes(pool: str | None = None) -> list[DatabaseNode]:
    """Return all nodes, or those of one pool; raise NotFound for an unknown one."""
    found = list(_nodes())
    pools = list(dict.fromkeys(node.pool for node in found))
    if pool is not None and pool not in pools:
        raise NotFound(f"There is no pool {printable(pool, 80)!r}. Known pools: {', '.join(pools)}.")
    return [node for node in found if pool in (None, node.pool)]


def _nodes() -> Iterator[DatabaseNode]:
    if not engine().is_distributed:
        yield from _servers(SINGLE_POOL, NodeRole.PRIMARY, Storage.objects.count())
        return
    counts: dict[int, int] = dict(fetch(_COUNTS, [FIRST_DISTRIBUTED]))
    yield from _servers(COORDINATOR_POOL, NodeRole.COORDINATOR, counts.get(0, 0))
    yield from _workers(counts)


def _servers(pool: str, role: NodeRole, storages: int) -> Iterator[DatabaseNode]:
    """Yield the servers of DATABASE_URL, then those of DATABASE_REPLICA_URL."""
    for state in server_states(DEFAULT_DB_ALIAS):
        yield _server(pool, _role_of(state, role, NodeRole.UNKNOWN), storages, state)
    for state in server_states(REPLICA) if has_replica() else ():
        yield _server(pool, _role_of(state, role, NodeRole.REPLICA), storages, state)


def _server(pool: str, role: NodeRole, storages: int, state: ServerState) -> DatabaseNode:
    return DatabaseNode(pool, role, state.host, state.port, storages, state.problem)


def _role_of(state: ServerState, primary: NodeRole, otherwise: NodeRole) -> NodeRole:
    if state.is_standby is None:
        return otherwise
    return NodeRole.REPLICA if state.is_standby else primary


def _workers(counts: dict[int, int]) -> Iterator[DatabaseNode]:
    rows = fetch(_WORKERS)
    problems = _problems_of([(host, port) for *_, host, port, is_active in rows if is_active])
    for group, is_replica, host, port, is_active in rows:
        disabled = f"disabled; to enable it, run SELECT citus_activate_node('{host}', {port})"
        yield DatabaseNode(
            pool=f"worker-{group}",
            role=NodeRole.REPLICA if is_replica else NodeRole.WORKER,
            host=host,
            port=port,
            storages=counts.get(group, 0),
            problem=problems[host, port] if is_active else disabled,
        )


def silent_storages(server: Connection) -> frozenset[str]:
    """Return the ids of the storages on workers to which the coordinator cannot connect."""
    with server.transaction():
        server.execute(f"SET LOCAL citus.node_connection_timeout = {SILENCE}")
        rows = [row for row in server.execute(_WORKERS).fetchall() if row[1:2] + row[4:] == (False, True)]
        asked = [[row[2] for row in rows], [row[3] for row in rows], ["SELECT 1"] * len(rows)]
        answers = {(host, port): ok for host, port, ok, _ in server.execute(_ASK, asked).fetchall()} if rows else {}
        silent = [row[0] for row in rows if not answers[row[2], row[3]]]
        found = server.execute(_HERE, [FIRST_DISTRIBUTED, silent]).fetchall() if silent else []
    return frozenset(id for (id,) in found)


def _problems_of(workers: list[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Let the coordinator connect to workers: only it must reach them. Return why that fails, or an empty text."""
    if not workers:
        return {}
    hosts, ports = ([*column] for column in zip(*workers, strict=True))
    with transaction.atomic(), connection.cursor() as cursor:
        each = max(ONE_WORKER, ALL_WORKERS // len(workers))
        cursor.execute(f"SET LOCAL citus.node_connection_timeout = {each}")
        cursor.execute(_ASK, [hosts, ports, ["SELECT 1"] * len(workers)])
        return {(host, port): "" if is_answered else text for host, port, is_answered, text in cursor.fetchall()}
