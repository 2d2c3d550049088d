"""Changes of callers whom permission sets limit: nothing hidden is lost or told, and no limit is lifted (D493, D521)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from elements.api.writing_viewset import ElementWritingViewSet
from elements.models import ShapeFlow
from facets.models import PermissionSet
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.drawing import anchor, new
from tests.elements.file_desk import OCTETS, PNG, keep_files_in
from tests.release.house import API, ID, HouseClient, MakeClient, Wire
from tests.release.set_keeper import Keeper, grant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rival")]
ELEMENTS = "rest/facets/processes/views/detail/elements"
CONTENT = f"{ELEMENTS}/{ID['inProcess']}/content"
NEW_TASK = {"values": [new(1, "task", "New")]}

# A note about a task, which the import keeps as it is.
NOTED = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:own"><process id="p">
    <startEvent id="s" name="Begin"/><task id="t" name="Work"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/>
    <textAnnotation id="n"><text>Zebra</text></textAnnotation><association id="a" sourceRef="t" targetRef="n"/>
    </process></definitions>"""


def children(client: HouseClient, name: str) -> list[str]:
    names = {id: name for name, id in ID.items()}
    return [names[each["id"]] for each in client.get(f"{ELEMENTS}/{ID[name]}/children").json()["elements"]]


def parent(client: HouseClient, name: str) -> str | None:
    path = client.element(name, "?$resources=rootPath").get("rootPath")
    return path[0]["id"] if path else None


def test_moves_do_not_lift_limits(keeper: Keeper, desk: MakeClient) -> None:
    anna = desk(user="anna")
    keeper.limit("house", users=[grant("ben", "delete")])
    away = {"id": ID["inProcess"], "rootPath": []}
    refused = anna.update(away)
    assert refused.status_code == 403
    assert "away from a permission set that limits you" in refused.content.decode()
    keeper.limit("house", users=[grant("anna", "delete")])
    assert anna.update(away).status_code == 200
    assert parent(keeper, "inProcess") is None


def test_elements_stay_below_hidden_parents(keeper: Keeper, desk: MakeClient) -> None:
    keeper.limit("house", groups=[grant("crew", "show")])
    keeper.limit("inProcess", mode="stop")
    anna = desk(user="anna")
    read = anna.element("inProcess", "?$resources=rootPath,attributes")
    assert not read.get("rootPath")
    assert anna.update({"id": ID["inProcess"], "rootPath": [], "attributes": read["attributes"]}).status_code == 200
    assert parent(keeper, "inProcess") == ID["house"]


def test_members_of_named_groups_are_changed_by_administrators(keeper: Keeper, desk: MakeClient) -> None:
    architect = desk(Role.ARCHITECT)
    joining = {"elements": [{"id": ID["anna"], "related": {"userGroups": [{"id": ID["crew"]}]}}]}
    leaving = {"elements": [{"id": ID["anna"], "related": {"userGroups": []}}]}
    users = "rest/facets/users/views/detail/elements"
    assert architect.post(users, joining).status_code == architect.post(users, leaving).status_code == 200
    keeper.limit("order", groups=[grant("crew", "show")])
    refused = architect.post(users, joining)
    assert (refused.status_code, "the members of a group" in refused.content.decode()) == (403, True)
    person = {"type": "user", "attributes": {"name": {"1033": "New"}}, "related": joining["elements"][0]["related"]}
    assert architect.post(users, {"elements": [person]}).status_code == 403
    assert keeper.post(users, joining).status_code == 200


def test_positions_count_what_the_caller_sees(keeper: Keeper, desk: MakeClient) -> None:
    keeper.limit("order", groups=[grant("crew", "show")])
    anna, unknown = desk(user="anna"), "00000000-0000-4000-8000-00000000ffff"
    assert anna.update({"id": ID["inProcess"], "position": 1}).status_code == 200
    assert children(anna, "house")[:3] == ["inReview", "inProcess", "readyForQa"]
    assert children(keeper, "house")[:4] == ["order", "inReview", "inProcess", "readyForQa"]
    refused = [anna.update({"id": ID["inProcess"], "position": {"before": id}}) for id in (ID["order"], unknown)]
    assert [each.status_code for each in refused] == [422, 422]
    texts = [each.content.decode().replace(id, "") for each, id in zip(refused, (ID["order"], unknown), strict=True)]
    assert texts[0] == texts[1]
    history = f"{ELEMENTS}/{ID['inProcess']}/history"
    told, whole = (client.get(history).json()["values"][0] for client in (anna, keeper))
    assert (told["after"], whole["after"]) == ({"parent": ID["house"]}, {"parent": ID["house"], "position": 2})


def test_diagrams_are_limited_with_their_parts(keeper: Keeper, desk: MakeClient) -> None:
    anna = desk(user="anna")
    keeper.limit("house", users=[grant("anna", "edit"), grant("ben", "create")])
    assert anna.post(CONTENT, NEW_TASK).status_code == 403
    keeper.free("house")
    for permission in ("delete", "show"):
        keeper.limit("inProcess-task", groups=[grant("crew", permission)])
        deleted = anna.api.delete(f"{API}/{ELEMENTS}/{ID['inProcess']}", token=anna.token)
        assert (deleted.status_code, ID["inProcess-task"] in deleted.content.decode()) == (403, False)
        erased = anna.api.delete(f"{API}/{CONTENT}/{ID['inProcess-s2']}", token=anna.token)
        assert erased.status_code == (403 if permission == "delete" else 409)
    keeper.free("inProcess-task")
    assert anna.post(CONTENT, NEW_TASK).status_code == 200


