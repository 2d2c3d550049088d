"""Comparisons of an element and of a storage at two times (D569, D570). In a file of its own, because only committed
transactions have times of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from elements.comparing import storage_changes
from storage.models import Storage, StorageRevision
from storage.options import Role
from tests.api_client import ApiClient
from tests.release.house import BASE, ID, HouseClient, Wire, one, reference, user
from tests.release.random_changes import RandomChanges
from tests.scale import scaled

pytestmark = pytest.mark.django_db(transaction=True)
DETAIL = "rest/facets/processes/views/detail/elements"
# Steps of diagrams are listed only if they were changed themselves.
LISTED = ("mainProcess", "subProcess")
NAMES = {"1031": "inProcess-1 deutsch", "1033": "inProcess-1"}


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read(client: HouseClient, path: str) -> Any:
    response = client.get(path.removeprefix(f"{BASE}/"))
    assert response.status_code == 200, response.content
    return response.json()


def process(id: str, **more: Any) -> Wire:
    return {"facetName": "processes", "id": id, "type": "subProcess", **more}


def test_an_element_at_two_times(old_house: Storage, api: ApiClient) -> None:
    architect, viewer = HouseClient(old_house, api, Role.ARCHITECT), HouseClient(old_house, api, Role.VIEWER)
    first = written(timezone.now())
    place = [{"facetName": "processes", "id": ID["order"], "type": "subProcess"}]
    child = one(architect.update({"type": "subProcess", "attributes": {"name": {"1033": "Child"}}, "rootPath": place}))
    draft = architect.new_version("order")
    related = {"systems": [reference("it", "system", "erp")], "secondaryAuthors": [user("ben")]}
    changed = process(ID["order"], attributes={"name": {"1033": "Renamed"}}, related=related)
    one(architect.update({**changed, "rootPath": [{**place[0], "id": ID["inEffect"]}]}))
    second = written(timezone.now())
    assert architect.post(f"{DETAIL}/{draft['versionId']}/delete").status_code == 200
    assert architect.post(f"{DETAIL}/{child['id']}/delete").status_code == 200

    found = read(architect, f"{DETAIL}/{ID['order']}/compare?from={first}&to={second}")
    assert [each["attributes"]["version"] for each in (found["from"], found["to"])] == [{"127": "2.0"}, {"127": "2.1"}]
    assert found["attributes"]["name"] == {"1033": {"from": "order-2", "to": "Renamed"}}
    assert {context: [*each] for context, each in found["references"].items()} == {
        "author": ["added", "removed"],
        "secondaryAuthors": ["added"],
    }
    assert [each["id"] for each in found["children"]["added"]] == [child["id"]]
    assert found["children"]["added"][0]["attributes"] == {"name": {"1033": "Child"}}
    places = {side: each and each["id"] for side, each in found["place"].items()}
    assert places == {"from": ID["house"], "to": ID["inEffect"]}
    assert found["state"]["to"] == "inProcess"
    assert "shapes" not in found
    # A side can be a version as it is now; the draft is gone today.
    mixed = read(architect, f"{DETAIL}/{ID['order']}/compare?from={second}&to=2.0")
    assert mixed["attributes"]["name"] == {"1033": {"from": "Renamed", "to": "order-2"}}
    assert [each["id"] for each in mixed["children"]["removed"]] == [child["id"]]
    assert architect.get(f"{DETAIL}/{ID['order']}/compare?from=2.1").status_code == 404
    # Viewers see the published version at both times, and in another place.
    seen = read(viewer, f"{DETAIL}/{ID['order']}/compare?from={first}&to={second}")
    assert [*seen] == ["from", "to", "place"]
    # An element can be compared at times at which it was there.
    address = f"{DETAIL}/{child['id']}/compare"
    assert read(architect, f"{address}?from={second}&to={second}")["from"]["id"] == child["id"]
    gone = architect.get(f"{address}?from={first}&to={second}")
    assert (gone.status_code, "does not exist at" in gone.json()["message"]) == (404, True)
    assert architect.get(f"{address}?from={second}").status_code == 404


def test_what_is_refused(old_house: Storage, api: ApiClient) -> None:
    architect = HouseClient(old_house, api, Role.ARCHITECT)
    now = timezone.now()
    for query, status, words in (
        ("from=soon", 400, "expected a time, such as 2026-03-01T09:30:00, not 'soon'."),
        ("from=2.0", 400, "expected a time, such as"),
        ("", 400, "from: expected a time"),
        (f"from={written(now)}&to={written(now - timedelta(seconds=1))}", 422, "to: is before from"),
        ("from=2001-01-01", 422, "from: the record of this storage begins at"),
        (f"from={written(now + timedelta(days=1))}", 422, "in the future"),
    ):
        for path in ("rest/compare", f"{DETAIL}/{ID['order']}/compare") if status == 422 else ("rest/compare",):
            if "is before" in words and path != "rest/compare":
                continue
            response = architect.get(f"{path}?{query}")
            assert (response.status_code, words in response.json()["message"]) == (status, True), response.json()


def test_a_storage_at_two_times(old_house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    architect, viewer = HouseClient(old_house, api, Role.ARCHITECT), HouseClient(old_house, api, Role.VIEWER)
    imported, begin = timezone.now(), StorageRevision.objects.get(pk=old_house.pk).recorded_since
    names, place = {"name": {"1033": "New"}}, [{"facetName": "processes", "id": ID["house"], "type": "mainProcess"}]
    doomed = one(architect.update({"type": "subProcess", "attributes": {"name": {"1033": "Old"}}, "rootPath": place}))
    first = written(timezone.now())
    assert architect.post(f"{DETAIL}/{doomed['id']}/delete").status_code == 200
    made = one(architect.update({"type": "subProcess", "attributes": names, "rootPath": place}))
    one(architect.update(process(ID["inProcess"], attributes={"purp": {"1033": "Changed"}})))
    second = written(timezone.now())
    one(architect.update(process(ID["inProcess"], attributes={"name": {"1033": "Later"}})))

    found = read(architect, f"rest/compare?from={first}&to={second}")
    keys = ("facetName", "id", "versionId", "type", "state", "attributes", "expandUri")
    prefix = f"{BASE}/{DETAIL}"
    assert [{key: each[key] for key in keys} | {"change": each["change"]} for each in found["values"]] == [
        {
            **{key: value for key, value in process(ID["inProcess"]).items() if key in keys},
            "versionId": ID["inProcess-1"], "state": "inProcess", "attributes": {"name": NAMES},
            "expandUri": f"{prefix}/{ID['inProcess-1']}", "change": "changed",
        },
        {
            **{key: made[key] for key in keys[:5]}, "attributes": names, "expandUri": f"{prefix}/{made['versionId']}",
            "change": "new",
        },
        {
            **{key: doomed[key] for key in keys[:5]}, "attributes": {"name": {"1033": "Old"}},
            "expandUri": f"{prefix}/{doomed['versionId']}?$asOf={first}", "change": "deleted",
        },
    ]  # fmt: skip
    assert (found["changes"], found["isComplete"]) == ({"new": 1, "changed": 1, "deleted": 1}, True)
    changed, _, deleted = found["values"]
    assert one(architect.get(deleted["expandUri"].removeprefix(f"{BASE}/")))["attributes"]["name"] == {"1033": "Old"}
    difference = read(architect, changed["compareUri"])
    assert difference["attributes"] == {"purp": {"1033": {"from": "Purpose", "to": "Changed"}}}
    # Until now, the other attribute differs, too.
    found = read(architect, f"rest/compare?from={first}")
    assert set(read(architect, found["values"][0]["compareUri"])["attributes"]) == {"name", "purp"}
    page = architect.get(f"rest/compare?from={first}&$page=2&$pageSize=1")
    assert (page.json()["values"], page["X-Total-Count"]) == (found["values"][1:2], "3")
    assert architect.post(f"rest/compare?from={first}").json() == found
    # An import writes no history. An element that was changed or deleted afterwards was new then, too.
    for client in (architect, viewer):
        listed = read(client, f"{DETAIL}?$asOf={written(imported)}")["elements"]
        values = read(client, f"rest/compare?from={written(begin)}&to={written(imported)}&$pageSize=1000")["values"]
        new = {each["id"] for each in values if each["facetName"] == "processes" and each["change"] == "new"}
        assert new == {each["id"] for each in listed if each["type"] in LISTED}
    # Viewers see no drafts.
    nothing = {"new": 0, "changed": 0, "deleted": 0}
    assert read(viewer, f"rest/compare?from={first}") == {
        "count": 0, "values": [], "changes": nothing, "isComplete": True,
    }  # fmt: skip
    # Those of elements that a permission set hides do not exist, and neither do deleted ones.
    administrator, editor = HouseClient(old_house, api, Role.ADMINISTRATOR), HouseClient(old_house, api, Role.EDITOR)
    path = f"/acme/house/_api/rest/permissions/permissionsets/{ID['inProcess']}"
    body = {"mode": "replace", "users": [{"id": ID["anna"], "permissions": ["show"]}]}
    assert api.put(path, body, content_type="application/json", token=administrator.token).status_code == 200
    assert read(editor, f"rest/compare?from={first}")["changes"] == {"new": 1, "changed": 0, "deleted": 0}
    assert editor.get(f"{DETAIL}/{ID['inProcess']}/compare?from={first}").status_code == 404


def refusal(client: HouseClient, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 422, response.content
    text: str = response.json()["message"]
    return text


@pytest.mark.long
def test_too_many_changes(old_house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names a shorter period. The comparisons of all shorter periods find the same as the whole one."""
    architect = HouseClient(old_house, api, Role.ARCHITECT)
    first, place = timezone.now(), [{"facetName": "processes", "id": ID["house"], "type": "mainProcess"}]
    for number in range(7):
        names = {"name": {"1033": f"New {number}"}}
        one(architect.update({"type": "subProcess", "attributes": names, "rootPath": place}))
        one(architect.update(process(ID["inProcess"], attributes={"purp": {"1033": f"{number}"}})))
    expected = {each["id"] for each in read(architect, f"rest/compare?from={written(first)}")["values"]}
    monkeypatch.setattr(storage_changes, "MOST_CHANGES", 4)
    together = "There are more than 4 changes between these times. A shorter period would have as many"
    assert refusal(architect, f"rest/compare?from={written(first)}").startswith(together)
    # The changes are closer together than the clocks of two servers may be apart.
    monkeypatch.setattr(storage_changes, "MARGIN", timedelta(0))
    begin, end, found, steps = written(first), "", set[str](), 0
    while begin:
        steps += 1
        response = architect.get(f"rest/compare?from={begin}{end}")
        if response.status_code == 422:
            prefix = "There are more than 4 changes between these times. Compare a shorter period, such as up to "
            until = response.json()["message"].removeprefix(prefix).removesuffix(".")
            assert begin < until < (end.removeprefix("&to=") or written(timezone.now()))
            end = f"&to={until}"
        else:
            assert response.json()["isComplete"] is True
            found |= {each["id"] for each in response.json()["values"]}
            begin, end = end.removeprefix("&to="), ""
    assert (found, 4 <= steps < 20) == (expected, True)


