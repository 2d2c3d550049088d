"""Nodes of a Citus cluster: where the rows of a storage are (D255)."""

from __future__ import annotations

from uuid import UUID

from repository_site.core.database.statements import engine, fetch
from repository_site.core.problems import Conflict
from storage.tenancy.migration_operations import FIRST_DISTRIBUTED

NOT_DISTRIBUTED = (
    "The tables of this database are not distributed: all storages are on the same PostgreSQL server. For a Citus"
    " cluster, run manage.py distribute first."
)
# All tables of a storage are co-located, so the shard of one table tells the node of all.
_PLACES = """SELECT s.id, n.nodename || ':' || n.nodeport FROM storage_storage s
    JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column(%s::regclass, s.id)
    JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'"""


def node_of_storages() -> dict[UUID, str]:
    """Return host and port of the node of each storage."""
    if not engine().is_distributed:
        raise Conflict(NOT_DISTRIBUTED)
    return dict(fetch(_PLACES, [FIRST_DISTRIBUTED]))
