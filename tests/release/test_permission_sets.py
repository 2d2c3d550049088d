"""Permission sets (D490): limits below an element, by users and groups, in all operations of the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.models import InheritedSet
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office
from tests.release.house import API, ID, HouseClient, MakeClient
from tests.release.set_keeper import SETS, Keeper, grant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rival")]
ELEMENTS = "rest/facets/processes/views/detail/elements"


def listed(client: HouseClient, query: str = "") -> set[str]:
    response = client.get(f"{ELEMENTS}{query}")
    assert response.status_code == 200, response.content
    found = {each["id"] for each in response.json()["elements"]}
    assert response.json()["count"] == len(found)
    return {name for name, id in ID.items() if id in found}


def rows(house: Storage) -> dict[str, int]:
    names = {id: name for name, id in ID.items()}
    with tenant_scope(house):
        return {names[str(each.id)]: each.set_number for each in InheritedSet.objects.all()}


def test_set_is_answered_without_an_envelope(keeper: Keeper, desk: MakeClient) -> None:
    assert keeper.get(f"{SETS}/{ID['order']}").json() == {"id": None, "users": [], "userGroups": []}
    made = keeper.limit("house", users=[grant("anna", "show", "edit")], groups=[grant("crew", "show")])
    assert [(each["id"], each["permissions"]) for each in made["users"]] == [(ID["anna"], ["show", "edit"])]
    assert [(each["id"], each["permissions"]) for each in made["userGroups"]] == [(ID["crew"], ["show"])]
    # The element below inherits it.
    assert keeper.get(f"{SETS}/{ID['order']}").json() == made
    assert desk(user="ben").get(f"{SETS}/{ID['order']}").json() == made
    assert keeper.read_by_post(f"{SETS}/{ID['order']}").json() == made
    assert keeper.free("house").json() == {"id": None, "users": [], "userGroups": []}
    assert keeper.free("house").status_code == 404


def test_hidden_elements_do_not_exist(keeper: Keeper, desk: MakeClient) -> None:
    ben, anna = desk(user="ben"), desk(user="anna")
    everything = listed(ben)
    keeper.limit("order", users=[grant("anna", "show")])
    assert listed(ben) == everything - {"order"} - {name for name in everything if name.startswith("order-")}
    assert listed(anna) == listed(keeper) == everything
    unknown = "00000000-0000-4000-8000-00000000ffff"
    for path in ("", "/attributes", "/children", "/history", "/info", "/versions", "/content", "/referencedBy"):
        hidden, absent = (ben.get(f"{ELEMENTS}/{id}{path}") for id in (ID["order"], unknown))
        assert hidden.status_code == absent.status_code == 404
        assert hidden.content.replace(ID["order"].encode(), b"") == absent.content.replace(unknown.encode(), b"")
    for other in (f"release/{ID['order']}/transitions", f"rest/diagram/{ID['order']}/render", f"{SETS}/{ID['order']}"):
        assert ben.get(other).status_code == 404
    children = ben.get(f"{ELEMENTS}/{ID['house']}/children").json()["elements"]
    assert ID["order"] not in {each["id"] for each in children}
    erp = ben.get(f"rest/facets/it/views/detail/elements/{ID['erp']}/referencedBy").json()
    assert ID["order"] not in json.dumps(erp)
    assert (
        erp["count"] == keeper.get(f"rest/facets/it/views/detail/elements/{ID['erp']}/referencedBy").json()["count"] - 1
    )
    assert ben.get("rest/search?q=order").json()["count"] == 0
    assert anna.get("rest/search?q=order").json()["count"] > 0


def test_limits_read_again_only_what_they_change(keeper: Keeper, desk: MakeClient) -> None:
    """The state of the content and the element are read before the limits are known (D608)."""
    ben = desk(user="ben")
    keeper.limit("order", users=[grant("anna", "show")])
    for path, elements in (("", 0), (f"/{ID['released']}", 2)):
        ben.get(f"{ELEMENTS}{path}")
        with CaptureQueriesContext(connection) as captured:
            assert ben.get(f"{ELEMENTS}{path}").status_code == 200
        statements = [each["sql"] for each in captured.captured_queries]
        assert sum("elements_contentmark" in each for each in statements) == 1
        found = [each for each in statements if f"'{ID['released']}'" in each and "elements_elementversion" in each]
        assert len(found) >= elements
    assert ben.get(f"{ELEMENTS}/{ID['order']}").status_code == 404


def test_totals_follow_the_sets(keeper: Keeper, desk: MakeClient) -> None:
    """Sets reuse numbers, and a total is kept while the content stays the same (D607)."""
    ben = desk(user="ben")

    def totals() -> tuple[int, int]:
        page = ben.get(f"{ELEMENTS}?$page=1&$pageSize=1")
        return int(page["X-Total-Count"]), len(listed(ben))

    found = []
    keeper.limit("order", users=[grant("anna", "show")])
    found.append(totals())
    keeper.free("order")
    keeper.limit("house", users=[grant("anna", "show")])
    found.append(totals())
    keeper.limit("house", users=[grant("ben", "show")])
    keeper.limit("order", users=[grant("anna", "show")])
    found.append(totals())
    keeper.free("order")
    found.append(totals())
    assert [total for total, _ in found] == [size for _, size in found]
    assert len({*found}) == 3
    assert found[1] == (0, 0)


def test_reader_pages_know_nothing_of_hidden_authors(house: Storage, keeper: Keeper) -> None:
    note = "Only the author, further authors"
    author = {"facetName": "users", "id": ID["anna"], "type": "user"}
    element = {"id": ID["inProcess"], "type": "subProcess", "related": {"author": [author]}}
    assert keeper.post("rest/facets/processes/views/detail/elements", {"elements": [element]}).status_code == 200
    reader = Office(house, Role.ARCHITECT)
    address = f"/acme/house/1033/processes/{ID['inProcess']}"
    assert note in reader.get(address).content.decode()
    keeper.limit("anna", users=[grant("ben", "show")])
    page = reader.get(address)
    assert (page.status_code, note in page.content.decode()) == (200, False)


def test_sets_extend_replace_and_stop(keeper: Keeper, desk: MakeClient) -> None:
    ben, anna, vera = desk(user="ben"), desk(user="anna"), desk(user="vera")
    keeper.limit("house", groups=[grant("crew", "show")])
    assert listed(anna) == listed(vera) == set()
    keeper.limit("order", mode="extend", users=[grant("anna", "show")])
    keeper.limit("released", mode="replace", users=[grant("vera", "show")])
    keeper.limit("inReview", mode="stop")
    assert {"house", "order", "released"} & listed(anna) == {"order"}
    assert {"house", "order", "released"} & listed(vera) == {"released"}
    assert {"inReview"} <= listed(anna) & listed(ben)
    assert {"house", "order", "released"} & listed(ben) == {"house", "order"}


def test_moves_and_new_elements_follow_their_parents(house: Storage, keeper: Keeper, desk: MakeClient) -> None:
    assert rows(house) == {}
    keeper.limit("released", users=[grant("anna", "show")])
    limited = set(rows(house))
    assert limited == {"released", "released-start", "released-task", "released-end"}
    anna, ben = desk(user="anna"), desk(user="ben")
    keeper.limit("house", users=[grant("anna", "show")])
    assert set(rows(house)) >= limited | {"order", "inProcess", "house"}
    made = anna.update(
        {"type": "subProcess", "attributes": {"name": {"1033": "New"}}, "rootPath": [{"id": ID["house"]}]}
    )
    new = made.json()["elements"][0]["id"]
    assert anna.get(f"{ELEMENTS}/{new}").status_code == 200
    assert ben.get(f"{ELEMENTS}/{new}").status_code == 404
    keeper.free("house")
    assert ben.get(f"{ELEMENTS}/{new}").status_code == 200
    assert set(rows(house)) >= limited
    keeper.free("released")
    assert rows(house) == {}


def test_sets_limit_changes(keeper: Keeper, desk: MakeClient) -> None:
    keeper.limit("house", users=[grant("anna", "edit", "create", "delete")])
    anna, other = desk(user="anna"), desk(Role.ARCHITECT)
    rename = {"id": ID["inProcess"], "attributes": {"name": {"1033": "Renamed"}}}
    below = {"type": "subProcess", "attributes": {"name": {"1033": "New"}}, "rootPath": [{"id": ID["house"]}]}
    assert other.update(rename).status_code == other.update(below).status_code == 403
    assert other.api.delete(f"{API}/{ELEMENTS}/{ID['inProcess']}", token=other.token).status_code == 403
    assert other.get(f"{ELEMENTS}/{ID['inProcess']}/info").json()["values"][0]["permissions"] == [
        "ShowElement", "ApproveElement", "OpenElement",
    ]  # fmt: skip
    assert anna.update(rename).status_code == anna.update(below).status_code == 200
    assert "InProcessToReleased" in other.offered("inProcess")
    keeper.limit("house", groups=[grant("crew", "approve")])
    assert "InProcessToReleased" not in other.offered("inProcess")


def test_changes_keep_what_the_caller_does_not_see(keeper: Keeper, desk: MakeClient) -> None:
    keeper.limit("erp", groups=[grant("crew", "show")])
    anna, ben = desk(user="anna"), desk(user="ben")
    assert "systems" not in anna.element("inProcess")["related"]
    assert anna.update({"id": ID["inProcess"], "related": {"systems": []}}).status_code == 200
    refused = anna.update({"id": ID["inProcess"], "related": {"systems": [{"id": ID["erp"]}]}})
    assert refused.status_code == 422, refused.content
    assert ben.element("inProcess")["related"]["systems"][0]["id"] == ID["erp"]
    copy = anna.new_version("released")
    assert "systems" not in copy["related"]
    assert ben.element(copy["versionId"])["related"]["systems"][0]["id"] == ID["erp"]
    keeper.limit("inProcess-task", groups=[grant("crew", "show")])
    content = anna.get(f"{ELEMENTS}/{ID['inProcess']}/content").json()["elements"]
    assert [each["id"] for each in content] == [ID["inProcess-start"], ID["inProcess-end"]]
    shape = f"{API}/{ELEMENTS}/{ID['inProcess']}/content/{ID['inProcess-s1']}"
    assert anna.api.delete(shape, token=anna.token).status_code == 409


def test_facets_are_limited(keeper: Keeper, desk: MakeClient) -> None:
    ben, anna = desk(user="ben"), desk(user="anna")
    body = {"userGroups": [grant("crew", "show")]}
    assert keeper.put("rest/permissions/facets/it", body).status_code == 200
    read = keeper.get("rest/permissions/facets/it").json()
    assert [(each["id"], each["permissions"]) for each in read["userGroups"]] == [(ID["crew"], ["show"])]
    assert keeper.read_by_post("rest/permissions/facets/it").json() == read
    assert anna.get("rest/facets/it/views").status_code == 404
    assert "it" not in {each["name"] for each in anna.get("rest/facets").json()["values"]}
    assert ID["erp"] not in json.dumps(anna.element("released"))
    assert anna.get("rest/search?q=erp").json()["count"] == 0
    assert ben.get("rest/facets/it/views/detail/elements").json()["count"] == 1
    assert keeper.put("rest/permissions/facets/it", {}).status_code == 200
    assert anna.get("rest/facets/it/views/detail/elements").json()["count"] == 1


def test_only_administrators_change_sets(desk: MakeClient, keeper: Keeper) -> None:
    architect = desk(Role.ARCHITECT)
    options: Any = {"content_type": "application/json", "token": architect.token}
    assert architect.api.put(f"{API}/{SETS}/{ID['order']}", b"{}", **options).status_code == 403
    for refused_body in ({"mode": "stop", "users": [grant("anna", "show")]}, {"users": [grant("erp", "show")]}):
        assert keeper.put(f"{SETS}/{ID['order']}", refused_body).status_code == 422
    unreadable: list[Any] = [
        [],
        {"mode": "x"},
        {"users": [{"id": "x", "permissions": ["show"]}]},
        {"users": [{"id": ID["anna"]}]},
    ]
    for body in unreadable:
        assert keeper.put(f"{SETS}/{ID['order']}", body).status_code == 400
    keeper.limit("order", users=[grant("eve", "show")])
    address = f"{API}/rest/facets/users/views/detail/elements/{ID['eve']}"
    refused = keeper.api.delete(address, token=keeper.token)
    assert refused.status_code == 409
    assert "a permission set names it" in refused.content.decode()


def test_back_office_explains_and_changes_sets(house: Storage, keeper: Keeper, desk: MakeClient) -> None:
    office = Office(house, Role.ADMINISTRATOR)
    assert "There is no permission set" in office.element(ID["order"], tab="access")
    form = f"elements/element/{ID['house']}/access/"
    given = {"mode": "replace", "show": ID["crew"], "edit": f"{ID['anna']},{ID['crew']}"}
    assert office.post(form, given).status_code == 302
    assert {each["id"]: each["permissions"] for each in keeper.get(f"{SETS}/{ID['order']}").json()["userGroups"]} == {
        ID["crew"]: ["show", "edit"]
    }
    keeper.limit("order", mode="extend", users=[grant("vera", "show")])
    explained = office.element(ID["order"], tab="access")
    for text in ("Who can see this, and why?", "Crew", "Vera", "House", "are added to the inherited ones"):
        assert text in explained
    assert "Remove the permission set" in office.page(form)
    assert office.post(form, {"mode": "stop", "show": ID["crew"], "remove": "1"}).status_code == 302
    assert "House" not in office.element(ID["order"], tab="access").split("nearest first")[1]
    assert Office(house, Role.EDITOR).get(form).status_code == 403
