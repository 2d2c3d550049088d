"""Pages far down a list are found from milestones, and equal those found without."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.reading import content_state
from elements.reading.lists import selection
from elements.reading.rows import Audience
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import ID

pytestmark = [pytest.mark.django_db, pytest.mark.long]
LIST = "/acme/handbook/_api/rest/facets/processes/views/list/elements"


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_state, "STEP", 3)


def make(api: ApiClient, token: str, *names: str) -> None:
    given: list[dict[str, Any]] = [
        {"type": "subProcess", "rootPath": [{"id": ID["sales"]}], "attributes": {"name": {"1033": name}}}
        for name in names
    ]
    assert api.post(LIST, {"elements": given}, "application/json", token=token).status_code == 200


def read(api: ApiClient, token: str | None, query: str) -> list[str]:
    response = api.get(f"{LIST}?{query}", token=token)
    assert response.status_code == 200, response.content
    return [each["id"] for each in response.json()["elements"]]


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("condition", ["", "not StartsWith(name, 's')"])
def test_pages_in_any_order_make_up_the_whole_list(api: ApiClient, architect: str, size: int, condition: str) -> None:
    make(api, architect, *random.sample(["alike"] * 9 + ["other"] * 4 + [f"name {number}" for number in range(6)], 19))
    narrowed = f"$filter={quote(condition)}&" if condition else ""
    for token in (architect, None):
        for _ in range(2):
            whole = read(api, token, narrowed)
            count = -(-len(whole) // size)
            pages = random.sample(range(1, count + 3), count + 2)
            found = {page: read(api, token, f"{narrowed}$page={page}&$pageSize={size}") for page in pages}
            assert [each for page in sorted(found) for each in found[page]] == whole
            # Forget all cached values.
            make(api, architect, "alike", "a new first one")


@pytest.mark.usefixtures("few_steps")
def test_milestones_are_found_once(api: ApiClient, architect: str) -> None:
    make(api, architect, *(f"name {number}" for number in range(20)))

    def ways(page: int) -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            assert len(read(api, architect, f"$page={page}&$pageSize=2")) == 2
        return [each["sql"] for each in captured if "row_number()" in each["sql"]]

    assert ways(1) == []
    (first,) = ways(6)
    assert ways(6) == ways(5) == ways(3) == []
    (second,) = ways(10)
    assert ">=" in second
    assert ">=" not in first
    make(api, architect, "another")
    assert len(ways(6)) == 1


@pytest.mark.usefixtures("few_steps")
def test_pages_after_the_end_need_no_search(api: ApiClient, architect: str) -> None:
    make(api, architect, *(f"name {number}" for number in range(20)))
    read(api, architect, "$page=1&$pageSize=2")
    with CaptureQueriesContext(connection) as captured:
        assert read(api, architect, "$page=500&$pageSize=2") == []
    assert not [each for each in captured if "sort_name" in each["sql"]]


def test_an_index_serves_milestones(handbook: Storage) -> None:
    """Row-level security must not prevent it, although columns of two tables decide about the order."""
    some = selection.of_types(Audience(sees_drafts=True), [ID["sales"]])
    rest = some.matching(selection.Milestone(7, "order", ID["sales"]).and_after)
    with tenant_scope(handbook), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN SELECT v.id FROM {rest.source} ORDER BY {rest.order} LIMIT 5", rest.parameters)
        plan = [row[0].strip() for row in cursor.fetchall()]
    bounds = plan[next(place for place, line in enumerate(plan) if "version_by_name" in line) + 1]
    assert bounds.startswith("Index Cond")
    assert "sort_name >= 'order'" in bounds
