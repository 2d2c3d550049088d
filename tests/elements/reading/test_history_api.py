"""The change history, `.../elements/{id}/history`: author, time, request, and values before and after."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from elements.models import ElementChange
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.drawing import anchor, content, draw, new, one, post, problems
from tests.elements.element_parts import NOT_THERE, part
from tests.elements.handbook import FACETS, ID, wire
from tests.factories import token_for

pytestmark = pytest.mark.django_db

PROCESSES = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"
KEYS = ["versionId", "action", "changedOn", "caller", "requestId", "before", "after", "changedBy"]
LONG = "12345678901234567890.1250"


def update(api: ApiClient, token: str, *elements: dict[str, Any] | str, **more: Any) -> Any:
    """Send a text unchanged, so that numbers keep their digits."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in elements]
    body = f'{{"elements": [{", ".join(texts)}]}}'
    response = api.post(PROCESSES, body, content_type="application/json", token=token, **more)
    assert response.status_code == 200, response.json()
    return response


def history(api: ApiClient, token: str, element: str, query: str = "") -> list[dict[str, Any]]:
    response = api.get(f"{part(element, 'history')}{query}", token=token)
    assert response.status_code == 200, response.json()
    values: list[dict[str, Any]] = response.json()["values"]
    assert response.json() == {"count": len(values), "values": values}
    return values


def last_token(storage: Storage) -> ApiToken:
    return ApiToken.objects.filter(storage=storage).latest("created_on")


def change(storage: Storage, response: Any, version: str, action: str, moment: str, **values: Any) -> dict[str, Any]:
    """Return the expected entry of a change that Anna made with the request of `response`."""
    return {
        "versionId": ID.get(version, version),
        "action": action,
        "changedOn": moment,
        "caller": f"token:{last_token(storage).id}",
        "requestId": response["X-Request-ID"],
        "before": values["before"],
        "after": values["after"],
        "changedBy": wire("anna"),
    }


def changed_on(api: ApiClient, token: str, element: str) -> str:
    return str(one(api, token, element)["attributes"]["changedOn"]["127"])


