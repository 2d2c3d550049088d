"""PUT of the content writes nothing in a dry run, and nothing if it is refused (D272)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.drawing import (
    ORDER_3,
    Item,
    content,
    existing,
    new,
    post,
    problems,
    tag,
)
from tests.elements.element_parts import NOT_THERE, part
from tests.elements.handbook import ID
from tests.elements.replacing import Body, drawn, everything, put, replace, without_new_ids
from tests.factories import token_for

pytestmark = pytest.mark.django_db
START, CHECK = ID["shape-start-3"], ID["shape-check-3"]
BOX = {"x": 10, "y": 20.5, "width": 100, "height": 80}


class TestDryRun:
    def test_it_reports_the_same_and_writes_nothing(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        items = (
            drawn(0, "shape-start-3", bounds=BOX, lane=0),
            new(1, "task", "Weigh", 0),
            drawn(2, "shape-check-3", 1, element={"attributes": {"name": {"1033": "Look"}}}),
        )
        lanes = [{"index": 0, "name": {"1033": "Sales"}}]
        before, version = everything(handbook), tag(api, anna, "order-3")
        planned = replace(
            api, anna, "order-3", *items, lanes=lanes, query="?dryRun=true", headers={"Idempotency-Key": "one"}
        )
        assert (everything(handbook), tag(api, anna, "order-3")) == (before, version)
        done = replace(api, anna, "order-3", *items, lanes=lanes, headers={"Idempotency-Key": "one"})
        assert without_new_ids(planned) == without_new_ids(done)
        assert everything(handbook) != before
        # The key of the dry run was free, and is taken now.
        again = put(api, anna, "order-3", *items, lanes=lanes, headers={"Idempotency-Key": "one"})
        assert again.json() == done

    def test_it_makes_all_checks(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        before = everything(handbook)
        wrong = drawn(0, NOT_THERE, 7)
        texts = [problems(put(api, anna, "order-3", wrong, query=query), 422) for query in ("", "?dryRun=true")]
        assert texts[0] == texts[1]
        assert everything(handbook) == before

    @pytest.mark.parametrize("query", ["?dryRun=yes", "?dryrun=true", "?dryRun=true&dryRun=false"])
    def test_wrong_values_are_refused(self, api: ApiClient, anna: str, query: str) -> None:
        (text,) = problems(put(api, anna, "order-3", query=query), 400)
        assert "dryRun" in text
        assert content(api, anna, "order") == ORDER_3


# The id of a shape that is made for the request; ids of the handbook begin with zeros.
NEW_SHAPE = re.compile(r": (?!0{8})[0-9a-f-]{36} is")
SELF: Item = drawn(0, "shape-start-3", 0)
WRONG: dict[str, tuple[Body, list[str]]] = {
    "an index twice": (
        {"values": [drawn(0, "shape-start-3"), drawn(0, "shape-check-3")]},
        ["values[1]: shapeInfo.index: two items have the index 0; number the items differently."],
    ),
    "a shape twice": (
        {"values": [drawn(0, "shape-start-3"), drawn(1, "shape-start-3")]},
        [f"values[1]: shapeInfo.id: the request contains {START} twice; send it once."],
    ),
    "a shape of another version": (
        {"values": [drawn(0, "shape-check-2")]},
        [f"values[0]: shapeInfo.id: the diagram has no shape {ID['shape-check-2']}; leave out the id to add a new one.",
         "values[0]: shapeInfo: expected an element to draw, or the id of an existing shape."],
    ),
    "a flow to itself": ({"values": [SELF]}, ["values[0]: shapeInfo.predecessors: a shape cannot precede itself."]),
    "a predecessor that is removed": (
        {"values": [drawn(0, "shape-check-3", START)]},
        [f"values[0]: shapeInfo.predecessors: the request has no item {START}; send the shape, too, or name another one."],
    ),
    "containers in a cycle": (
        {"values": [drawn(0, "shape-start-3", container=1), drawn(1, "shape-check-3", container=0)]},
        [f"values[0]: shapeInfo.container: {CHECK} is the shape itself or inside it.",
         f"values[1]: shapeInfo.container: {START} is the shape itself or inside it."],
    ),
    "a shape attached to itself": (
        {"values": [drawn(0, "shape-start-3", attachedTo=0)]},
        [f"values[0]: shapeInfo.attachedTo: {START} is the shape itself or attached to it."],
    ),
    "shapes attached to each other": (
        {"values": [drawn(0, "shape-check-3", attachedTo=1), new(1, "task", "x") | {"shapeInfo": {"index": 1, "attachedTo": 2}},
                    new(2, "task", "y") | {"shapeInfo": {"index": 2, "attachedTo": 1}}]},
        ["values[1]: shapeInfo.attachedTo: NEW is the shape itself or attached to it.",
         "values[2]: shapeInfo.attachedTo: NEW is the shape itself or attached to it."],
    ),
    "an unknown lane": (
        {"values": [drawn(0, "shape-start-3", lane=4)]}, ["values[0]: shapeInfo.lane: the diagram has no lane 4 and no other lanes; leave it out, or replace the whole diagram."],
    ),
    "lanes": (
        {"values": [], "lanes": [
            {"index": 0, "id": NOT_THERE}, {"index": 0, "name": {"1036": "x"}, "parent": 7},
            {"index": 2, "element": {"id": ID["check-3"]}},
        ]},
        [f"lanes[0].id: the diagram has no lane {NOT_THERE}; leave out the id to add a new one.",
         "lanes[1].index: two items have the index 0; number the items differently.",
         "lanes[1].name[1036]: this culture is not allowed here; use 1031 or 1033.",
         "lanes[1].parent: the diagram has no lane 7; choose 0 or 2.",
         "lanes[2]: element: elements of type task live in diagrams and have no lane."],
    ),
    "labels and flows": (
        {"values": [drawn(0, "shape-start-3", 8), drawn(1, "shape-check-3", 0, labels={"0": {"1033": 5, "9": ""}})]},
        ["values[0]: shapeInfo.predecessors: the request has no item 8; send the shape, too, or name another one.",
         "values[1]: shapeInfo.labels[0][1033]: must be text.",
         "values[1]: shapeInfo.labels[0][9]: this culture is not allowed here; use 1031 or 1033."],
    ),
    "elements": (
        {"values": [
            drawn(0, "shape-start-3", element={"attributes": {"name": {"1036": "x"}, "nane": {"1033": "x"}}}),
            existing(1, "task", "check-2"), {"shapeInfo": {"index": 2}}, new(3, "mainProcess", "x"),
        ]},
        ["values[0]: element: name[1036]: this culture is not allowed here; use 1031 or 1033.",
         "values[0]: element: nane: the type evStart has no such attribute; similar: name.",
         f"values[1]: element: {ID['check-2']} already belongs to a diagram; create a new task.",
         "values[2]: shapeInfo: expected an element to draw, or the id of an existing shape.",
         "values[3]: element: elements of type mainProcess cannot be drawn here; this diagram accepts evStart, task or"
         " subProcess."],
    ),
}  # fmt: skip
MALFORMED: dict[str, tuple[Any, list[str]]] = {
    "lanes that are no list": (
        {"values": [], "lanes": {}},
        ['lanes: expected a list of lanes, such as [{"index": 0, "name": {"1033": "Sales"}}].'],
    ),
    "lanes with wrong members": (
        {"values": [], "lanes": [7, {"index": "0", "isPool": 1, "colour": "red", "bounds": {"x": 1}, "parent": "x"}]},
        ['lanes[0]: expected a lane, such as {"index": 0, "name": {"1033": "Sales"}}.',
         "lanes[1]: unknown field 'colour'; allowed: index, id, name, element, parent, isPool and bounds.",
         "lanes[1].index: expected a whole number, such as 0.",
         "lanes[1].isPool: expected true or false.",
         "lanes[1].parent: 'x' is not a GUID.",
         'lanes[1].bounds: expected {"x": 0, "y": 0, "width": 100, "height": 80}.'],
    ),
    "empty members of POST": (
        {"values": [drawn(0, "shape-start-3", removePredecessors=[])]},
        ["values[0]: shapeInfo: replacePredecessors and removePredecessors are not allowed here; predecessors has all of"
         " them."],
    ),
    "two labels for a flow": (
        {"values": [drawn(0, "shape-start-3"), drawn(1, "shape-check-3", 0, labels={"0": {}, START: {}})]},
        [f"values[1]: shapeInfo.labels: two labels for the flow from {START}; send one."],
    ),
    "members of POST": (
        {"values": [drawn(0, "shape-start-3", replacePredecessors=True, labels={"4": {"1033": "x"}})]},
        ["values[0]: shapeInfo.labels: 4 is not among the predecessors of the item.",
         "values[0]: shapeInfo: replacePredecessors and removePredecessors are not allowed here; predecessors has all of"
         " them."],
    ),
}  # fmt: skip


class TestRefused:
    @pytest.fixture
    def callers(self, handbook: Storage) -> dict[str, str]:
        rival = Storage.objects.get(collection__key="rival", key="handbook")
        return {
            "architect": token_for(handbook, Role.ARCHITECT),
            "viewer": token_for(handbook, Role.VIEWER),
            "editor": token_for(handbook, Role.EDITOR),
            "stranger": token_for(rival, Role.ADMINISTRATOR),
        }

    @pytest.fixture(autouse=True)
    def _nothing_changes(self, handbook: Storage, anna: str, callers: dict[str, str]) -> Any:
        before = everything(handbook)
        yield
        assert everything(handbook) == before

    @pytest.mark.parametrize("case", WRONG)
    def test_against_the_configuration_or_the_diagram(self, api: ApiClient, anna: str, case: str) -> None:
        body, expected = WRONG[case]
        found = problems(put(api, anna, "order-3", *body["values"], **_others(body)), 422)
        assert [NEW_SHAPE.sub(": NEW is", each) for each in found] == expected

    @pytest.mark.parametrize("case", MALFORMED)
    def test_not_readable(self, api: ApiClient, anna: str, case: str) -> None:
        body, expected = MALFORMED[case]
        assert problems(put(api, anna, "order-3", *body["values"], **_others(body)), 400) == expected

    def test_without_a_body(self, api: ApiClient, anna: str) -> None:
        (text,) = problems(api.generic("PUT", part("order", "content", "diagram"), token=anna), 400)
        assert text.startswith("body: expected an object with a list of values")

    def test_lanes_in_a_cycle(self, api: ApiClient, anna: str) -> None:
        lanes = [{"index": 0, "parent": 1}, {"index": 1, "parent": 0}, {"index": 2, "parent": 2}]
        texts = problems(put(api, anna, "order-3", lanes=lanes), 422)
        assert [text.split(":")[0] for text in texts] == [f"lanes[{index}].parent" for index in range(3)]
        assert all(text.endswith("is the lane itself or inside it.") for text in texts)

    def test_another_tag(self, api: ApiClient, anna: str) -> None:
        for query in ("", "?dryRun=true"):
            headers = {"If-Match": tag(api, anna, "invoice")}
            problems(put(api, anna, "order-3", headers=headers, query=query), 412)

    def test_a_released_version(self, api: ApiClient, callers: dict[str, str]) -> None:
        for query in ("", "?dryRun=true"):
            (text,) = problems(put(api, callers["architect"], "order-2", query=query), 409)
            assert text == (
                f"{ID['order-2']}: the diagram cannot be changed in the state released; create a new version."
            )

    def test_viewers_strangers_and_other_editors(self, api: ApiClient, callers: dict[str, str]) -> None:
        problems(put(api, callers["viewer"], "order-2"), 403)
        problems(put(api, callers["editor"], "order-3"), 403)
        problems(put(api, callers["stranger"], "order-3"), 401)
        problems(put(api, None, "order-2"), 401)

    def test_elements_without_a_diagram(self, api: ApiClient, anna: str) -> None:
        (text,) = problems(put(api, anna, "check-3"), 422)
        assert text == f"{ID['check-3']}: elements of type task have no diagram."

    def test_more_elements_than_a_request_can_have(self, api: ApiClient, anna: str) -> None:
        items = [new(index, "task", f"t{index}") for index in range(1001)]
        (text,) = problems(put(api, anna, "invoice", *items), 413)
        assert text.startswith("1001 items with an element are too many for one request.")
        items[0]["element"]["related"] = {"systems": [{"type": "system", "attributes": {}}] * 2}
        for send, what in ((put, "items with an element"), (post, "items")):
            (text,) = problems(send(api, anna, "invoice", *items[:999]), 413)
            assert text.startswith(f"1001 {what} are too many for one request.")


def _others(body: Body) -> Body:
    return {key: value for key, value in body.items() if key != "values"}