def test_diagrams_keep_hidden_references(keeper: Keeper, desk: MakeClient) -> None:
    task = f"{ELEMENTS}/{ID['inProcess-task']}"
    systems: Wire = {"systems": [{"id": ID["erp"]}]}
    assert keeper.update({"id": ID["inProcess-task"], "related": systems}).status_code == 200
    keeper.limit("erp", groups=[grant("crew", "show")])
    anna = desk(user="anna")
    described: Wire = {"attributes": {"name": {"1033": "Renamed"}}, "related": {"systems": []}}
    items: list[Any] = [anchor(place, ID[f"inProcess-s{place}"]) for place in (1, 2, 3)]
    items[1]["element"] = described
    replaced = anna.api.put(f"{API}/{CONTENT}", {"values": items}, content_type="application/json", token=anna.token)
    assert replaced.status_code == 200, replaced.content
    kept = keeper.get(task).json()["elements"][0]
    assert (kept["attributes"]["name"]["1033"], kept["related"]["systems"][0]["id"]) == ("Renamed", ID["erp"])


def test_texts_of_hidden_flows_are_not_found(house: Storage, keeper: Keeper, desk: MakeClient) -> None:
    with tenant_scope(house):
        ShapeFlow.objects.filter(shape_id=ID["inProcess-s2"]).update(label={"1033": "Zebra"})
    anna = desk(user="anna")
    assert anna.get("rest/search?q=zebra").json()["count"] == 1
    keeper.limit("erp", groups=[grant("crew", "show")])
    assert anna.get("rest/search?q=zebra").json()["count"] == 1
    keeper.limit("inProcess-task", groups=[grant("crew", "show")])
    assert anna.get("rest/search?q=zebra").json()["count"] == anna.get("rest/search?q=zebrra").json()["count"] == 0
    assert desk(user="ben").get("rest/search?q=zebra").json()["count"] == 1


def test_documents_of_diagrams_are_for_those_who_see_all_of_them(keeper: Keeper, desk: MakeClient) -> None:
    address, anna = f"v1/bpmn/{ID['inProcess']}", desk(user="anna")
    sent = keeper.api.post(f"{API}/{address}", NOTED.encode(), content_type="application/xml", token=keeper.token)
    assert sent.status_code == 200, sent.content
    assert "Zebra" in anna.get(address).content.decode()
    [task] = [each["id"] for each in anna.get(CONTENT).json()["elements"] if each["type"] == "task"]
    assert keeper.put(f"rest/permissions/permissionsets/{task}", {"users": [grant("ben", "show")]}).status_code == 200
    exported = anna.get(address).content.decode()
    assert ("Begin" in exported, "Zebra" in exported) == (True, False)
    assert "Zebra" in desk(user="ben").get(address).content.decode()


def test_files_of_hidden_elements_cannot_be_attached(
    keeper: Keeper, desk: MakeClient, settings: Settings, tmp_path: Path
) -> None:
    keep_files_in(settings, tmp_path)
    sent = keeper.api.post(f"{API}/rest/files?name=plan.png", PNG, content_type=OCTETS, token=keeper.token)
    file = sent.json()["values"][0]["id"]
    images = {"workshopImages": {"127": [{"id": file}]}}
    made = keeper.update({"type": "subProcess", "attributes": {"name": {"1033": "Secret"}, **images}})
    assert made.status_code == 200, made.content
    anna = desk(user="anna")
    assert anna.get(f"rest/files/{file}").status_code == 200
    secret = made.json()["elements"][0]["id"]
    assert keeper.put(f"rest/permissions/permissionsets/{secret}", {"users": [grant("ben", "show")]}).status_code == 200
    assert anna.get(f"rest/files/{file}").status_code == 404
    refused = anna.update({"id": ID["inProcess"], "attributes": images})
    assert (refused.status_code, "there is no file" in refused.content.decode()) == (422, True)


def test_limits_are_those_of_the_settled_configuration(
    house: Storage, keeper: Keeper, desk: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An administrator takes the permission away while a change waits for the configuration (D520)."""
    keeper.limit("inProcess", users=[grant("anna", "edit")])
    anna, settle = desk(user="anna"), ElementWritingViewSet.settled_writer

    def take_away(self: ElementWritingViewSet, request: Any) -> Any:
        PermissionSet.objects.update(entries={"edit": [ID["ben"]]})
        return settle(self, request)

    monkeypatch.setattr(ElementWritingViewSet, "settled_writer", take_away)
    rename = {"elements": [{"id": ID["inProcess"], "attributes": {"name": {"1033": "Renamed"}}}]}
    # With a key, the configuration is settled later than the scope.
    assert anna.post(ELEMENTS, rename, **{"Idempotency-Key": "once"}).status_code == 403


def test_sets_of_deleted_elements_keep_nobody(keeper: Keeper) -> None:
    keeper.limit("inProcess", users=[grant("eve", "show")])
    eve = f"{API}/rest/facets/users/views/detail/elements/{ID['eve']}"
    assert keeper.api.delete(eve, token=keeper.token).status_code == 409
    assert keeper.api.delete(f"{API}/{ELEMENTS}/{ID['inProcess']}", token=keeper.token).status_code == 200
    assert keeper.api.delete(eve, token=keeper.token).status_code == 200
