"""New versions and deletions in bulk (D471): the same as one by one, in a constant number of statements."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.models import Element, ElementChange, ElementVersion
from release.models import LifecycleEntry
from storage.models import Event, Storage
from storage.tenancy.scope import tenant_scope
from tests.release.bulk.bulk_calls import BULK, bulk, numbers, reasons
from tests.release.house import ID, HouseClient, Wire

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]
SYSTEMS = BULK.replace("processes", "it")


def in_systems(client: HouseClient, *operations: Wire, ids: list[str]) -> Wire:
    response = client.post(SYSTEMS, {"ids": ids, "operations": list(operations)})
    assert response.status_code == 200, response.content
    report: Wire = response.json()["values"][0]
    return report


def systems(client: HouseClient, count: int) -> list[str]:
    """Make systems, which have no diagrams."""
    made = [{"type": "system", "attributes": {"name": {"1033": f"System {number}"}}} for number in range(count)]
    found = client.post(SYSTEMS.replace("bulk", "elements"), {"elements": made}).json()["elements"]
    return [each["id"] for each in found]


def released(client: HouseClient, count: int) -> list[str]:
    made = systems(client, count)
    step = {"transition": "InProcessToReleased", "ignoreWarnings": True}
    assert numbers(in_systems(client, step, ids=made)) == (count, 0, 0)
    return made


def test_many_versions_are_created_as_one(caller: HouseClient, house: Storage) -> None:
    made = released(caller, 2)
    assert caller.post(f"release/{made[0]}/createversion").status_code == 200
    assert numbers(in_systems(caller, {"createVersion": True}, ids=made)) == (1, 0, 1)
    with tenant_scope(house):
        single, many = (
            ElementVersion.objects.filter(element_id=each).order_by("major", "minor").values(
                "state", "category", "major", "minor", "stereotype", "sort_name", "valid_from", "valid_until"
            )
            for each in made
        )  # fmt: skip
        assert [{**each, "sort_name": ""} for each in single] == [{**each, "sort_name": ""} for each in many]
        steps = [
            list(LifecycleEntry.objects.filter(element_id=each).values_list("step", "version", "to_state"))
            for each in made
        ]
        assert steps[0] == steps[1]
    histories = [
        caller.get(f"{SYSTEMS.replace('bulk', 'elements')}/{each}/history").json()["values"][0] for each in made
    ]
    assert histories[0]["action"] == histories[1]["action"] == "versioned"
    assert histories[0]["after"].keys() == histories[1]["after"].keys()


def test_diagrams_are_copied(caller: HouseClient) -> None:
    assert numbers(bulk(caller, {"createVersion": True}, ids=[ID["released"], ID["order"]])) == (2, 0, 0)
    for name in ("released", "order"):
        content = caller.get(f"rest/facets/processes/views/detail/elements/{ID[name]}/content").json()
        assert len(content["elements"]) == 3


def test_expired_versions_are_copied_if_nothing_is_published(caller: HouseClient) -> None:
    assert numbers(bulk(caller, {"createVersion": True}, ids=[ID["expired"], ID["inProcess"]])) == (1, 0, 1)
    assert caller.element("expired")["attributes"]["version"]["127"] == "1.1"


def test_versions_need_a_constant_number_of_statements(caller: HouseClient, house: Storage) -> None:
    counts = []
    for count in (3, 30):
        made = released(caller, count)
        with CaptureQueriesContext(connection) as statements:
            assert numbers(in_systems(caller, {"createVersion": True}, ids=made)) == (count, 0, 0)
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_deletions_need_a_constant_number_of_statements(caller: HouseClient, house: Storage) -> None:
    counts = []
    for count in (3, 30):
        made = systems(caller, count)
        with CaptureQueriesContext(connection) as statements:
            assert numbers(in_systems(caller, {"delete": True}, ids=made)) == (count, 0, 0)
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_many_elements_and_drafts_are_deleted_as_one(caller: HouseClient, house: Storage) -> None:
    made = [*systems(caller, 2), *released(caller, 2)]
    assert numbers(in_systems(caller, {"createVersion": True}, ids=made[2:])) == (2, 0, 0)
    for single in (made[0], made[2]):
        assert caller.post(f"{SYSTEMS.replace('bulk', 'elements')}/{single}/delete").status_code == 200
    assert numbers(in_systems(caller, {"delete": True}, ids=[made[1], made[3]])) == (2, 0, 0)
    with tenant_scope(house):
        left = {each: Element.objects.filter(id=each).values("published_id").first() for each in made}
        assert [each is None for each in left.values()] == [True, True, False, False]
        for element in made[2:]:
            [version] = ElementVersion.objects.filter(element_id=element)
            assert Element.objects.get(id=element).newest_id == version.id
        entries = [
            [*ElementChange.objects.filter(element_id=each, action="deleted").values_list("before__type", flat=True)]
            for each in made
        ]
        assert entries == [["system"]] * 4
        events = [
            [*Event.objects.filter(subject_id=each).order_by("time", "id").values_list("type", flat=True)][-1]
            for each in made
        ]
    assert events == ["element.deleted", "element.deleted", "version.deleted", "version.deleted"]


def test_what_stays_keeps_what_it_refers_to(caller: HouseClient) -> None:
    free, used = systems(caller, 2)
    change = {"id": ID["inProcess"], "related": {"systems": [{"id": used}]}}
    assert caller.update(change).status_code == 200
    report = in_systems(caller, {"delete": True}, ids=[free, used, ID["erp"]])
    assert numbers(report) == (1, 0, 2)
    found = reasons(report)
    assert found[used] == [f"other elements refer to it: systems of {ID['inProcess-1']}."]
    assert "it has been released; let it expire instead." in found["erp"]
