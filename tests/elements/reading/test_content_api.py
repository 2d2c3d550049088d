"""Drawing in a diagram (operation 11, D17): whole responses, read back with operation 10."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings as project_settings
from django.utils import timezone
from pytest_django import Settings

from elements.models import Element, ElementVersion
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.cycles import set_state
from tests.elements.drawing import (
    ORDER_3,
    Item,
    anchor,
    content,
    draw,
    existing,
    flow,
    made,
    new,
    one,
    post,
    post_body,
    problems,
    shape,
    tag,
)
from tests.elements.element_parts import NOT_THERE, part
from tests.elements.handbook import AUTHOR_NOTE, BASE, ID, NO_END, TYPE_NAMES, wire
from tests.factories import token_for

pytestmark = pytest.mark.django_db
NOT_DRAFTS = {"order-1": "expired", "order-2": "released", "ship": "inEffect", "loose": "requestToExpire"}


class TestTheThreeUses:
    def test_new_shapes_with_predecessors(self, api: ApiClient, anna: str) -> None:
        items = (new(7, "evStart", "Begin"), new(3, "task", "Write", 7), new(5, "subProcess", "Send", 3, 7))
        shapes = draw(api, anna, "invoice", *items)
        found = content(api, anna, "invoice")
        ids = [each["id"] for each in found]
        begin, write = made("evStart", ids[0]), made("task", ids[1])
        send = {**made("subProcess", ids[2], versionId=found[2]["versionId"]), "state": "inProcess"}
        assert found == [
            shape("invoice-1", shapes[0], begin, "Begin"),
            shape("invoice-1", shapes[1], write, "Write", (shapes[0], begin)),
            shape("invoice-1", shapes[2], send, "Send", (shapes[1], write), (shapes[0], begin)),
        ]
        assert len({*ids, *shapes, send["versionId"]} - set(ID.values())) == 7

    def test_a_successor_of_an_existing_shape(self, api: ApiClient, anna: str) -> None:
        shapes = draw(api, anna, "order-3", anchor(0, "shape-check-3"), new(1, "task", "Book", 0))
        assert shapes[0] == ID["shape-check-3"]
        found = content(api, anna, "order")
        before = (shapes[0], wire("check-3", bare=True))
        assert found == [*ORDER_3, shape("order-3", shapes[1], made("task", found[2]["id"]), "Book", before)]

    def test_a_reference_to_an_existing_element(self, api: ApiClient, anna: str) -> None:
        before = (one(api, anna, "ship"), tag(api, anna, "ship"))
        shapes = draw(api, anna, "order", anchor(0, "shape-start-3"), existing(1, "subProcess", "ship", 0))
        start = (ID["shape-start-3"], wire("start-3", bare=True))
        ship = shape("order-3", shapes[1], wire("ship-1", bare=True), "ship", start)
        assert content(api, anna, "order") == [*ORDER_3, ship]
        assert (one(api, anna, "ship"), tag(api, anna, "ship")) == before


class TestWhatIsDrawn:
    def test_new_elements_whole_below_the_diagrams_element(self, api: ApiClient, anna: str) -> None:
        start = timezone.now()
        draw(api, anna, "invoice", new(0, "task", "Write"), new(1, "subProcess", "Send"))
        task, process = content(api, anna, "invoice")
        moment = one(api, anna, "invoice")["attributes"]["changedOn"]
        at = datetime.fromisoformat(moment["127"]).replace(tzinfo=ZoneInfo("Europe/Berlin"))
        assert start - timedelta(milliseconds=1) <= at <= timezone.now()
        path = [wire("invoice-1"), wire("sales-1"), wire("house")]
        by = {"changedBy": [wire("anna")], "createdBy": [wire("anna")]}
        pages_of = {lcid: f"{BASE}/{lcid}/processes/" for lcid in ("1031", "1033")}
        record = {"changedOn": moment, "createdOn": moment}
        assert one(api, anna, task["id"]) == {
            **made("task", task["id"]),
            "displayNames": TYPE_NAMES["task"],
            "attributes": {
                **record,
                "gotoUrl": {lcid: f"{page}{task['id']}" for lcid, page in pages_of.items()},
                "name": {"1033": "Write"},
            },
            "related": by,
            "rootPath": path,
        }
        assert one(api, anna, process["id"]) == {
            **made("subProcess", process["id"], versionId=process["versionId"]),
            "state": "inProcess",
            "displayNames": TYPE_NAMES["subProcess"],
            "attributes": {
                **record,
                "authorNote": AUTHOR_NOTE,
                "gotoUrl": {lcid: f"{page}{process['versionId']}" for lcid, page in pages_of.items()},
                "isReleased": {"127": False},
                "name": {"1033": "Send"},
                "state1": {"127": "inProcess"},
                "validUntil": NO_END,
                "version": {"127": "0.1"},
            },
            "related": {"author": [wire("anna")], **by},
            "rootPath": path,
        }
        children = api.get(part("invoice", "children"), token=anna).json()["elements"]
        assert [each["id"] for each in children] == [process["id"]]

    def test_the_version_with_the_diagram_has_changed_and_nothing_else_of_it(self, api: ApiClient, anna: str) -> None:
        before, first = one(api, anna, "invoice"), tag(api, anna, "invoice")
        draw(api, anna, "invoice", new(0, "task", "Write"))
        after = one(api, anna, "invoice")
        (drawn,) = after.pop("content")
        assert drawn["type"] == "task"
        assert after["related"].pop("changedBy") == [wire("anna")]
        assert before["attributes"].pop("changedOn")["127"] < after["attributes"].pop("changedOn")["127"]
        assert {**after, "related": after["related"] or None} == {**before, "related": before.get("related")}
        assert tag(api, anna, "invoice") != first

    def test_loops_and_predecessors_in_any_order(self, api: ApiClient, anna: str) -> None:
        draw(api, anna, "invoice", new(2, "task", "c", 9, 0), new(0, "task", "a", 2), new(9, "task", "b", 0))
        assert flow(api, anna, "invoice") == {"c": ["b", "a"], "a": ["c"], "b": ["a"]}

    def test_existing_shapes_get_further_predecessors_once(self, api: ApiClient, anna: str) -> None:
        items = (anchor(0, "shape-start-3", 2), anchor(1, "shape-check-3", 0, 2), new(2, "task", "Redo", 1))
        draw(api, anna, "order-3", *items)
        expected = {"Start": ["Redo"], "Check again": ["Start", "Redo"], "Redo": ["Check again"]}
        assert flow(api, anna, "order") == expected

    def test_shapes_stand_in_the_order_of_the_requests(self, api: ApiClient, anna: str) -> None:
        draw(api, anna, "order", new(4, "task", "d"), anchor(3, "shape-check-3"), new(1, "task", "b"))
        draw(api, anna, "order", new(0, "task", "a", 1), new(1, "task", "c"))
        assert list(flow(api, anna, "order")) == ["Start", "Check again", "d", "b", "a", "c"]

    def test_the_same_element_may_be_referred_to_more_than_once(self, api: ApiClient, anna: str) -> None:
        items = [existing(0, "subProcess", "ship"), existing(1, "subProcess", "ship", 0)]
        items[1]["element"] = {"type": "subProcess", "id": ID["ship"].upper(), "versionId": ID["ship-1"]}
        first, second = draw(api, anna, "invoice", *items)
        ship = wire("ship-1", bare=True)
        assert content(api, anna, "invoice") == [
            shape("invoice-1", first, ship, "ship"),
            shape("invoice-1", second, ship, "ship", (first, ship)),
        ]

    def test_attributes_in_every_culture_are_kept_as_they_were_sent(self, api: ApiClient, anna: str) -> None:
        item = new(0, "task", "Write ")
        item["element"]["attributes"]["name"]["1031"] = "Schreiben\n\u00e4"
        draw(api, anna, "invoice", item)
        (found,) = content(api, anna, "invoice")
        assert found["attributes"]["name"] == {"1031": "Schreiben\n\u00e4", "1033": "Write "}

    def test_in_the_diagram_of_an_unversioned_element(self, api: ApiClient, architect: str) -> None:
        draw(api, architect, "house", new(0, "mainProcess", "Buying"), existing(1, "mainProcess", "sales", 0))
        first, buying, last = content(api, architect, "house")
        assert [each["id"] for each in (first, last)] == [ID["sales"], ID["sales"]]
        assert (buying["state"], buying["type"]) == ("inProcess", "mainProcess")
        (before,) = last["properties"]["predecessors"]
        assert before["id"] == buying["id"]
        assert [each["id"] for each in content(api, None, "house")] == [ID["sales"], ID["sales"]]
        assert content(api, None, "house")[1]["properties"]["predecessors"] == []

    def test_a_viewer_sees_nothing_of_it_while_the_version_is_a_draft(self, api: ApiClient, anna: str) -> None:
        before = content(api, None, "order")
        draw(api, anna, "order", new(0, "task", "Secret task"), new(1, "subProcess", "Secret process"))
        ids = [each["id"] for each in content(api, anna, "order")[2:]]
        assert content(api, None, "order") == before
        for each in ids:
            problems(api.get(part(each, "")), 404)
        assert b"Secret" not in api.get(part("", "").replace("//", "")).content
        assert b"Secret" in api.get(part("", "").replace("//", ""), token=anna).content

    def test_the_other_tenant_with_the_same_ids_is_untouched(
        self, api: ApiClient, handbook: Storage, anna: str
    ) -> None:
        rival = Storage.objects.get(collection__key="rival", key="handbook")
        with tenant_scope(rival):
            before = (Element.objects.count(), ElementVersion.objects.get(id=ID["order-3"]).revision)
        draw(api, anna, "order", new(0, "task", "Secret"))
        with tenant_scope(rival):
            assert (Element.objects.count(), ElementVersion.objects.get(id=ID["order-3"]).revision) == before

    def test_api_versions(self, api: ApiClient, anna: str) -> None:
        assert post(api, anna, "invoice", new(0, "task", "a"))["api-version"] == "3.0"
        for version in ("1.0", "2.0", "3.0"):
            response = post(api, anna, "invoice", new(0, "task", "b"), headers={"api-version": version})
            assert (response.status_code, response["api-version"]) == (200, version)
            assert list(response.json()) == ["values"]
        texts = problems(post(api, anna, "invoice", new(0, "task", "c"), headers={"api-version": "4.0"}), 400)
        assert all(each in texts[0] for each in ("4.0", "3.0"))
        assert len(content(api, anna, "invoice")) == 4

    @pytest.mark.long
    def test_the_largest_request_and_one_more(self, api: ApiClient, settings: Settings, anna: str) -> None:
        assert project_settings.MAX_ELEMENTS == 1000
        items = [new(index, "task", f"t{index}", *([index - 1] if index else [])) for index in range(1001)]
        (text,) = problems(post(api, anna, "invoice", *items), 413)
        assert "1001" in text
        assert "1000" in text
        assert content(api, anna, "invoice") == []
        draw(api, anna, "invoice", *items[:1000])
        found = flow(api, anna, "invoice")
        assert found == {"t0": [], **{f"t{index}": [f"t{index - 1}"] for index in range(1, 1000)}}
        settings.MAX_ELEMENTS = 1
        problems(post(api, anna, "invoice", *items[:2]), 413)

    def test_if_match(self, api: ApiClient, anna: str) -> None:
        read = tag(api, anna, "invoice")
        draw(api, anna, "invoice", new(0, "task", "a"), headers={"If-Match": read})
        problems(post(api, anna, "invoice", new(0, "task", "b"), headers={"If-Match": read}), 412)
        draw(api, anna, "invoice", new(0, "task", "c"), headers={"If-Match": "*"})
        assert list(flow(api, anna, "invoice")) == ["a", "c"]


TASK = {"type": "task", "attributes": {}}
WRONG: dict[str, tuple[list[Item], list[tuple[str, ...]]]] = {
    "an index twice": ([new(1, "task", "a"), new(1, "task", "b")], [("values[1]", "index", "1")]),
    "an unknown index": ([new(1, "task", "a", 2)], [("values[0]", "predecessors", "2")]),
    "itself": ([new(1, "task", "a", 1)], [("values[0]", "predecessors", "itself")]),
    "itself by another index": (
        [anchor(0, "shape-start-3"), anchor(1, "shape-start-3", 0)],
        [("values[1]", "predecessors", "itself")],
    ),
    "an unknown shape": ([anchor(0, NOT_THERE)], [("values[0]", NOT_THERE)]),
    "a shape of another diagram": ([anchor(0, "shape-check-2")], [("values[0]", ID["shape-check-2"])]),
    "an element as a shape": ([anchor(0, "check-3")], [("values[0]", ID["check-3"])]),
    "a type the diagram does not take": (
        [new(0, "mainProcess", "a"), existing(1, "mainProcess", "sales")],
        [("values[0]", "mainProcess", "task"), ("values[1]", "mainProcess", "task")],
    ),
    "a type of another facet": ([existing(0, "system", "erp")], [("values[0]", "system")]),
    "no such type": ([new(0, "chore", "a")], [("values[0]", "task")]),
    "an unknown element": ([existing(0, "subProcess", NOT_THERE)], [("values[0]", NOT_THERE)]),
    "an element of another type": ([existing(0, "task", "ship")], [("values[0]", "subProcess", "task")]),
    "an element that lives in another diagram": ([existing(0, "task", "check-2")], [("values[0]", ID["check-2"])]),
    "neither shape nor element": ([{"shapeInfo": {"index": 0}}], [("values[0]",)]),
    "shape and element": ([{**new(0, "task", "a"), **anchor(0, "shape-start-3")}], [("values[0]",)]),
    "no type": ([{"shapeInfo": {"index": 0}, "element": {"attributes": {}}}], [("values[0]", "type", "task")]),
    "no attributes": ([{"shapeInfo": {"index": 0}, "element": {"type": "task"}}], [("values[0]", "attributes")]),
    "bad attributes": (
        [{"shapeInfo": {"index": 0}, "element": {"type": "task", "attributes": {
            "name": {"1036": "x", "1033": 5}, "nane": {"1033": "x"}, "cost": {"127": 1}}}}],
        [("values[0]", "name", "1036"), ("values[0]", "name", "1033"), ("values[0]", "nane"), ("values[0]", "cost")],
    ),
}  # fmt: skip
MALFORMED: dict[str, tuple[Any, str]] = {
    "no object": ([], "values"),
    "no values": ({}, "values"),
    "values that are no list": ({"values": {}}, "values"),
    "an unknown field": ({"values": [], "elements": []}, "elements"),
    "an item that is not an object": ({"values": [1]}, "values[0]"),
    "an unknown field of an item": ({"values": [{**new(0, "task", "a"), "shape": {}}]}, "values[0]"),
    "no shapeInfo": ({"values": [{"element": TASK}]}, "values[0]"),
    "no index": ({"values": [{"shapeInfo": {}, "element": TASK}]}, "index"),
    "an index that is a text": ({"values": [{"shapeInfo": {"index": "0"}, "element": TASK}]}, "index"),
    "an index that is a flag": ({"values": [{"shapeInfo": {"index": True}, "element": TASK}]}, "index"),
    "an index with a fraction": ({"values": [{"shapeInfo": {"index": 0.5}, "element": TASK}]}, "index"),
    "an index too large for an int": ({"values": [{"shapeInfo": {"index": 2**31}, "element": TASK}]}, "index"),
    "predecessors that are no list": ({"values": [{"shapeInfo": {"index": 0, "predecessors": 1}}]}, "predecessors"),
    "a predecessor that is not a GUID": ({"values": [{"shapeInfo": {"index": 0, "predecessors": ["start"]}}]}, "predecessors"),
    "a shape that is not a GUID": ({"values": [{"shapeInfo": {"index": 0, "id": "start"}}]}, "start"),
    "an unknown field of shapeInfo": ({"values": [{"shapeInfo": {"index": 0, "after": [1]}, "element": TASK}]}, "after"),
    "an element that is not an object": ({"values": [{"shapeInfo": {"index": 0}, "element": "task"}]}, "element"),
    "an element whose id is not a GUID": ({"values": [{"shapeInfo": {"index": 0}, "element": {"type": "task", "id": "7"}}]}, "7"),
    "attributes that are a list": ({"values": [{"shapeInfo": {"index": 0}, "element": {"type": "task", "attributes": []}}]}, "attributes"),
}  # fmt: skip


class TestRefused:
    @pytest.fixture(autouse=True)
    def _nothing_changes(self, api: ApiClient, architect: str) -> Any:
        """If one item is invalid, no item is drawn."""
        before = tag(api, architect, "order-3")
        yield
        assert content(api, architect, "order-3") == ORDER_3
        assert tag(api, architect, "order-3") == before

    def test_items_against_the_configuration_or_the_diagram(self, api: ApiClient, anna: str) -> None:
        wrong = {}
        for case, (items, expected) in WRONG.items():
            texts = problems(post(api, anna, "order", *items, new(99, "task", "Fine")), 422)
            pairs = zip(texts, expected, strict=False)
            if len(texts) != len(expected) or not all(each in text for text, mentions in pairs for each in mentions):
                wrong[case] = texts
        assert wrong == {}

    def test_everything_at_once(self, api: ApiClient, anna: str) -> None:
        cases = ("no such type", "an unknown shape", "an unknown element", "bad attributes", "no attributes")
        items = [item for case in cases for item in WRONG[case][0]]
        for index, item in enumerate(items):
            item = items[index] = {**item, "shapeInfo": {**item["shapeInfo"], "index": index}}
        texts = problems(post(api, anna, "order", *items), 422)
        assert sorted({text.split(":")[0] for text in texts}) == [f"values[{index}]" for index in range(5)]
        assert len(texts) == 8

    def test_not_readable(self, api: ApiClient, anna: str) -> None:
        found = {case: problems(post_body(api, anna, "order", body), 400) for case, (body, _) in MALFORMED.items()}
        assert {
            case: texts for case, texts in found.items() if not any(MALFORMED[case][1] in each for each in texts)
        } == {}

    def test_a_post_without_a_body_does_not_read(self, api: ApiClient, anna: str) -> None:
        problems(api.generic("POST", part("order", "content", "diagram"), token=anna), 400)
        address = part("order", "content", "diagram", select="name")
        (text,) = problems(api.post(address, {"values": []}, content_type="application/json", token=anna), 400)
        assert "$select" in text

    def test_a_shape_of_another_tenant(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        rival = Storage.objects.get(collection__key="rival", key="handbook")
        address = part("order", "content", "diagram").replace("/acme/", "/rival/")
        token = token_for(rival, Role.ARCHITECT)
        drawn = api.post(address, {"values": [new(0, "subProcess", "x")]}, content_type="application/json", token=token)
        (value,) = drawn.json()["values"]
        element = api.get(address, token=token).json()["elements"][-1]["id"]
        items = (anchor(0, value["id"]), existing(1, "subProcess", element))
        texts = problems(post(api, anna, "order", *items), 422)
        assert sorted(text.split(":")[0] for text in texts) == ["values[0]", "values[1]"]
        problems(api.delete(part("order", f"content/{value['id']}"), token=anna), 404)
        problems(post(api, token, "order", new(0, "task", "x")), 401)

    @pytest.mark.parametrize(("view", "taken"), [("list", "subProcess"), ("detail", "task")])
    def test_a_type_that_the_view_does_not_contain(self, api: ApiClient, anna: str, view: str, taken: str) -> None:
        body = {"values": [new(0, "evStart", "a"), new(1, "chore", "b")]}
        address = part("order", "content", view)
        texts = problems(api.post(address, body, content_type="application/json", token=anna), 422)
        assert taken in texts[0]
        assert len(texts) == (2 if view == "list" else 1)

    @pytest.mark.parametrize(("facet", "element"), [("processes", "check-3"), ("it", "crm")])
    def test_an_element_without_a_diagram(self, api: ApiClient, anna: str, facet: str, element: str) -> None:
        address = part(element, "content", "detail", facet)
        body = {"values": [new(0, "task", "a")]}
        texts = problems(api.post(address, body, content_type="application/json", token=anna), 422)
        assert "diagram" in texts[0]

    @pytest.mark.parametrize(("name", "state"), NOT_DRAFTS.items())
    def test_only_drafts_can_be_drawn_in(self, api: ApiClient, architect: str, name: str, state: str) -> None:
        before = content(api, architect, name)
        (text,) = problems(post(api, architect, name, new(0, "task", "a")), 409)
        assert state in text
        assert content(api, architect, name) == before

    def test_a_version_in_review(self, api: ApiClient, handbook: Storage, architect: str) -> None:
        set_state(handbook, "inReview", ID["invoice-1"])
        (text,) = problems(post(api, architect, "invoice", new(0, "task", "a")), 409)
        assert "inReview" in text

    def test_by_whom_it_may_not_be_done(self, api: ApiClient, handbook: Storage, editor: str) -> None:
        for role in (Role.VIEWER, Role.ANALYZER, Role.APPROVER):
            (text,) = problems(post(api, token_for(handbook, role), "order-3", new(0, "task", "a")), 403)
            assert "EditElement" in text
        problems(post(api, None, "order-3", new(0, "task", "a")), 401)
        (text,) = problems(post(api, editor, "order-3", new(0, "task", "a")), 403)  # not the author
        assert ID["order-3"] in text
        assert "EditElement" in text
        (text,) = problems(post(api, editor, "house", existing(0, "mainProcess", "sales")), 403)  # architectural
        assert "EditElement" in text

    def test_unknown_parts(self, api: ApiClient, anna: str) -> None:
        for element, status in ((NOT_THERE, 404), ("shape-start-3", 404), ("erp", 404), ("orders", 400)):
            (text,) = problems(post(api, anna, element, new(0, "task", "a")), status)
            assert ID.get(element, element) in text
