"""Health checks: `/healthz` (the process answers) and `/readyz` (database reachable, migrations applied)."""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from psycopg_pool import PoolTimeout

from repository_site.core.database.pool import check_pool
from repository_site.core.embedded_postgres import EmbeddedPostgresError
from repository_site.core.middleware import Middleware
from repository_site.core.rest.rendering import answer

NO_STORE = {"Cache-Control": "no-store"}
# Migrations stay applied while a process runs, so they are checked until they were seen applied once.
_migrated = False


class HealthMiddleware(Middleware):
    """Answers before the host is checked: probes use addresses and any host name."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        page = {"/healthz": healthz, "/readyz": readyz}.get(request.path_info)
        if page is None:
            return self.get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return page()


def healthz() -> HttpResponse:
    return answer({"status": "ok"}, headers=NO_STORE)


def readyz() -> HttpResponse:
    checks = {"database": _database(), "migrations": "unknown"}
    if checks["database"] == "ok":
        checks["migrations"] = _migrations()
    ready = all(state == "ok" for state in checks.values())
    return answer({"status": "ok" if ready else "unavailable", **checks}, 200 if ready else 503, NO_STORE)


def _database() -> str:
    """Check the database. A dead idle connection says nothing about it, so a second connection is tried."""
    try:
        if not _answers():
            connection.close()
            check_pool()
            return "ok" if _answers() else "unreachable"
    except (Error, PoolTimeout, EmbeddedPostgresError):
        return "unreachable"
    return "ok"


def _answers() -> bool:
    cursor = connection.cursor()
    try:
        with cursor:
            cursor.execute("SELECT 1")
    except Error:
        return False
    return True


def _migrations() -> str:
    global _migrated
    if not _migrated:
        try:
            executor = MigrationExecutor(connection)
            _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        except (Error, PoolTimeout):
            return "unreachable"
    return "ok" if _migrated else "pending"
