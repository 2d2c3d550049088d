"""Load of each storage on a Citus cluster, as its nodes measure it: `citus_stat_tenants` (D262)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from uuid import UUID

from django.db import OperationalError, connection

from repository_site.core.database.statements import engine, fetch
from storage.tenancy.migration_operations import FIRST_DISTRIBUTED
from storage.tenancy.nodes import NodeRole, list_nodes

VIEW = "pg_catalog.citus_stat_tenants"
# No row without Citus, or before 11.3.
_MAY_READ = "SELECT has_table_privilege(c.oid, 'SELECT') FROM pg_class c WHERE c.oid = to_regclass(%s)"
_SETTINGS = """SELECT n.nodename || ':' || n.nodeport, r.success, r.result
    FROM run_command_on_all_nodes('SHOW citus.stat_tenants_track') r JOIN pg_dist_node n ON n.nodeid = r.nodeid
    ORDER BY 1"""
_LOADS = f"""SELECT t.tenant_attribute::uuid, n.nodename || ':' || n.nodeport, t.query_count_in_this_period,
        t.query_count_in_last_period, t.cpu_usage_in_this_period, t.cpu_usage_in_last_period
    FROM {VIEW} t JOIN pg_dist_node n ON n.nodeid = t.nodeid
    JOIN pg_dist_partition p ON p.colocationid = t.colocation_id AND p.logicalrelid = %s::regclass"""  # noqa: S608  a constant


class LoadSource(Enum):
    """Whether the nodes measure storages, and what keeps them from it."""

    MEASURED = auto()
    ONE_SERVER = auto()
    OLD_CITUS = auto()
    NOT_PERMITTED = auto()
    NOT_TRACKED = auto()


@dataclass(frozen=True, slots=True)
class DatabaseLoad:
    """Statements and CPU seconds of a storage on a node, in the current and in the last period."""

    storage: UUID
    node: str
    statements: int
    last_statements: int
    seconds: float
    last_seconds: float


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    source: LoadSource
    loads: tuple[DatabaseLoad, ...] = ()
    """Storages with the most CPU time first."""
    period: int = 0
    """Length of a period in seconds."""
    untracked: tuple[str, ...] = ()
    """Nodes that do not measure storages."""
    away: tuple[str, ...] = ()
    """Nodes that do not answer."""


def cluster_load() -> ClusterLoad:
    if not engine().is_distributed:
        return ClusterLoad(LoadSource.ONE_SERVER)
    may_read = fetch(_MAY_READ, [VIEW])
    if not may_read or not may_read[0][0]:
        return ClusterLoad(LoadSource.NOT_PERMITTED if may_read else LoadSource.OLD_CITUS)
    try:
        return _measured_load()
    except OperationalError:
        # A node has not answered at all, and the statement that waited for it was given up with its connection.
        connection.close()
        return ClusterLoad(LoadSource.MEASURED, away=tuple(_silent_workers()))


def _silent_workers() -> Iterator[str]:
    return (f"{node.host}:{node.port}" for node in list_nodes() if node.role is NodeRole.WORKER and node.problem)


def _measured_load() -> ClusterLoad:
    settings = fetch(_SETTINGS)
    away = tuple(node for node, is_answered, _ in settings if not is_answered)
    untracked = tuple(node for node, is_answered, value in settings if is_answered and value != "all")
    # The coordinator tells the workers whose statement it is, so a worker alone measures nothing.
    loads = [DatabaseLoad(*row) for row in fetch(_LOADS, [FIRST_DISTRIBUTED])]
    loads.sort(key=lambda load: (-load.seconds - load.last_seconds, -load.statements - load.last_statements))
    [[period]] = fetch("SELECT current_setting('citus.stat_tenants_period')::int")
    source = LoadSource.NOT_TRACKED if untracked else LoadSource.MEASURED
    return ClusterLoad(source, tuple(loads), period, untracked, away)


def role_of_service() -> str:
    """Return the role to which a superuser grants the permission to read the measurements."""
    return str(connection.settings_dict["USER"])
