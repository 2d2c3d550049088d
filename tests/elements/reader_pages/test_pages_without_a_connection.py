"""Pages and pictures take CPU time only while they hold no database connection (D183)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, connections
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from elements.admin.comparison import record, versions
from elements.bpmn import exporting
from elements.models import ElementChange
from elements.presentation import values
from elements.reading.diagrams import pictures
from elements.search import searching
from repository_site.core.database.pool import enable_pool
from repository_site.core.page_templates import CycleFreeTemplate
from storage.models import StaffAccount, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import ID
from tests.elements.office import Office
from tests.scale import first_quick

DETAIL = f"/acme/handbook/1033/processes/{ID['order']}"

CHANGE = {
    "element_id": ID["order"], "version_id": ID["order-3"], "action": "updated", "changed_on": datetime.now(UTC),
    "before": {"attributes": {"name[1033]": "Old"}}, "after": {"attributes": {"name[1033]": "New"}},
}  # fmt: skip


@pytest.fixture
def pool(handbook: Storage, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The connection pool of a server process, outside any test's transaction."""
    with django_db_blocker.unblock():
        connection.close()
        # `enable_pool` replaces it.
        monkeypatch.setattr(connections, "_connections", connections._connections)  # type: ignore[attr-defined]
        enable_pool(2)
        try:
            found = connection.pool  # type: ignore[attr-defined]  # PostgreSQL only
            # A connection that is still being opened is not available either.
            found.open(wait=True, timeout=60)
            yield found
        finally:
            StaffAccount.objects.all().delete()
            Session.objects.all().delete()
            connection.close()
            connection.close_pool()  # type: ignore[attr-defined]
            connections.settings["default"]["OPTIONS"].pop("pool")


class Watch:
    """Notes the work of a request, and how many connections are taken from the pool meanwhile."""

    def __init__(self, pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pool = pool
        self.seen: dict[str, int] = {}
        for owner, name in (
            (CycleFreeTemplate, "render"),
            (values, "shown_markup"),
            (versions, "compare_texts"),
            (versions, "compare_lists"),
            (record, "compare_texts"),
            (pictures, "draw"),
            (searching, "best_excerpt"),
            (exporting, "write"),
        ):
            monkeypatch.setattr(owner, name, self._noting(name, getattr(owner, name)))

    def _noting(self, name: str, work: Any) -> Any:
        def noted(*args: Any, **kwargs: Any) -> Any:
            stats = self.pool.get_stats()
            taken = stats["pool_size"] - stats["pool_available"]
            self.seen[name] = max(self.seen.get(name, 0), taken)
            return work(*args, **kwargs)

        return noted


@pytest.fixture
def watch(pool: Any, monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(pool, monkeypatch)


@pytest.mark.parametrize(
    ("path", "work"),
    [
        ("/acme/handbook/1033/", {"render"}),
        ("/acme/handbook/1033/processes/", {"render"}),
        ("/acme/handbook/1033/search?q=order", {"render", "best_excerpt"}),
        (DETAIL, {"render", "draw", "shown_markup"}),
    ],
)
def test_reader_pages_are_rendered_without_a_connection(watch: Watch, path: str, work: set[str]) -> None:
    response = Client().get(path)
    assert response.status_code == 200
    assert watch.seen == dict.fromkeys(work, 0)


@pytest.mark.parametrize(
    ("query", "work"),
    first_quick(
        [
            (f"?version={ID['order-2']}", {"render", "shown_markup"}),
            ("?tab=related", {"render"}),
            ("?tab=children", {"render"}),
            ("?tab=diagram", {"render", "draw"}),
            ("?tab=versions", {"render", "compare_texts", "compare_lists"}),
            ("?tab=record", {"render", "compare_texts"}),
            ("?tab=lifecycle", {"render"}),
        ],
        3,
    ),
)
def test_tabs_of_the_back_office_are_rendered_without_a_connection(
    watch: Watch, handbook: Storage, query: str, work: set[str]
) -> None:
    with tenant_scope(handbook):
        ElementChange.objects.create(**CHANGE)
    office = Office(handbook, *Role)
    response = office.get(f"elements/element/{ID['order']}/change/{query}")
    assert response.status_code == 200
    assert watch.seen == dict.fromkeys(work, 0)


def test_the_tree_of_the_back_office_is_rendered_without_a_connection(watch: Watch, handbook: Storage) -> None:
    assert Office(handbook, *Role).get("elements/tree/").status_code == 200
    assert watch.seen == {"render": 0}


def test_excerpts_of_the_api_are_found_without_a_connection(watch: Watch) -> None:
    response = Client().get("/acme/handbook/_api/rest/search?q=order")
    assert (response.status_code, watch.seen) == (200, {"best_excerpt": 0})


def test_bpmn_is_written_without_a_connection(watch: Watch, handbook: Storage) -> None:
    assert Office(handbook, *Role).get(f"elements/element/{ID['order']}/bpmn/").status_code == 200
    assert watch.seen.pop("write") == 0
    assert Client().get(f"/acme/handbook/_api/v1/bpmn/{ID['order']}").status_code == 200
    assert watch.seen == {"write": 0}


def test_pictures_are_drawn_without_a_connection(watch: Watch) -> None:
    response = Client().get(f"/acme/handbook/_api/rest/diagram/{ID['order']}/render/1033/vertical")
    assert (response.status_code, watch.seen) == (200, {"draw": 0})
