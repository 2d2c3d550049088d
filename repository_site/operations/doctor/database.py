"""Health checks of the database: version, role, tenancy, migrations, clock, connections."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core import signing
from django.core.checks import Tags, run_checks
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from repository_site.core.database.pool import REPLICA
from repository_site.core.database.replica import catch_up, has_replica
from repository_site.core.database.statements import engine, fetch
from repository_site.operations.doctor.findings import HealthFinding, Look, error, ok, warning
from storage.events.waking import notifications_arrive
from storage.tenancy.distribution import operating_problems

OLDEST_POSTGRES = 15
# Validity, tokens and the lifecycle count in seconds, so this much is harmless.
SKEW_WARNING, SKEW_ERROR = 2, 30
IDLE_IN_TRANSACTION = 600
ROLE_CHECK = "storage.E010"
# Seconds in which a replica should have everything that the primary has.
REPLICA_SECONDS = 5.0
# Seconds in which a notification should arrive.
NOTIFICATION_SECONDS = 2.0


def server_version(look: Look) -> Iterator[HealthFinding]:
    number, version, encoding = fetch(
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'),"
        " pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"
    )[0]
    if number // 10000 < OLDEST_POSTGRES:
        yield error(
            f"PostgreSQL {version} is older than {OLDEST_POSTGRES}",
            "Upgrade PostgreSQL; docs/how-to/deploy.md says how to move the data.",
        )
    elif encoding != "UTF8":
        yield error(
            f"the encoding is {encoding} instead of UTF8",
            "Create a database with ENCODING 'UTF8' TEMPLATE template0 and move the data there.",
        )
    else:
        yield ok(f"PostgreSQL {version}, UTF-8")


def role(look: Look) -> Iterator[HealthFinding]:
    problems = [each for each in run_checks(databases=["default"], tags=[Tags.database]) if each.id == ROLE_CHECK]
    name, foreign = fetch(
        "SELECT current_user::text, (SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
        " AND relkind IN ('r', 'S') AND relowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user))"
    )[0]
    for problem in problems:
        yield error(str(problem.msg), str(problem.hint))
    if foreign:
        yield error(
            f"{foreign} tables or sequences do not belong to {name}, so migrations will fail",
            f'As their owner or a superuser: REASSIGN OWNED BY <that role> TO "{name}".',
        )
    if not problems and not foreign:
        yield ok(f"{name} is neither superuser nor BYPASSRLS and owns its tables")


def tenancy(look: Look) -> Iterator[HealthFinding]:
    problems = [
        each
        for each in (
            *run_checks(tags=[Tags.models]),
            *run_checks(databases=["default"], tags=[Tags.database]),
        )
        if (each.id or "").startswith("storage.") and each.id != ROLE_CHECK
    ]
    for problem in problems:
        yield error(
            str(problem.msg),
            str(problem.hint or "")
            or "Stop the server: tenants may see each other. Restore the table as its migration creates it.",
        )
    if not problems:
        (count,) = fetch("SELECT count(*) FROM pg_class WHERE relrowsecurity AND relforcerowsecurity")[0]
        yield ok(f"policies and composite keys isolate {count} tenant tables")


def nodes(look: Look) -> Iterator[HealthFinding]:
    if not engine().is_distributed:
        return
    problems = list(operating_problems())
    yield from (warning(problem, advice) for problem, advice in problems)
    if not problems:
        yield ok("shards can move, and no prepared transaction is left")


def migrations(look: Look) -> Iterator[HealthFinding]:
    executor = MigrationExecutor(connection)
    waiting = pending(executor)
    known = set(executor.loader.graph.nodes) | set(executor.loader.replacements)
    # Rows of apps that are no longer installed may remain.
    apps = {app for app, _ in known}
    unknown = [
        f"{app}.{name}"
        for app, name in sorted(MigrationRecorder(connection).applied_migrations())
        if app in apps and (app, name) not in known
    ]
    if waiting:
        yield error(f"{len(waiting)} not applied: {_some(waiting)}", "Run: manage.py migrate")
    if unknown:
        yield error(
            f"{len(unknown)} applied migrations are unknown to this release: {_some(unknown)}",
            "The database belongs to a newer release: run that release, or see docs/how-to/deploy.md to go back.",
        )
    if not waiting and not unknown:
        yield ok("all applied")


def pending(executor: MigrationExecutor | None = None) -> list[str]:
    executor = executor or MigrationExecutor(connection)
    return [str(step) for step, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]


def _some(names: list[str]) -> str:
    return ", ".join([*names[:5], *(["..."] if len(names) > 5 else [])])


def clock(look: Look) -> Iterator[HealthFinding]:
    before = datetime.now(UTC)
    (there,) = fetch("SELECT clock_timestamp()")[0]
    after = datetime.now(UTC)
    yield judge_clock((there - (before + (after - before) / 2)).total_seconds())


def judge_clock(skew: float) -> HealthFinding:
    advice = "Synchronise both machines with NTP (chrony, systemd-timesyncd)."
    text = f"the clock of the database is {abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} this machine"
    if abs(skew) > SKEW_ERROR:
        return error(text, advice)
    if abs(skew) > SKEW_WARNING:
        return warning(text, advice)
    return ok(f"the database and this machine agree within {max(abs(skew), 0.1):.1f} s")


def sessions(look: Look) -> Iterator[HealthFinding]:
    """Try the key of this server on the newest session, which any of the servers may have made."""
    rows = fetch("SELECT session_data FROM django_session WHERE expire_date > now() ORDER BY expire_date DESC LIMIT 1")
    store = SessionStore()
    try:
        for [newest] in rows:
            signing.loads(newest, salt=store.key_salt, serializer=store.serializer)
    except signing.BadSignature:
        yield error(
            "another server has another secret key, so it accepts neither the sessions nor the tokens of this one",
            "Set the same REPOSITORY_SECRET_KEY on all servers. After a change of the key, list the old one in"
            " REPOSITORY_SECRET_KEY_FALLBACKS.",
        )
    else:
        yield ok("the newest one has the secret key of this server" if rows else "none yet")


def replica(look: Look) -> Iterator[HealthFinding]:
    if not has_replica():
        return
    if problem := catch_up(REPLICA_SECONDS):
        yield warning(problem, "Check the replica and DATABASE_REPLICA_URL. Until then, the primary answers.")
        return
    with connections[REPLICA].cursor() as cursor:
        cursor.execute("SELECT pg_is_in_recovery()")
        [is_standby] = cursor.fetchone() or [False]
    if is_standby:
        yield ok("a standby, and up to date")
    else:
        yield warning(
            "the server of DATABASE_REPLICA_URL is not a standby",
            "Name a standby: this server gets no changes from the primary, or is the primary itself.",
        )


def listening(look: Look) -> Iterator[HealthFinding]:
    """Send a notification and wait for it: a pooler in transaction mode accepts LISTEN, and delivers nothing."""
    name = "DATABASE_LISTEN_URL" if settings.LISTEN_ADDRESS else "DATABASE_URL"
    try:
        arrive = notifications_arrive(NOTIFICATION_SECONDS)
    except psycopg.Error as problem:
        yield error(
            f"{name} cannot be reached: {' '.join(str(problem).split())}",
            f"Correct {name}. Until then, jobs and clients that wait for changes notice them seconds later.",
        )
        return
    if arrive:
        yield ok(f"notifications arrive through {name}")
    else:
        yield warning(
            f"no notification arrives through {name}",
            "Set DATABASE_LISTEN_URL to the direct address of the database of DATABASE_URL, not to that of a pooler."
            " Until then, jobs and clients that wait for changes notice them seconds later.",
        )


def connections_left(look: Look) -> Iterator[HealthFinding]:
    (limit, used, database_limit, in_database, role_limit, of_role) = fetch(
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,"
        " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),"
        " (SELECT datconnlimit FROM pg_database WHERE datname = current_database()),"
        " (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),"
        " (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user),"
        " (SELECT count(*) FROM pg_stat_activity WHERE usename = current_user)"
    )[0]
    left = min(
        limit - used,
        database_limit - in_database if database_limit >= 0 else limit,
        role_limit - of_role if role_limit >= 0 else limit,
    )
    yield judge_connections(left, limit, settings.POOL_SIZE)
    yield from _open_transactions()


def judge_connections(left: int, limit: int, pool: int) -> HealthFinding:
    text = f"{left} of {limit} connections are left; each worker process uses up to {pool}"
    advice = (
        "Raise max_connections (or the limit of the role or database), or lower REPOSITORY_POOL_SIZE or the number"
        " of workers: there must be enough for workers times pool size, and a few for commands."
    )
    if left < 3:
        return error(text, advice)
    if left < pool:
        return warning(text, advice)
    return ok(text)


def _open_transactions() -> Iterator[HealthFinding]:
    rows = fetch(
        "SELECT pid, extract(epoch FROM clock_timestamp() - xact_start)::int, state FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        " AND xact_start < clock_timestamp() - make_interval(secs => %s) ORDER BY xact_start",
        [IDLE_IN_TRANSACTION],
    )
    for pid, seconds, state in rows:
        yield warning(
            f"PostgreSQL process {pid} has had a transaction open for {seconds // 60} minutes ({state})",
            f"It prevents the removal of dead rows. To end it: SELECT pg_terminate_backend({pid})",
        )