@pytest.mark.long
def test_too_many_elements_of_an_import(old_house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    architect = HouseClient(old_house, api, Role.ARCHITECT)
    begin = StorageRevision.objects.get(pk=old_house.pk).recorded_since
    monkeypatch.setattr(storage_changes, "MOST_CHANGES", 4)
    text = refusal(architect, f"rest/compare?from={written(begin)}")
    before = text.rpartition(" ")[2].removesuffix(".")
    assert read(architect, f"rest/compare?from={written(begin)}&to={before}")["count"] == 0
    assert "compare the lists of both times ($asOf)" in refusal(architect, f"rest/compare?from={before}")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(scaled(6)))
def test_comparisons_agree_with_what_was_there(old_house: Storage, api: ApiClient, seed: int) -> None:
    """The processes in the lists of two times tell which are new and deleted, and which must be among the changed."""
    changes = RandomChanges(old_house, api, seed)
    readers = [HouseClient(old_house, api, Role.ARCHITECT), HouseClient(old_house, api, Role.VIEWER)]
    times = [timezone.now()]
    for _ in range(scaled(40)):
        changes.change()
        times.append(timezone.now())
    for _ in range(scaled(30)):
        client, (old, new) = changes.random.choice(readers), sorted(changes.random.sample(times, 2))
        first, second = written(old), written(new)
        before, after = (
            {each["id"]: each for each in read(client, f"{DETAIL}?$asOf={time}")["elements"] if each["type"] in LISTED}
            for time in (first, second)
        )
        values = read(client, f"rest/compare?from={first}&to={second}&$pageSize=1000")["values"]
        kinds = {each["id"]: each["change"] for each in values if each["facetName"] == "processes"}
        assert {id for id, kind in kinds.items() if kind == "new"} == after.keys() - before.keys()
        assert {id for id, kind in kinds.items() if kind == "deleted"} == before.keys() - after.keys()
        for id in before.keys() & after.keys():
            found = read(client, f"{DETAIL}/{id}/compare?from={first}&to={second}")
            parts = (before[id], after[id])
            assert ("state" in found) == (parts[0].get("state") != parts[1].get("state"))
            changed = {
                name
                for name in {*parts[0]["attributes"], *parts[1]["attributes"]} & {"name", "purp", "validFrom"}
                if parts[0]["attributes"].get(name) != parts[1]["attributes"].get(name)
            }
            assert changed == {*found.get("attributes", {})} & {"name", "purp", "validFrom"}
            if parts[0] != parts[1] and ({*found} - {"from", "to", "children", "shapes"}):
                assert kinds[id] == "changed", (found, parts)
