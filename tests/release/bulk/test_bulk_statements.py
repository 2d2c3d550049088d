"""A batch needs the same number of statements for 10 and for 50 elements (D456): also with diagrams, refusals, tasks."""

from __future__ import annotations

from itertools import pairwise
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.models import Element, Shape
from release.models import Task
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.bulk.bulk_calls import bulk, numbers
from tests.release.house import ID, HouseClient, MakeClient, Wire, user

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]
DETAIL = "rest/facets/processes/views/detail/elements"
DRAWN = (("evStart", "Start"), ("task", "Check"), ("evEnd", "End"))


def drawn(client: HouseClient, count: int) -> list[str]:
    """Make drafts that Ben owns, each with a diagram of three elements, and a parent that none of them needs."""
    body = [
        {"type": "subProcess", "attributes": {"name": {"1033": f"Drawn {number}"}}, "related": {"owner": [user("ben")]}}
        for number in range(count)
    ]
    made = [each["id"] for each in client.update(*body).json()["elements"]]
    items = [
        {
            "shapeInfo": {"index": index, "predecessors": [index - 1] if index else []},
            "element": {"type": type, "attributes": {"name": {"1033": name}}},
        }
        for index, (type, name) in enumerate(DRAWN)
    ]
    for each in made:
        response = client.post(f"{DETAIL}/{each}/content", {"values": items})
        assert response.status_code == 200, response.content
    return made


def content(client: HouseClient, element: str) -> list[Wire]:
    found: list[Wire] = client.get(f"{DETAIL}/{element}/content").json()["elements"]
    return found


def parts(house: Storage, elements: list[str], type: str) -> list[str]:
    with tenant_scope(house):
        found = Element.objects.filter(parent_id__in=map(UUID, elements), type__key=type).values_list("id", flat=True)
        return [str(each) for each in found]


@pytest.mark.long
def test_every_operation_needs_a_constant_number_of_statements(desk: MakeClient, house: Storage) -> None:
    cora, counts = desk(user="cora"), dict[str, list[int]]()

    def counted(name: str, expected: tuple[int, int, int], operation: Wire, ids: list[str]) -> Wire:
        with CaptureQueriesContext(connection) as statements:
            report = bulk(cora, operation, ids=ids)
        assert numbers(report) == expected, (name, report["refusals"][:2])
        counts.setdefault(name, []).append(len(statements))
        return report

    for size in (10, 50):
        made = drawn(cora, size)
        tasks = parts(house, made, "task")
        counted("erase", (size, 0, 0), {"delete": True}, tasks)
        assert [each["type"] for each in content(cora, made[-1])] == ["evStart", "evEnd"]
        release = {"transition": "InProcessToReleased", "ignoreWarnings": True}
        counted("release", (size, 0, 0), release, made)
        counted("refused transition", (0, 0, size), release, made)
        report = counted("refused deletion", (0, 0, size), {"delete": True}, made)
        assert report["refusals"][0]["reasons"] == ["it has been released; let it expire instead."]
        counted("version", (size, 0, 0), {"createVersion": True}, made)
        start, end = content(cora, made[0])
        assert end["properties"]["predecessors"][0]["properties"]["shapeId"] == start["properties"]["shapeId"]
        counted("delete", (size, 0, 0), {"delete": True}, made)
        assert len(parts(house, made, "evStart")) == size, "those of the released versions"
        expiry = {"transition": "ReleasedToRequestToExpire", "ignoreWarnings": True}
        counted("request", (size, 0, 0), expiry, made)
        people = {"handOver": {"from": ID["ben"], "to": ID["dora"]}}
        counted("hand over", (size, 0, 0), people, made)
        with tenant_scope(house):
            held = Task.objects.filter(element_id__in=made, state=Task.State.OPEN).values_list("assignee_id", flat=True)
            assert {str(each) for each in held} == {ID["dora"]}
            assert len(held) == size
    assert {name: few == many for name, (few, many) in counts.items()} == dict.fromkeys(counts, True), counts


def test_chains_are_deleted_with_their_diagrams(caller: HouseClient, house: Storage) -> None:
    """Each of the first drafts is the parent of the next one, but something needs the last: then all of them stay."""
    *chain, alone = drawn(caller, 6)
    for upper, lower in pairwise(chain):
        change = {"id": lower, "rootPath": [{"id": upper}]}
        assert caller.update(change).status_code == 200
    keeping = drawn(caller, 1)[0]
    assert caller.update({"id": keeping, "rootPath": [{"id": chain[-1]}]}).status_code == 200
    report = bulk(caller, {"delete": True}, ids=[*chain, alone])
    assert numbers(report) == (1, 0, 5)
    reasons = {each["id"]: each["reasons"] for each in report["refusals"]}
    assert reasons[chain[0]] == [f"it has children: {chain[1]}."]
    assert reasons[chain[-1]] == [f"it has children: {keeping}."]
    assert numbers(bulk(caller, {"delete": True}, ids=[*chain, keeping])) == (6, 0, 0)
    with tenant_scope(house):
        assert not Element.objects.filter(parent_id__in=[*chain, alone, keeping]).exists()
        assert not Shape.objects.filter(version__element_id__in=[*chain, alone, keeping]).exists()
