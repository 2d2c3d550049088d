"""Quotas of storages (D190): how many elements, bytes, files and changes a storage may have.

The last measurement (`StorageSize`) is exact. Since then, triggers record the growth of each transaction in a storage
with a quota as rows of their own (`StorageGrowth`), so that no transaction waits for another. The sum of both is what a
storage uses. Transactions that run at the same time do not see each other: together they can exceed a quota by what
they add.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from repository_site.core.database.statements import engine, set_for_transaction
from repository_site.core.problems import Invalid, placed
from storage.models import Storage
from storage.options import QUOTAS
from storage.tenancy.nodes import node_of_storages

# Transactions record their growth while this parameter names their storage.
COUNTED_PARAMETER = "repository.counted"
# Rows of growth from which a transaction sums them up.
MOST_ROWS = 100
NAMES = {
    "elements": gettext_noop("elements"),
    "bytes": gettext_noop("bytes"),
    "files": gettext_noop("files"),
    "history": gettext_noop("changes in the history"),
}
_SUMS = ", ".join(f"coalesce(sum(g.{name}), 0)::bigint" for name in QUOTAS)
_OWN = ", ".join(
    f"coalesce(sum(g.{name}) FILTER (WHERE g.made_in = pg_current_xact_id()::text::bigint), 0)::bigint"
    for name in QUOTAS
)
_MEASURED = ", ".join(f"coalesce(max(s.{name}), 0)::bigint" for name in QUOTAS)
_SQL = f"""SELECT count(g.id), {_SUMS}, {_OWN} FROM storage_storagegrowth g WHERE g.storage_id = %s"""  # noqa: S608
_SIZE_SQL = f"SELECT {_MEASURED} FROM storage_storagesize s WHERE s.storage_id = %s"  # noqa: S608  constants
_CHECK_SQL = f"SELECT grown.*, measured.* FROM ({_SQL}) AS grown, ({_SIZE_SQL}) AS measured"  # noqa: S608  constants
# Only one transaction sums up at a time, and none while a measurement counts.
_FOLD_LOCK = "hashtextextended('growth ' || %s, 0)"
_COLUMNS = ", ".join(QUOTAS)
_TAKE_SQL = f"DELETE FROM storage_storagegrowth WHERE storage_id = %s RETURNING {_COLUMNS}"  # noqa: S608  constants
_SUM_SQL = f"""INSERT INTO storage_storagegrowth (storage_id, made_in, {_COLUMNS})
    VALUES (%s, 0, {", ".join(["%s"] * len(QUOTAS))})"""  # noqa: S608  constants


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota of a storage; None for what is not limited."""

    storage: UUID
    most: dict[str, int]

    def begin(self) -> None:
        """Let the transaction record its growth. Call this inside the scope, before the first change."""
        set_for_transaction(COUNTED_PARAMETER, str(self.storage))

    def check(self, noted: Mapping[str, int] = MappingProxyType({})) -> None:
        """Refuse the transaction, with everything that it has changed, if it grows beyond the quota.

        `noted` is the growth that the transaction itself has noted with `note_bytes`.
        """
        count = len(QUOTAS)
        with connection.cursor() as cursor:
            cursor.execute(_CHECK_SQL, [self.storage, self.storage])
            rows, *numbers = cursor.fetchone()
        grown, own, measured = (numbers[start : start + count] for start in (0, count, 2 * count))
        own = [added + noted.get(name, 0) for name, added in zip(QUOTAS, own, strict=True)]
        if problems := list(self._problems(grown, own, measured)):
            raise Invalid(_("The quota of the storage is used up; nothing was changed."), problems)
        if rows > MOST_ROWS:
            self._fold()

    def _problems(self, grown: Sequence[int], own: Sequence[int], measured: Sequence[int]) -> Iterable[str]:
        for name, growth, added, base in zip(QUOTAS, grown, own, measured, strict=True):
            most = self.most.get(name)
            if most is not None and added > 0 and base + growth > most:
                text = (
                    _("the storage would have %(count)d of at most %(most)d; ask for a larger quota")
                    if name == "history"
                    else _(
                        "the storage would have %(count)d of at most %(most)d; delete elements, or ask for a larger"
                        " quota"
                    )
                )
                yield placed(_(NAMES[name]), text % {"count": base + growth, "most": most})

    def _fold(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_try_advisory_xact_lock({_FOLD_LOCK})", [str(self.storage)])
            if cursor.fetchone()[0]:
                # One statement for both would need intermediate results on a cluster (D252).
                cursor.execute(_TAKE_SQL, [self.storage])
                # A measurement may have deleted all of them meanwhile.
                if taken := cursor.fetchall():
                    cursor.execute(_SUM_SQL, [self.storage, *map(sum, zip(*taken, strict=True))])


def quota_of(storage: Storage) -> Quota | None:
    """Return the quota of a storage, or None if it has none."""
    most = {name: value for name in QUOTAS if (value := getattr(storage, f"quota_{name}")) is not None}
    return Quota(storage.pk, most) if most else None


def begin_quota(storage: Storage) -> Quota | None:
    """Return the quota of a storage and let the transaction record its growth."""
    if (quota := quota_of(storage)) is not None:
        quota.begin()
    return quota


def note_bytes(storage: Storage, size: int) -> None:
    """Note growth that no trigger notices, if the storage has a quota. It counts for later changes."""
    if size and quota_of(storage) is not None:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO storage_storagegrowth (storage_id, made_in, bytes) VALUES (%s, 0, %s)", [storage.pk, size]
            )


def hold_growth(storage: Storage) -> None:
    """Keep others from summing up until the transaction ends, for a measurement."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({_FOLD_LOCK})", [str(storage.pk)])


def read_use(storages: Iterable[Storage]) -> dict[UUID, dict[str, int]]:
    """Return what storages use, by storage, and `past_bytes` as last measured; storages that were never measured are
    missing."""
    sql = f"""SELECT s.storage_id, {", ".join(f"s.{name} + coalesce(g.{name}, 0)" for name in QUOTAS)}, s.past_bytes
        FROM storage_storagesize s LEFT JOIN (
            SELECT g.storage_id, {", ".join(f"sum(g.{name})::bigint AS {name}" for name in QUOTAS)}
            FROM storage_storagegrowth g WHERE g.storage_id = ANY(%s) GROUP BY 1) g ON g.storage_id = s.storage_id
        WHERE s.storage_id = ANY(%s)"""  # noqa: S608  constants
    ids = [each.pk for each in storages]
    with connection.cursor() as cursor:
        cursor.execute(sql, [ids, ids])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return {storage: dict(zip((*QUOTAS, "past_bytes"), numbers, strict=True)) for storage, *numbers in rows}


def read_reachable_use(storages: Iterable[Storage]) -> tuple[dict[UUID, dict[str, int]], dict[UUID, str]]:
    """Return what storages use, and the node of each storage that does not answer, both by storage."""
    if not engine().is_distributed:
        return read_use(storages), {}
    places, use, away = node_of_storages(), dict[UUID, dict[str, int]](), dict[UUID, str]()
    by_node: dict[str, list[Storage]] = defaultdict(list)
    for storage in storages:
        by_node[places.get(storage.pk, "")].append(storage)
    for node, found in by_node.items():
        try:
            with transaction.atomic():
                use |= read_use(found)
        except OperationalError:
            away |= dict.fromkeys((each.pk for each in found), node)
    return use, away


def use_in_words(quota: Quota, use: dict[str, int]) -> str:
    """Return a text such as "12 of 1000 elements", for commands."""
    return ", ".join(f"{use.get(name, 0)} of {most} {name}" for name, most in quota.most.items())
