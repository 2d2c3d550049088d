"""Random replacements of a diagram (D272): a dry run reports what the request then does, and that is what changes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.api_client import ApiClient
from tests.elements.drawing import Item, new
from tests.elements.handbook import ID
from tests.elements.replacing import Body, details, drawn, replace, without_new_ids
from tests.scale import scaled

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.on_cluster]
BOX = {"x": 10, "y": 20.5, "width": 100, "height": 80}


def random_diagram(choose: Random, before: Body) -> tuple[list[Item], list[Body]]:
    """Return items that keep, change, add and remove some of everything, without changing the order of what stays."""
    stays = [each["id"] for each in before["lanes"] if choose.random() < 0.7]
    lanes: list[Body] = [{"index": index, "id": each} for index, each in enumerate(stays)]
    if choose.random() < 0.5:
        lanes.append({"index": len(lanes), "name": {"1033": f"Lane {choose.random()}"}})
    items: list[Item] = [
        drawn(index, each["properties"]["shapeId"])
        for index, each in enumerate(before["elements"])
        if choose.random() < 0.7
    ]
    items += [new(100 + index, "task", f"Task {choose.random()}") for index in range(choose.randrange(3))]
    indexes = [each["shapeInfo"]["index"] for each in items]
    for item in items:
        info = item["shapeInfo"]
        others = [each for each in indexes if each != info["index"]]
        info["predecessors"] = sorted(choose.sample(others, min(len(others), choose.randrange(3))))
        if info["predecessors"] and choose.random() < 0.5:
            info["labels"] = {str(info["predecessors"][0]): {"1033": choose.choice(["yes", "no"])}}
        if choose.random() < 0.3:
            info["bounds"] = choose.choice([None, {**BOX, "x": choose.randrange(9)}])
        if lanes and choose.random() < 0.5:
            info["lane"] = choose.choice([None, choose.randrange(len(lanes))])
    return items, lanes


def parts_of(content: Body) -> dict[tuple[str, ...], Any]:
    """Return everything that a response with details has about shapes, flows and lanes, by kind and ids."""
    found: dict[tuple[str, ...], Any] = {("lane", each["id"]): each for each in content["lanes"]}
    for each in content["elements"]:
        properties = each["properties"]
        found["shape", properties["shapeId"]] = {k: v for k, v in properties.items() if k != "predecessors"}
        for before in properties["predecessors"]:
            flow = before["properties"]
            found["flow", properties["shapeId"], flow["shapeId"]] = flow.get("label")
    return found


def key_of(note: Body) -> tuple[str, ...] | None:
    names = {"shape": ("shapeId",), "flow": ("shapeId", "predecessor"), "lane": ("laneId",)}.get(note["kind"])
    return None if names is None else (note["kind"], *(note[name] for name in names))


def ids_in(content: Body) -> list[str]:
    shapes = [each["properties"]["shapeId"] for each in content["elements"]]
    return [*shapes, *(each["id"] for each in (*content["elements"], *content["lanes"])), *ID.values()]


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_a_random_replacement_does_what_its_dry_run_reports(api: ApiClient, anna: str, seed: int) -> None:
    choose = Random(seed)
    for _ in range(4):
        before = details(api, anna, "order-3")
        items, lanes = random_diagram(choose, before)
        planned = replace(api, anna, "order-3", *items, lanes=lanes, query="?dryRun=true")
        assert details(api, anna, "order-3") == before
        done = replace(api, anna, "order-3", *items, lanes=lanes)
        known = frozenset(ids_in(before))
        assert without_new_ids(done, known) == without_new_ids(planned, known)
        old, new = parts_of(before), parts_of(details(api, anna, "order-3"))
        for name, expected in (
            ("added", new.keys() - old.keys()),
            ("removed", old.keys() - new.keys()),
            ("changed", {key for key in old.keys() & new.keys() if old[key] != new[key]}),
        ):
            assert {key for each in done[name] if (key := key_of(each))} == expected
