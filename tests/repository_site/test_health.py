"""The health checks `/healthz` and `/readyz`."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from repository_site.operations import health
from tests.api_client import ApiClient


def test_healthz_needs_no_database(api: ApiClient) -> None:
    response = api.get("/healthz")
    assert (response.status_code, response.json(), response["Cache-Control"]) == (200, {"status": "ok"}, "no-store")


@pytest.mark.django_db
def test_readyz(api: ApiClient) -> None:
    response = api.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok", "migrations": "ok"}


@pytest.mark.django_db
def test_readyz_reports_pending_migrations(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_migrated", False)
    monkeypatch.setattr(
        "repository_site.operations.health.MigrationExecutor.migration_plan", lambda self, nodes: ["one"]
    )
    response = api.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "ok", "migrations": "pending"}


def test_readyz_reports_an_unreachable_database(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("repository_site.operations.health.connection.cursor", fail)
    response = api.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "unreachable", "migrations": "unknown"}


def test_other_methods_are_refused(api: ApiClient) -> None:
    assert api.post("/healthz").status_code == 405


def test_probes_may_use_any_host_name(api: ApiClient) -> None:
    assert api.get("/healthz", headers={"host": "10.1.2.3"}).status_code == 200
