"""Health checks of sizes, dead rows and statistics."""

from __future__ import annotations

from collections.abc import Iterator

from repository_site.core.database.statements import fetch
from repository_site.operations.doctor.findings import HealthFinding, Look, error, ok, warning
from storage.models import Storage, StorageSize

# Smaller tables are not reported: PostgreSQL reads them as a whole anyway.
WORTH = 10_000
WRAP_WARNING, WRAP_ERROR = 1_000_000_000, 1_800_000_000
SHOWN = 5


def in_words(size: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def sizes(look: Look) -> Iterator[HealthFinding]:
    (total,) = fetch("SELECT pg_database_size(current_database())")[0]
    rows = fetch(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = current_schema()::regnamespace ORDER BY 2 DESC, 1 LIMIT %s",
        [SHOWN],
    )
    tables = ", ".join(f"{name} {in_words(size)}" for name, size in rows)
    yield ok(f"the database takes {in_words(total)}; largest tables with their indexes: {tables}")
    yield _storages(look)


def _storages(look: Look) -> HealthFinding:
    count, measured = Storage.objects.count(), StorageSize.objects.count()
    if measured < count:
        return warning(
            f"{count - measured} of {count} storages have never been measured",
            "Run `manage.py measure_storages`, or wait for a worker, which measures them every night.",
        )
    largest = StorageSize.objects.select_related("storage__collection").order_by("-elements", "pk")[:SHOWN]
    shown = [
        f"{f'{each.storage}: ' if look.names else ''}{each.elements:,} elements, {in_words(each.bytes)}"
        for each in largest
    ]
    return ok(f"storages: {count}" + (f"; largest: {' | '.join(shown)}" if shown else ""))


def dead_rows(look: Look) -> Iterator[HealthFinding]:
    problems = []
    if fetch("SHOW autovacuum")[0] != ("on",) or fetch("SHOW track_counts")[0] != ("on",):
        problems.append(
            error(
                "autovacuum is off",
                "Turn it on (autovacuum = on, track_counts = on): otherwise tables grow without limit.",
            )
        )
    for table, live, dead in fetch(
        "SELECT relname, n_live_tup, n_dead_tup FROM pg_stat_user_tables WHERE n_dead_tup > %s ORDER BY 3 DESC", [WORTH]
    ):
        if dead > live * 0.4:
            problems.append(
                warning(
                    f"{table} has {dead:,} dead rows beside {live:,} live ones",
                    f'Run in psql: VACUUM (ANALYZE) "{table}". If this happens again, look for transactions that stay'
                    " open, and lower autovacuum_vacuum_scale_factor for this table.",
                )
            )
    (age,) = fetch("SELECT age(datfrozenxid)::bigint FROM pg_database WHERE datname = current_database()")[0]
    if age > WRAP_WARNING:
        judge = error if age > WRAP_ERROR else warning
        problems.append(
            judge(
                f"the oldest transaction id is {age:,} transactions old",
                "Run in psql: VACUUM (FREEZE), soon; at two billion PostgreSQL stops writing.",
            )
        )
    yield from problems or [ok("autovacuum is on, and no table has many dead rows")]


def statistics(look: Look) -> Iterator[HealthFinding]:
    problems = []
    for table, live, changed, never in fetch(
        "SELECT relname, n_live_tup, n_mod_since_analyze, coalesce(last_analyze, last_autoanalyze) IS NULL"
        " FROM pg_stat_user_tables WHERE greatest(n_live_tup, n_mod_since_analyze) > %s ORDER BY 1",
        [WORTH],
    ):
        if never or changed > live * 0.5:
            text = "has never been analyzed" if never else f"has had {changed:,} changes since it was analyzed"
            problems.append(warning(f"{table} ({live:,} rows) {text}", f'Run in psql: ANALYZE "{table}"'))
    yield from problems or [ok("recent for all large tables")]
