"""Looks at an installation as it is, and says what to do next (D158). `manage.py doctor` shows what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext

from django.conf import settings
from django.db import Error, connection, transaction
from psycopg.errors import UndefinedColumn, UndefinedTable
from psycopg_pool import PoolTimeout

from repository_site.core.embedded_postgres import EmbeddedPostgresError
from repository_site.operations.doctor import configuration, database, growth, indexes, schedule
from repository_site.operations.doctor.findings import Check, Finding, Level, Look, error, warning

CHECKS: tuple[Check, ...] = (
    Check("versions", "Python, Django, PostgreSQL, and packages as they are locked", configuration.versions, False),
    Check("settings", "debug off, public address, hosts, proxies, https", configuration.settings_as_set, False),
    Check("secret key", "its strength, and who may read it", configuration.secret_key, False),
    Check("data folder", "can be written to, and has room", configuration.data_folder, False),
    Check("server", "a running server is ready (with --url)", configuration.server, False),
    Check("database", "answers, and is new enough", database.server_version),
    Check("role", "neither superuser nor BYPASSRLS, owner of its tables", database.role),
    Check("tenancy", "row-level security and composite keys on every tenant table", database.tenancy),
    Check("migrations", "all applied, and none that this release does not know", database.migrations),
    Check("indexes", "none missing, none invalid", indexes.indexes),
    Check("clock", "database and this process agree on the time", database.clock),
    Check("time zones", "known, and the same in Python and PostgreSQL", schedule.time_zones),
    Check("lifecycle", "run_lifecycle comes, and does not fail", schedule.lifecycle),
    Check("tasks", "release tasks that are stuck", schedule.tasks),
    Check("connections", "enough are left, and none holds a transaction open", database.connections_left),
    Check("sizes", "of the database, its tables and its storages", growth.sizes),
    Check("dead rows", "autovacuum keeps up", growth.dead_rows),
    Check("statistics", "by which PostgreSQL plans", growth.statistics),
)


def examine(look: Look, checks: Iterable[Check] = CHECKS) -> Iterator[Finding]:
    """One check after the other. One that cannot be made is an error of its own, and keeps no other from being made."""
    reachable: bool | None = None
    for check in checks:
        if check.needs_database:
            if reachable is None:
                if (problem := _reach()) is not None:
                    yield problem
                reachable = problem is None
            if not reachable:
                continue
        try:
            with transaction.atomic() if check.needs_database else nullcontext():
                yield from list(check.look(look))
        except Exception as problem:
            yield _not_possible(check, problem)


def _not_possible(check: Check, problem: Exception) -> Finding:
    if isinstance(problem.__cause__, UndefinedTable | UndefinedColumn):
        return warning(check.name, "not looked at: its tables are not there yet", "Run: manage.py migrate")
    text = " ".join(str(problem).split()) or type(problem).__name__
    return error(check.name, f"cannot be looked at: {text}", "See to this problem first, then look again.")


def _reach() -> Finding | None:
    embedded = settings.EMBEDDED_POSTGRES
    if embedded is not None and not embedded.is_made():
        advice = "Run: manage.py migrate, which makes one, or set DATABASE_URL. Nothing else about it was looked at."
        return error("database", f"there is none yet in {embedded.data_dir}", advice)
    try:
        connection.ensure_connection()
    except (Error, PoolTimeout, EmbeddedPostgresError) as problem:
        lines = str(problem).strip().splitlines()
        return error(
            "database",
            f"cannot be reached: {lines[0] if lines else type(problem).__name__}",
            "See that PostgreSQL runs and that DATABASE_URL leads to it. Everything else about it was not looked at.",
        )
    return None


def worst(findings: Iterable[Finding]) -> Level:
    return max((finding.level for finding in findings), key=list(Level).index, default=Level.OK)
