"""PUT of the content replaces a diagram (D272): whole responses, read back with operation 10."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.models import Element, Lane, Shape
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.drawing import (
    ORDER_3,
    anchor,
    content,
    draw,
    existing,
    flow,
    made,
    new,
    one,
    post,
    problems,
    shape,
    tag,
)
from tests.elements.element_parts import NOT_THERE, part
from tests.elements.handbook import ID, wire
from tests.elements.replacing import (
    LINE,
    details,
    draw_line,
    drawn,
    everything,
    line,
    put,
    replace,
    shown,
    stored_line,
    with_details,
)
from tests.elements.update_desk import UpdateDesk, history
from tests.factories import token_for

pytestmark = pytest.mark.django_db
START, CHECK = ID["shape-start-3"], ID["shape-check-3"]
BOX = {"x": 10, "y": 20.5, "width": 100, "height": 80}


class TestInsertingATask:
    def test_with_post(self, api: ApiClient, anna: str) -> None:
        rewired = anchor(1, "shape-check-3", 0)
        rewired["shapeInfo"]["replacePredecessors"] = True
        task = new(0, "task", "Weigh")
        task["shapeInfo"]["predecessors"] = [START]
        shapes = draw(api, anna, "order-3", task, rewired)
        assert flow(api, anna, "order") == {"Start": [], "Check again": ["Weigh"], "Weigh": ["Start"]}
        assert shapes[1] == CHECK

    def test_with_put(self, api: ApiClient, anna: str) -> None:
        body = replace(
            api, anna, "order-3", drawn(5, "shape-start-3"), new(6, "task", "Weigh", 5), drawn(7, "shape-check-3", 6)
        )
        found = content(api, anna, "order")
        weigh, task = body["values"][1]["id"], found[1]["id"]
        assert body == {
            "values": [{"id": START, "index": 5}, {"id": weigh, "index": 6}, {"id": CHECK, "index": 7}],
            "lanes": [],
            "added": [
                shown(weigh, task),
                line(weigh, START),
                line(CHECK, weigh),
                {"kind": "element", "id": task, "type": "task"},
            ],
            "changed": [],
            "removed": [line(CHECK, START)],
        }
        start = (START, wire("start-3", bare=True))
        assert found == [
            ORDER_3[0],
            shape("order-3", weigh, made("task", task), "Weigh", start),
            shape("order-3", CHECK, wire("check-3", bare=True), "Check again", (weigh, made("task", task))),
        ]

    def test_single_flows_are_removed_with_post(self, api: ApiClient, anna: str) -> None:
        item = anchor(0, "shape-check-3")
        item["shapeInfo"]["removePredecessors"] = [START]
        draw(api, anna, "order-3", item)
        assert flow(api, anna, "order") == {"Start": [], "Check again": []}


class TestElements:
    def test_a_step_is_renamed(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        names = {"name": {"1033": "Check twice", "1031": "Doppelt prüfen"}}
        step = drawn(1, "shape-check-3", 0, element={"attributes": names})
        body = replace(api, anna, "order-3", drawn(0, "shape-start-3"), step)
        changed = {"kind": "element", "id": ID["check-3"], "type": "task"}
        assert body["changed"] == [changed]
        assert (body["added"], body["removed"]) == ([], [])
        renamed = shape("order-3", CHECK, wire("check-3", bare=True), "", (START, wire("start-3", bare=True)))
        renamed["attributes"]["name"] = {"1031": "Doppelt prüfen", "1033": "Check twice"}
        assert content(api, anna, "order") == [ORDER_3[0], renamed]
        desk = UpdateDesk(handbook, api)
        before = {"attributes": {"name[1031]": None, "name[1033]": "Check again"}}
        after = {"attributes": {"name[1031]": "Doppelt prüfen", "name[1033]": "Check twice"}}
        assert history(desk, "check-3")[-1] == ("updated", before, after)
        assert history(desk, "order-3")[-1] == ("drawn", {}, {"elements": [{"element": ID["check-3"]}]})

    def test_related_of_a_step_change(self, api: ApiClient, anna: str) -> None:
        element = {"type": "TASK", "id": ID["check-3"], "related": {"systems": [{"id": ID["erp"]}]}}
        step = drawn(1, "shape-check-3", 0, element=element)
        body = replace(api, anna, "order-3", drawn(0, "shape-start-3"), step)
        assert body["changed"] == [{"kind": "element", "id": ID["check-3"], "type": "task"}]
        assert one(api, anna, "check-3")["related"]["systems"] == [wire("erp-2")]

    def test_new_elements_have_references(self, api: ApiClient, anna: str) -> None:
        for send in (post, put):
            task = new(0, "task", "Weigh")
            task["element"]["related"] = {"systems": [{"id": ID["erp"]}]}
            assert send(api, anna, "invoice", task).status_code == 200
            found = content(api, anna, "invoice")[-1]
            assert one(api, anna, found["id"])["related"]["systems"] == [wire("erp-2")]

    def test_wrong_references_of_new_elements_are_refused(self, api: ApiClient, anna: str) -> None:
        for send in (post, put):
            task = new(0, "task", "Weigh")
            task["element"]["related"] = {"systems": [{"id": NOT_THERE}], "system": []}
            assert problems(send(api, anna, "invoice", task), 422) == [
                f"values[0]: element: systems[0]: there is no element {NOT_THERE}.",
                "values[0]: element: system: the type task has no such related context; similar: systems.",
            ]

    def test_other_elements_are_refused(self, api: ApiClient, anna: str) -> None:
        (ship,) = replace(api, anna, "invoice", existing(0, "subProcess", "ship"))["values"]
        for element in ({"attributes": {"name": {"1033": "Send"}}}, {"related": {"systems": [{"id": ID["erp"]}]}}):
            (text,) = problems(put(api, anna, "invoice", drawn(0, ship["id"], element=element)), 422)
            id = ID["ship"]
            assert text == f"values[0]: element: {id} does not live in this diagram; update the element instead."
        same = {"id": ID["ship"], "type": "subProcess", "attributes": {"name": {"1033": "ship"}}}
        body = replace(api, anna, "invoice", drawn(0, ship["id"], element=same))
        assert (body["added"], body["changed"], body["removed"]) == ([], [], [])

    def test_an_element_that_is_placed_cannot_change(self, api: ApiClient, anna: str) -> None:
        item = existing(0, "subProcess", "ship")
        item["element"] |= {"attributes": {"name": {"1033": "x"}}, "related": {"systems": [{"id": ID["erp"]}]}}
        assert problems(put(api, anna, "invoice", item), 422) == [
            "values[0]: element: attributes of an existing element cannot change here; update the element instead.",
            "values[0]: element: related of an existing element cannot change here; update the element instead.",
        ]

    def test_removed_shapes_take_their_own_elements_along(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        placed = existing(2, "subProcess", "ship", 1)
        body = replace(api, anna, "order-3", drawn(0, "shape-start-3"), drawn(1, "shape-check-3", 0), placed)
        ship = body["values"][2]["id"]
        body = replace(api, anna, "order-3", drawn(0, "shape-start-3"))
        assert body == {
            "values": [{"id": START, "index": 0}],
            "lanes": [],
            "added": [],
            "changed": [],
            "removed": [
                shown(CHECK, ID["check-3"]),
                shown(ship, ID["ship"]),
                line(CHECK, START),
                line(ship, CHECK),
                {"kind": "element", "id": ID["check-3"]},
            ],
        }
        assert content(api, anna, "order") == ORDER_3[:1]
        with tenant_scope(handbook):
            assert not Element.objects.filter(id=ID["check-3"]).exists()
            assert Element.objects.filter(id=ID["ship"]).exists()
        assert history(UpdateDesk(handbook, api), "check-3")[-1][0] == "deleted"

    def test_a_shape_shows_another_element(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        start = drawn(0, "shape-start-3", element={"type": "task", "attributes": {"name": {"1033": "Begin"}}})
        check = drawn(1, "shape-check-3", 0, element={"id": ID["ship"]})
        body = replace(api, anna, "order-3", start, check)
        found = content(api, anna, "order")
        begin = found[0]["id"]
        assert body["added"] == [{"kind": "element", "id": begin, "type": "task"}]
        assert body["changed"] == [shown(START, begin), shown(CHECK, ID["ship"])]
        gone = sorted([ID["start-3"], ID["check-3"]])
        assert body["removed"] == [{"kind": "element", "id": each} for each in gone]
        assert found == [
            shape("order-3", START, made("task", begin), "Begin"),
            shape("order-3", CHECK, wire("ship-1", bare=True), "ship", (START, made("task", begin))),
        ]
        with tenant_scope(handbook):
            assert Element.objects.filter(id__in=gone).count() == 0


class TestDrawing:
    def test_labels_lanes_containers_and_bounds(self, api: ApiClient, anna: str) -> None:
        yes = {"1033": "yes", "1031": "ja"}
        lanes = [
            {"index": 3, "name": {"1033": "Company"}, "isPool": True, "bounds": BOX},
            {"index": 1, "name": {"1033": "ERP"}, "parent": 3, "element": {"id": ID["erp"]}},
        ]
        start = drawn(0, "shape-start-3", lane=1, bounds=BOX)
        check = drawn(1, "shape-check-3", START, 2, labels={START: yes}, container=2)
        event = new(2, "subProcess", "Around")
        event["shapeInfo"] |= {"lane": 3, "predecessors": []}
        timer = new(9, "task", "Late")
        timer["shapeInfo"]["attachedTo"] = CHECK
        body = replace(api, anna, "order-3", start, check, event, timer, lanes=lanes)
        pool, lane = (each["id"] for each in body["lanes"])
        around, late = (each["id"] for each in body["values"][2:])
        plain = content(api, anna, "order")
        assert body["changed"] == [
            shown(START, ID["start-3"], bounds=BOX, lane=lane),
            shown(CHECK, ID["check-3"], container=around),
            line(CHECK, START, label=yes),
        ]
        assert body["added"] == [
            shown(around, plain[2]["id"], lane=pool),
            shown(late, plain[3]["id"], attachedTo=CHECK),
            line(CHECK, around),
            {"kind": "lane", "laneId": pool, "name": {"1033": "Company"}, "isPool": True, "bounds": BOX},
            {"kind": "lane", "laneId": lane, "name": {"1033": "ERP"}, "element": ID["erp"], "parent": pool},
            {"kind": "element", "id": plain[2]["id"], "type": "subProcess"},
            {"kind": "element", "id": plain[3]["id"], "type": "task"},
        ]
        assert details(api, anna, "order") == {
            "count": 4,
            "elements": [
                with_details(plain[0], bounds=BOX, lane=lane),
                with_details(plain[1], (yes, None), container=around),
                with_details(plain[2], lane=pool),
                with_details(plain[3], attachedTo=CHECK),
            ],
            "lanes": [
                {"id": pool, "name": {"1033": "Company"}, "isPool": True, "bounds": BOX},
                {"id": lane, "name": {"1033": "ERP"}, "isPool": False, "element": wire("erp-2"), "parent": pool},
            ],
        }
        self._what_is_not_mentioned_stays(api, anna, around, late)
        self._null_removes(api, anna, around, late)

    def _what_is_not_mentioned_stays(self, api: ApiClient, anna: str, around: str, late: str) -> None:
        before, version = details(api, anna, "order"), tag(api, anna, "order-3")
        items = drawn(0, "shape-start-3"), drawn(1, "shape-check-3", 0, 2), drawn(2, around), drawn(3, late)
        body = replace(api, anna, "order-3", *items)
        assert (body["added"], body["changed"], body["removed"]) == ([], [], [])
        assert (details(api, anna, "order"), tag(api, anna, "order-3")) == (before, version)

    def _null_removes(self, api: ApiClient, anna: str, around: str, late: str) -> None:
        bare = {"lane": None, "bounds": None, "container": None, "attachedTo": None}
        items = (
            drawn(0, "shape-start-3", **bare),
            drawn(1, "shape-check-3", 0, 2, labels={"0": None}, **bare),
            drawn(2, around, **bare),
            drawn(3, late, **bare),
        )
        body = replace(api, anna, "order-3", *items, lanes=[])
        assert [each["kind"] for each in body["changed"]] == ["shape"] * 4 + ["flow"]
        assert [each["kind"] for each in body["removed"]] == ["lane"] * 2
        assert details(api, anna, "order") == {"count": 4, "elements": content(api, anna, "order"), "lanes": []}

    def test_flows_and_labels_with_post(self, api: ApiClient, anna: str) -> None:
        task = new(1, "task", "Weigh", 0)
        task["shapeInfo"] |= {"bounds": BOX, "labels": {"0": {"1033": "heavy"}}, "container": CHECK}
        item = drawn(0, "shape-check-3", attachedTo=START, labels={START: {"1031": "ja"}})
        assert problems(post(api, anna, "order-3", item, task), 422) == [
            "values[0]: shapeInfo.attachedTo: events are attached to activities, not to elements of type evStart."
        ]
        del item["shapeInfo"]["attachedTo"]
        _, weigh = draw(api, anna, "order-3", item, task)
        plain = content(api, anna, "order")
        assert details(api, anna, "order")["elements"] == [
            plain[0],
            with_details(plain[1], ({"1031": "ja"},)),
            with_details(plain[2], ({"1033": "heavy"},), bounds=BOX, container=CHECK),
        ]
        assert plain[2]["properties"]["shapeId"] == weigh

    @pytest.mark.parametrize("before", [[0], [START], [0, START], [START, START]])
    @pytest.mark.parametrize("label", ["0", START, START.upper()])
    def test_a_predecessor_and_its_label_can_be_named_differently(
        self, api: ApiClient, anna: str, before: list[int | str], label: str
    ) -> None:
        named = drawn(1, "shape-check-3", *before, labels={label: {"1033": "yes"}})
        body = replace(api, anna, "order-3", drawn(0, "shape-start-3"), named)
        assert (body["added"], body["changed"]) == ([], [line(CHECK, START, label={"1033": "yes"})])

    def test_a_flow_loses_its_line_when_an_end_moves_with_put(
        self, api: ApiClient, handbook: Storage, anna: str
    ) -> None:
        draw_line(handbook)
        same = replace(api, anna, "order-3", drawn(0, "shape-start-3"), drawn(1, "shape-check-3", 0))
        assert (same["added"], same["changed"], same["removed"]) == ([], [], [])
        moved = replace(api, anna, "order-3", drawn(0, "shape-start-3", bounds=BOX), drawn(1, "shape-check-3", 0))
        assert moved["changed"] == [shown(START, ID["start-3"], bounds=BOX), line(CHECK, START)]
        assert stored_line(handbook) is None

    def test_a_flow_loses_its_line_when_an_end_moves_with_post(
        self, api: ApiClient, handbook: Storage, anna: str
    ) -> None:
        draw_line(handbook)
        item = anchor(0, "shape-check-3")
        draw(api, anna, "order-3", item)
        assert stored_line(handbook) == LINE
        item["shapeInfo"]["bounds"] = BOX
        draw(api, anna, "order-3", item)
        assert stored_line(handbook) is None

    def test_shapes_are_reordered(self, api: ApiClient, anna: str) -> None:
        body = replace(api, anna, "order-3", drawn(0, "shape-check-3", 1), drawn(1, "shape-start-3"))
        assert body["changed"] == [shown(CHECK, ID["check-3"]), shown(START, ID["start-3"])]
        assert content(api, anna, "order") == [ORDER_3[1], ORDER_3[0]]

    def test_contents_move_up_when_their_container_is_removed(self, api: ApiClient, anna: str) -> None:
        outer, inner = new(2, "subProcess", "Outer"), new(3, "subProcess", "Inner")
        inner["shapeInfo"]["container"] = 2
        body = replace(api, anna, "order-3", drawn(0, "shape-start-3", container=3), outer, inner)
        ids = [each["id"] for each in body["values"]]
        body = replace(api, anna, "order-3", drawn(0, "shape-start-3"), drawn(1, ids[1]))
        assert body["changed"] == [shown(START, ID["start-3"], container=ids[1])]

    def test_viewers_see_lanes_without_hidden_elements(self, api: ApiClient, handbook: Storage) -> None:
        architect = token_for(handbook, Role.ARCHITECT)
        lanes = [{"index": 0, "element": {"id": ID["order"]}}, {"index": 1, "element": {"id": ID["invoice"]}}]
        items = [existing(0, "mainProcess", "sales"), existing(1, "mainProcess", "sales", 0)]
        replace(api, architect, "house", *items, lanes=lanes)
        assert [each.get("element", {}).get("id") for each in details(api, architect, "house")["lanes"]] == [
            ID["order"],
            ID["invoice"],
        ]
        assert [each.get("element", {}).get("id") for each in details(api, None, "house")["lanes"]] == [
            ID["order"],
            None,
        ]

    def test_viewers_see_shapes_without_hidden_containers_and_hosts(self, api: ApiClient, handbook: Storage) -> None:
        architect = token_for(handbook, Role.ARCHITECT)
        sales = existing(0, "mainProcess", "sales")
        sales["shapeInfo"] |= {"container": 1, "attachedTo": 1}
        body = replace(api, architect, "house", sales, new(1, "mainProcess", "Buying"))
        draft = body["values"][1]["id"]
        properties = {"shapeId": body["values"][0]["id"], "predecessors": []}
        seen = [details(api, token, "house")["elements"][0]["properties"] for token in (architect, None)]
        assert seen == [{**properties, "container": draft, "attachedTo": draft}, properties]


class TestDetails:
    @pytest.mark.parametrize("query", ["", "?$details=false"])
    def test_without_them_operation_10_is_as_before(self, api: ApiClient, anna: str, query: str) -> None:
        start, check = drawn(0, "shape-start-3", bounds=BOX, lane=0), drawn(1, "shape-check-3", 0)
        check["shapeInfo"] |= {"labels": {"0": {"1033": "go"}}, "container": START}
        replace(api, anna, "order-3", start, check, lanes=[{"index": 0}])
        response = api.get(part("order", "content", "diagram") + query, token=anna)
        assert response.json() == {"count": 2, "elements": ORDER_3}
        response = api.get(part("order", "content", "diagram") + "?$details=true", token=anna)
        assert response.json() != {"count": 2, "elements": ORDER_3}

    def test_a_diagram_without_details_has_no_lanes(self, api: ApiClient, anna: str) -> None:
        assert details(api, anna, "order") == {"count": 2, "elements": ORDER_3, "lanes": []}

    def test_the_entity_tag_changes_with_a_lane(self, api: ApiClient, anna: str) -> None:
        address = part("order", "content", "diagram") + "?$details=true"
        first = api.get(address, token=anna)["ETag"]
        items = drawn(0, "shape-start-3"), drawn(1, "shape-check-3", 0)
        replace(api, anna, "order-3", *items, lanes=[{"index": 0}])
        assert api.get(address, token=anna, headers={"If-None-Match": first}).status_code == 200

    @pytest.mark.parametrize("query", ["?$details=yes", "?details=true", "?$Details=true"])
    def test_wrong_values_are_refused(self, api: ApiClient, anna: str, query: str) -> None:
        (text,) = problems(api.get(part("order", "content", "diagram") + query, token=anna), 400)
        assert "etails" in text


def test_if_match(api: ApiClient, anna: str) -> None:
    read = tag(api, anna, "invoice")
    replace(api, anna, "invoice", new(0, "task", "a"), headers={"If-Match": read})
    problems(put(api, anna, "invoice", new(0, "task", "b"), headers={"If-Match": read}), 412)
    assert list(flow(api, anna, "invoice")) == ["a"]


def test_what_was_read_can_be_sent_back(api: ApiClient, handbook: Storage, anna: str) -> None:
    draw(api, anna, "order-3", existing(0, "subProcess", "ship"), existing(1, "subProcess", "ship", 0))
    before, version = everything(handbook), tag(api, anna, "order-3")
    items = [
        {
            "shapeInfo": {
                "index": index,
                "id": each["properties"]["shapeId"],
                "predecessors": [one["properties"]["shapeId"] for one in each["properties"]["predecessors"]],
            },
            "element": each,
        }
        for index, each in enumerate(content(api, anna, "order"))
    ]
    body = replace(api, anna, "order-3", *items)
    assert (body["added"], body["changed"], body["removed"]) == ([], [], [])
    assert (everything(handbook), tag(api, anna, "order-3")) == (before, version)


def test_two_descriptions_of_an_element_must_agree(api: ApiClient, anna: str) -> None:
    items = existing(0, "subProcess", "ship"), existing(1, "subProcess", "ship")
    shapes = [each["id"] for each in replace(api, anna, "invoice", *items)["values"]]
    named = [{"attributes": {"name": {"1033": name}}} for name in ("ship", "boat")]
    items = drawn(0, shapes[0], element=named[0]), drawn(1, shapes[1], element=named[1])
    assert problems(put(api, anna, "invoice", *items), 422) == [
        f"values[1]: element: the request describes {ID['ship']} twice, and differently; describe it once."
    ]


def test_the_other_tenant_with_the_same_ids_is_untouched(api: ApiClient, handbook: Storage, anna: str) -> None:
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    before = everything(rival)
    replace(api, anna, "order-3", lanes=[{"index": 0}])
    assert content(api, anna, "order") == []
    assert everything(rival) == before
    with tenant_scope(rival):
        assert Shape.objects.filter(id__in=[START, CHECK]).count() == 2


def test_shapes_lanes_and_elements_of_another_tenant_do_not_exist(api: ApiClient, handbook: Storage, anna: str) -> None:
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    shape, lane, element = (str(uuid4()) for _ in range(3))
    with tenant_scope(rival):
        task = Element.objects.get(id=ID["check-3"])
        Element.objects.create(id=element, creation_id=element, type_id=task.type_id, position=7, parent_id=ID["order"])
        Lane.objects.create(id=lane, version_id=ID["order-3"], position=0)
        Shape.objects.create(id=shape, version_id=ID["order-3"], element_id=ID["check-3"], position=9)
    items = drawn(0, shape), existing(1, "task", element), drawn(2, "shape-start-3", shape, lane=lane)
    assert problems(put(api, anna, "order-3", *items, lanes=[{"index": 0, "id": lane}]), 422) == [
        f"values[0]: shapeInfo.id: the diagram has no shape {shape}; leave out the id to add a new one.",
        f"lanes[0].id: the diagram has no lane {lane}; leave out the id to add a new one.",
        "values[0]: shapeInfo: expected an element to draw, or the id of an existing shape.",
        f"values[1]: element: there is no element {element}.",
        f"values[2]: shapeInfo.lane: the diagram has no lane {lane}; choose 0.",
    ]


@pytest.mark.long
def test_the_number_of_statements_does_not_depend_on_the_number_of_shapes(api: ApiClient, anna: str) -> None:
    def count(number: int, query: str = "") -> int:
        lanes = [{"index": index, "name": {"1033": "x"}} for index in range(number)]
        items = [new(index, "task", f"t{index}", *([index - 1] if index else [])) for index in range(number)]
        for index, item in enumerate(items):
            item["shapeInfo"] |= {"lane": index, "container": index - 1 if index % 5 else None}
        with CaptureQueriesContext(connection) as seen:
            replace(api, anna, "invoice", *items, lanes=lanes, query=query)
        return len(seen)

    for query in ("?dryRun=true", ""):
        count(10, query)
        assert count(10, query) == count(200, query) == count(10, query)
