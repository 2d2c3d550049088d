"""Health checks of an installation, with advice (D158). `manage.py doctor` prints the findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace

from django.conf import settings
from django.db import Error, connection, transaction

from repository_site.operations.doctor.findings import Check, HealthFinding, Level, Look, error, warning

CHECKS: tuple[Check, ...] = (
    Check("versions", "release, Python, Django, and packages as in requirements.txt", "installation.versions", False),
    Check("settings", "debug mode, public address, hosts, proxies, https", "installation.settings_as_set", False),
    Check("secret key", "strength, and permissions of its file", "installation.secret_key", False),
    Check("data folder", "writable, with enough free space", "installation.data_folder", False),
    Check("files", "the folder or bucket of uploaded files can be used", "installation.files", False),
    Check("mail", "the mail server of EMAIL_URL answers", "installation.mail", False),
    Check("server", "a running server is ready (only with --url)", "installation.server", False),
    Check("database", "reachable, of a supported version, in UTF-8", "database.server_version"),
    Check("role", "neither superuser nor BYPASSRLS, and owner of its tables", "database.role"),
    Check("tenancy", "row-level security and composite keys on every tenant table", "database.tenancy"),
    Check("nodes", "shards can move, and no prepared transaction is left (only on Citus)", "database.nodes"),
    Check("migrations", "all applied, and none of a newer release", "database.migrations"),
    Check("indexes", "none missing, none invalid", "indexes.indexes"),
    Check("clock", "same time in the database and on this machine", "database.clock"),
    Check("time zones", "known, and the same in Python and PostgreSQL", "schedule.time_zones"),
    Check("jobs", "a worker runs them, and none has failed", "schedule.jobs"),
    Check("webhooks", "disabled ones, dead letters, and messages that have waited for long", "schedule.webhooks"),
    Check("lifecycle", "the lifecycle runs regularly and succeeds", "schedule.lifecycle"),
    Check("tasks", "stuck release tasks", "schedule.tasks"),
    Check("tokens", "those of collections and of the site do not end soon", "schedule.tokens"),
    Check("connections", "enough left, and no transaction open for long", "database.connections_left"),
    Check("sessions", "signed with the secret key of this server", "database.sessions"),
    Check("replica", "reachable, and a standby (only with DATABASE_REPLICA_URL)", "database.replica"),
    Check("listening", "notifications of the database arrive; no pooler loses them", "database.listening"),
    Check("permission sets", "they apply to the right elements", "permissions.inherited_sets"),
    Check("sizes", "sizes of the database, its tables and its storages", "growth.sizes"),
    Check("dead rows", "autovacuum keeps up", "growth.dead_rows"),
    Check("statistics", "recent statistics for the query planner", "growth.statistics"),
)


def examine(look: Look, checks: Iterable[Check] = CHECKS) -> Iterator[HealthFinding]:
    """Run the checks one after the other. A check that fails to run becomes an error, and the others still run."""
    reachable: bool | None = None
    for check in checks:
        if check.needs_database:
            if reachable is None:
                if (problem := _reach()) is not None:
                    yield replace(problem, check="database")
                reachable = problem is None
            if not reachable:
                continue
        try:
            with transaction.atomic() if check.needs_database else nullcontext():
                found = list(check.look(look))
        except Exception as problem:
            found = [_not_possible(problem)]
        yield from (replace(finding, check=check.name) for finding in found)


def _not_possible(problem: Exception) -> HealthFinding:
    from psycopg.errors import UndefinedColumn, UndefinedTable

    if isinstance(problem.__cause__, UndefinedTable | UndefinedColumn):
        return warning("not checked: the database has no tables yet", "Run: manage.py migrate")
    text = " ".join(str(problem).split()) or type(problem).__name__
    return error(f"the check failed: {text}", "Solve this problem first, then check again.")


def _reach() -> HealthFinding | None:
    from psycopg_pool import PoolTimeout

    from repository_site.core.embedded_postgres import EmbeddedPostgresError

    embedded = settings.EMBEDDED_POSTGRES
    if embedded is not None and not embedded.is_made():
        advice = "Run: manage.py migrate, which creates one, or set DATABASE_URL. Its other checks were skipped."
        return error(f"{embedded.data_dir} contains no database yet", advice)
    try:
        connection.ensure_connection()
    except (Error, PoolTimeout, EmbeddedPostgresError) as problem:
        lines = str(problem).strip().splitlines()
        return error(
            f"cannot be reached: {lines[0] if lines else type(problem).__name__}",
            "Check that PostgreSQL runs and that DATABASE_URL is right. Its other checks were skipped.",
        )
    return None


def worst(findings: Iterable[HealthFinding]) -> Level:
    return max((finding.level for finding in findings), key=list(Level).index, default=Level.OK)