class TestWhatIsTold:
    def test_an_unchanged_element_has_no_history(self, api: ApiClient, anna: str) -> None:
        assert history(api, anna, "order") == []

    def test_creating(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        parent = [{"id": ID["sales"]}]
        names = {"1031": "Packen", "1033": "Pack"}
        element = {"type": "subProcess", "attributes": {"name": names, "count": {"127": 3}}, "rootPath": parent}
        response = update(api, anna, element)
        (made,) = response.json()["elements"]
        (found,) = history(api, anna, made["id"])
        assert list(found) == KEYS
        given = {"name[1031]": "Packen", "name[1033]": "Pack", "count[127]": 3}
        expected = {
            "before": {"attributes": dict.fromkeys(given), "related": {"author": []}, "parent": None},
            "after": {"attributes": given, "related": {"author": [ID["anna"]]}, "parent": ID["sales"]},
        }
        moment = changed_on(api, anna, made["id"])
        assert found == change(handbook, response, made["versionId"], "created", moment, **expected)

    def test_updating_several_properties(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        update(
            api,
            anna,
            f'{{"id": "{ID["order"]}", "attributes": {{"cost": {{"127": {LONG}}}, "scope": {{"1033": "All"}}}}}}',
        )
        given = {
            "id": ID["order"],
            "attributes": {"name": {"1031": "Auftrag", "1033": "Order"}, "scope": {"1033": None}, "dueDate": {"127": "2027-01-31"}},
            "related": {"systems": [{"id": ID["crm"]}, {"id": ID["erp"]}], "owner": [{"id": ID["ben"]}]},
        }  # fmt: skip
        text = json.dumps(given).replace('"scope"', '"cost": {"127": 0.10}, "scope"')
        response = update(api, anna, text)
        last, first = history(api, anna, "order")
        before = {
            "attributes": {
                "name[1031]": None, "name[1033]": "Handle every order", "cost[127]": 12345678901234567890.125, "scope[1033]": "All",
                "dueDate[127]": None,
            },
            "related": {"systems": [ID["erp"]], "owner": []},
        }  # fmt: skip
        after = {
            "attributes": {"name[1031]": "Auftrag", "name[1033]": "Order", "cost[127]": 0.1, "scope[1033]": None, "dueDate[127]": "2027-01-31"},
            "related": {"systems": [ID["crm"], ID["erp"]], "owner": [ID["ben"]]},
        }  # fmt: skip
        moment = changed_on(api, anna, "order")
        assert last == change(handbook, response, "order-3", "updated", moment, before=before, after=after)
        assert first["after"]["attributes"]["scope[1033]"] == "All"
        assert first["changedOn"] < last["changedOn"]

    def test_decimals_keep_every_digit(self, api: ApiClient, anna: str) -> None:
        for value in (LONG, "-0.000000000000000000000000001", "0.10"):
            update(api, anna, f'{{"id": "{ID["order"]}", "attributes": {{"cost": {{"127": {value}}}}}}}')
        text = api.get(part("order", "history"), token=anna).content.decode()
        assert [f'"after":{{"attributes":{{"cost[127]":{value}}}}}' in text for value in (LONG, "0.10")] == [True, True]
        assert f'"before":{{"attributes":{{"cost[127]":{LONG}}}}}' in text

    def test_posting_back_an_element_changes_nothing(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        response = update(api, anna, one(api, anna, "order-3"))
        moment = changed_on(api, anna, "order")
        expected = change(handbook, response, "order-3", "updated", moment, before={}, after={})
        assert history(api, anna, "order") == [expected]

    def test_moving(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        for before, after in (("sales", "ship"), ("ship", None), (None, "sales")):
            path = [{"id": ID[after]}] if after else []
            response = update(api, anna, {"id": ID["invoice"], "rootPath": path})
            moment = changed_on(api, anna, "invoice")
            places = {"before": {"parent": before and ID[before]}, "after": {"parent": after and ID[after]}}
            assert history(api, anna, "invoice")[0] == change(
                handbook, response, "invoice-1", "updated", moment, **places
            )
        assert len(history(api, anna, "invoice")) == 3

    def test_drawing(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        response = post(api, anna, "order", anchor(0, "shape-check-3"), new(1, "task", "Book", 0))
        shape = response.json()["values"][1]["id"]
        task = content(api, anna, "order")[2]["id"]
        moment = changed_on(api, anna, "order")
        after: dict[str, Any] = {
            "shapes": [{"shapeId": shape, "element": task}],
            "flows": [{"shapeId": shape, "predecessor": ID["shape-check-3"]}],
        }
        drawn = change(handbook, response, "order-3", "drawn", moment, before={}, after=after)
        assert history(api, anna, "order") == [drawn]
        before = {"attributes": {"name[1033]": None}, "parent": None}
        after = {"attributes": {"name[1033]": "Book"}, "parent": ID["order"]}
        made = change(handbook, response, task, "created", moment, before=before, after=after)
        assert history(api, anna, task) == [made]

    def test_erasing(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        _, book = draw(api, anna, "order", anchor(0, "shape-check-3"), new(1, "task", "Book", 0))
        start, check = ID["shape-start-3"], ID["shape-check-3"]
        response = api.generic("POST", part("order", f"content/{check}/delete"), token=anna)
        before = {
            "shapes": [{"shapeId": check, "element": ID["check-3"]}],
            "flows": [{"shapeId": check, "predecessor": start}, {"shapeId": book, "predecessor": check}],
        }
        after = {"flows": [{"shapeId": book, "predecessor": start}]}
        moment = changed_on(api, anna, "order")
        expected = change(handbook, response, "order-3", "drawn", moment, before=before, after=after)
        assert history(api, anna, "order")[0] == expected
        assert recorded(handbook, "check-3") == [
            {"type": "task", "state": None, "stereotype": None, "parent": ID["order"], "related": {},
             "attributes": {"name": {"1033": "Check again"}}},
        ]  # fmt: skip

    def test_deleting_a_draft(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        response = api.generic("POST", part("order-3", "delete"), token=anna)
        (found,) = history(api, anna, "order")
        before = {
            "type": "subProcess",
            "state": "inProcess",
            "stereotype": None,
            "attributes": {"name": {"1033": "Handle every order"}},
            "related": {"author": [ID["anna"]], "systems": [ID["erp"]]},
            "parent": ID["sales"],
        }
        assert found == change(handbook, response, "order-3", "deleted", found["changedOn"], before=before, after={})
        assert [each["type"] for name in ("start-3", "check-3") for each in recorded(handbook, name)] == [
            "evStart",
            "task",
        ]

    def test_deleting_an_element_stays_on_record(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        (made,) = update(api, anna, {"type": "subProcess", "attributes": {"name": {"1033": "Pack"}}}).json()["elements"]
        api.generic("POST", part(made["id"], "delete"), token=anna)
        problems(api.get(part(made["id"], "history"), token=anna), 404)
        (before,) = recorded(handbook, made["id"])
        assert before["attributes"] == {"name": {"1033": "Pack"}}

    def test_a_request_that_failed_leaves_no_trace(self, api: ApiClient, anna: str) -> None:
        problems(post(api, anna, "order", new(0, "task", "a"), new(0, "task", "b")), 422)
        problems(api.generic("POST", part("order-2", "delete"), token=anna), 409)
        assert history(api, anna, "order") == []


def recorded(storage: Storage, element: str) -> list[dict[str, Any]]:
    """Return the stored history of deletions, since the API has no history of a deleted element."""
    with tenant_scope(storage):
        found = ElementChange.objects.filter(element_id=ID.get(element, element), action="deleted")
        return [dict(each.before) for each in found]


def test_changes_by_a_token_have_caller_and_request_id(api: ApiClient, handbook: Storage) -> None:
    token = token_for(handbook, Role.ARCHITECT)
    stored = last_token(handbook)
    response = update(
        api, token, {"id": ID["order"], "attributes": {"scope": {"1033": "All"}}}, headers={"X-Request-ID": "mine-7"}
    )
    assert response["X-Request-ID"] == "mine-7"
    (found,) = history(api, token, "order")
    assert (found["caller"], found["requestId"]) == (f"token:{stored.id}", "mine-7")
    assert found["changedBy"] == {
        "facetName": "automation",
        "id": str(stored.id),
        "creationId": str(stored.id),
        "type": "authToken",
        "expandUri": f"{FACETS}/automation/views/detail/elements/{stored.id}",
    }
    assert one(api, token, "order")["related"]["changedBy"] == [found["changedBy"]]


def test_newest_first_page_by_page(api: ApiClient, handbook: Storage, anna: str) -> None:
    for number in range(5):
        update(api, anna, {"id": ID["order"], "attributes": {"count": {"127": number}}})
    every = history(api, anna, "order-3")
    assert [each["after"]["attributes"]["count[127]"] for each in every] == [4, 3, 2, 1, 0]
    address = f"http://testserver{part('order', 'history')}?$page="
    for page, links in (
        (1, "first=1 next=2 last=3"),
        (2, "first=1 prev=1 next=3 last=3"),
        (3, "first=1 prev=2 last=3"),
    ):
        response = api.get(f"{part('order', 'history')}?$page={page}&$pageSize=2", token=anna)
        assert response.json()["values"] == every[2 * page - 2 : 2 * page]
        assert response["X-Total-Count"] == "5"
        expected = [link.split("=") for link in links.split()]
        assert response["Link"] == ", ".join(f'<{address}{at}&$pageSize=2>; rel="{name}"' for name, at in expected)
    assert history(api, anna, "order", "?$page=4&$pageSize=2") == []
    assert history(api, anna, "order", "?$pageSize=1000") == every
    assert history(api, anna, "order", "?$orderBy=time%20desc") == every
    assert history(api, anna, "order", "?$orderBy=time") == every[::-1]
    assert history(api, anna, "order", "?$orderBy=time%20asc&$page=2&$pageSize=2") == every[::-1][2:4]
    assert api.get(part("order", "history"), token=anna)["X-Total-Count"] == "5"


@pytest.mark.long
def test_without_a_page_the_first_hundred(api: ApiClient, handbook: Storage, anna: str) -> None:
    for number in range(101):
        update(api, anna, {"id": ID["order"], "attributes": {"count": {"127": number}}})
    assert len(history(api, anna, "order")) == 100
    assert len(history(api, anna, "order", "?$page=2")) == 1


def test_access_needs_the_role_analyzer(api: ApiClient, handbook: Storage, anna: str) -> None:
    update(api, anna, {"id": ID["order"], "attributes": {"scope": {"1033": "Secret"}}})
    problems(api.get(part("order", "history"), token=token_for(handbook, Role.VIEWER)), 403)
    problems(api.get(part("order", "history")), 401)
    for role in (Role.ANALYZER, Role.EDITOR, Role.APPROVER, Role.ARCHITECT, Role.ADMINISTRATOR):
        assert len(history(api, token_for(handbook, role), "order")) == 1
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    address = part("order", "history").replace("/acme/", "/rival/")
    assert api.get(address, token=token_for(rival, Role.ARCHITECT)).json() == {"count": 0, "values": []}


def test_addresses_methods_and_parameters(api: ApiClient, handbook: Storage, anna: str) -> None:
    update(api, anna, {"id": ID["order"], "attributes": {"scope": {"1033": "All"}}})
    plain = api.get(part("order", "history"), token=anna)
    assert plain["api-version"] == "1.0"
    for address in (part("order-2", "history"), part("order", "history/"), part("order", "history", "tree"), part("order", "HISTORY".lower(), "DETAIL")):  # fmt: skip
        assert api.get(address, token=anna).content == plain.content
    assert api.generic("POST", part("order", "history"), token=anna).content == plain.content
    for method in ("PUT", "PATCH", "DELETE"):
        assert api.generic(method, part("order", "history"), token=anna).status_code == 405
    problems(api.get(part(NOT_THERE, "history"), token=anna), 404)
    problems(api.get(part("check-3", "history", "list"), token=anna), 404)
    problems(api.get(part("orders", "history"), token=anna), 400)
    for query in ("$select=name", "$page=0", "$pageSize=1001", "$pageSelectionKey=" + ID["order"], "api-version=2.0"):
        problems(api.get(f"{part('order', 'history')}?{query}", token=anna), 400)
    refused = problems(api.get(f"{part('order', 'history')}?$orderBy=name", token=anna), 400)
    assert refused == ["$orderBy: expected time, time asc or time desc, not 'name'."]
    refused = problems(api.get(f"{part('order', 'history')}?orderBy=time", token=anna), 400)
    assert refused == ["orderBy: the $ is missing; write $orderBy."]


@pytest.mark.one_node("the coordinator does not show the plan of a shard")
def test_the_changes_of_a_statement_are_read_once(api: ApiClient, handbook: Storage) -> None:
    """However many elements a request changes, and even if the planner takes the table for empty."""
    token = token_for(handbook, Role.ARCHITECT)
    new_ones = [{"type": "mainProcess", "attributes": {"name": {"1033": f"New {number}"}}} for number in range(60)]
    with CaptureQueriesContext(connection) as captured, transaction.atomic():
        update(api, token, *new_ones)
        transaction.set_rollback(True)
    table = "elements_elementchange"
    [sql] = [each["sql"] for each in captured.captured_queries if each["sql"].startswith(f"INSERT INTO {table} ")]
    with tenant_scope(handbook), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {sql}")
        plan = [row[0] for row in cursor.fetchall()]
    assert [line.rsplit("loops=")[-1] for line in plan if f"on {table} c" in line] == ["1)"], "\n".join(plan)
