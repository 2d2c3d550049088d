"""Limits of the installation on content (D187): on write and on import, with all problems at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from elements.transfer.importing import import_elements
from repository_site.core.problems import Invalid
from storage.models import Storage
from tests.api_client import ApiClient
from tests.elements.limited_desk import SYSTEMS, TREE, Body, LimitedDesk, problems_in, process, system

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(api: ApiClient, db: None, limited: Storage) -> LimitedDesk:
    return LimitedDesk(limited, api)


def test_references_of_a_context_and_of_an_element(desk: LimitedDesk, settings: Settings) -> None:
    settings.MAX_REFERENCES, settings.MAX_ELEMENT_REFERENCES = 2, 3
    [target] = desk.make(SYSTEMS, system("ERP"))
    many = [{"id": target}] * 3
    assert desk.problems(TREE, process("A", related={"systems": many}), process("B", related={"systems": many})) == [
        f"elements[{index}]: systems: 3 references; the installation allows 2 in a context." for index in range(2)
    ]
    two = {"systems": many[:2], "secondarySystemsInput": many[:2]}
    assert desk.problems(TREE, process("A", related=two)) == [
        "elements[0]: related: 4 references in all contexts; the installation allows 3 for an element."
    ]
    # A context may name a target twice.
    desk.make(TREE, process("A", related={"systems": many[:2], "secondarySystemsInput": many[:1]}))


def test_stored_references_over_a_limit_can_stay_and_shrink(desk: LimitedDesk, settings: Settings) -> None:
    first, second = desk.make(SYSTEMS, system("ERP"), system("CRM"))
    many = [{"id": first}] * 4
    [owner] = desk.make(TREE, process("A", related={"systems": many}))
    settings.MAX_REFERENCES = settings.MAX_ELEMENT_REFERENCES = 2
    [read] = desk.api.get(f"{TREE}/{owner}", token=desk.token).json()["elements"]
    assert len(read["related"]["systems"]) == 4
    desk.make(TREE, read)
    desk.make(TREE, {"id": owner, "related": {"systems": [*many[:3], {"id": second}]}})
    desk.make(TREE, {"id": owner, "related": {"systems": many[:3]}})
    # The author counts, too.
    place = f"elements[0] {owner}"
    assert desk.problems(TREE, {"id": owner, "related": {"systems": many}}) == [
        f"{place}: systems: 4 references; the installation allows 2 in a context.",
        f"{place}: related: 5 references in all contexts; the installation allows 2 for an element.",
    ]


def test_size_of_attributes(desk: LimitedDesk, settings: Settings) -> None:
    settings.ATTRIBUTE_BYTES = 100
    assert desk.problems(SYSTEMS, system("ERP", vendor="ä" * 50), system("x" * 99)) == [
        "elements[0]: vendor[127]: 102 bytes; the installation allows 100 for an attribute in a culture.",
        "elements[1]: name[1033]: 101 bytes; the installation allows 100 for an attribute in a culture.",
    ]
    [id] = desk.make(SYSTEMS, system("x" * 98))
    settings.ATTRIBUTE_BYTES = 50
    desk.make(SYSTEMS, {"id": id, "attributes": {"name": {"1033": "x" * 98, "1031": "kurz"}}})
    desk.make(SYSTEMS, {"id": id, "attributes": {"name": {"1033": "x" * 97}}})
    assert desk.problems(SYSTEMS, {"id": id, "attributes": {"name": {"1033": "x" * 98}}}) == [
        f"elements[0] {id}: name[1033]: 100 bytes; the installation allows 50 for an attribute in a culture."
    ]


def test_size_of_all_attributes_of_an_element(desk: LimitedDesk, settings: Settings) -> None:
    settings.ATTRIBUTE_BYTES = 30
    texts = ("name", "purp", "scope")
    [id] = desk.make(
        TREE, {**process("A"), "attributes": {name: dict.fromkeys(("1031", "1033"), "x" * 28) for name in texts}}
    )
    settings.ATTRIBUTE_BYTES = 20
    more = {"id": id, "attributes": {"reasonForRevision": {"1033": "x"}}}
    [problem] = desk.problems(TREE, more)
    assert problem.startswith(f"elements[0] {id}: attributes: ")
    assert problem.endswith(" bytes of attributes; the installation allows 200 for an element.")
    desk.make(TREE, {"id": id, "attributes": {"scope": {"1031": None}}})


def test_depth_of_a_tree(desk: LimitedDesk, settings: Settings) -> None:
    settings.MAX_DEPTH = 3
    [root, other] = desk.make(TREE, process("root"), process("other"))
    [second] = desk.make(TREE, process("second", root))
    [third] = desk.make(TREE, process("third", second))
    text = "rootPath: the tree would have 4 levels here; the installation allows 3."
    assert desk.problems(TREE, process("fourth", third)) == [f"elements[0]: {text}"]
    [branch] = desk.make(TREE, process("branch", other))
    desk.make(TREE, process("leaf", branch))
    # The branch brings its leaf with it.
    assert desk.problems(TREE, {"id": branch, "rootPath": [{"id": second}]}) == [f"elements[0] {branch}: {text}"]
    # A whole chain in one request counts as it will be.
    settings.MAX_DEPTH = 2
    one, two = desk.make(TREE, process("one", root), process("two", root))
    assert desk.problems(TREE, {"id": two, "rootPath": [{"id": one}]}) == [
        f"elements[0] {two}: rootPath: the tree would have 3 levels here; the installation allows 2."
    ]
    # What is too deep already can move up, and everywhere else as long as it gets no deeper.
    desk.make(TREE, {"id": third, "rootPath": [{"id": one}]})
    desk.make(TREE, {"id": third, "rootPath": [{"id": root}]})


def test_number_of_children(desk: LimitedDesk, settings: Settings) -> None:
    settings.MAX_CHILDREN = 2
    [root, other] = desk.make(TREE, process("root"), process("other"))
    desk.make(TREE, process("a", root))
    text = "rootPath: 3 children; the installation allows 2 for an element."
    assert desk.problems(TREE, process("b", root), process("c", root)) == [f"elements[0]: {text}"]
    [b] = desk.make(TREE, process("b", root))
    [c] = desk.make(TREE, process("c", other))
    assert desk.problems(TREE, {"id": c, "rootPath": [{"id": root}]}) == [f"elements[0] {c}: {text}"]
    desk.make(TREE, {"id": b, "rootPath": [{"id": other}]})


def test_shapes_and_flows_of_a_diagram(desk: LimitedDesk, settings: Settings) -> None:
    settings.MAX_SHAPES, settings.MAX_ELEMENT_REFERENCES = 3, 2
    [owner] = desk.make(TREE, process("root"))
    path = f"{TREE}/{owner}/content"

    def draw(count: int, *flows: tuple[int, int]) -> Any:
        items: list[Body] = [
            {"shapeInfo": {"index": index}, "element": {"type": "task", "attributes": {"name": {"1033": str(index)}}}}
            for index in range(count)
        ]
        for shape, before in flows:
            items[shape]["shapeInfo"].setdefault("predecessors", []).append(before)
        return desk.api.post(path, json.dumps({"values": items}), content_type="application/json", token=desk.token)

    [version] = [each["versionId"] for each in desk.api.get(f"{TREE}/{owner}", token=desk.token).json()["elements"]]
    refused = draw(4, (1, 0), (2, 0), (3, 0))
    assert (refused.status_code, problems_in(refused)) == (
        422,
        [
            f"{version}: 4 shapes; the installation allows 3 in a diagram.",
            f"{version}: 3 flows between shapes; the installation allows 2 in a diagram.",
        ],
    )
    assert draw(3, (1, 0), (2, 1)).status_code == 200
    assert problems_in(draw(1)) == [f"{version}: 4 shapes; the installation allows 3 in a diagram."]


def test_values_of_a_body(desk: LimitedDesk, settings: Settings) -> None:
    settings.MAX_VALUES = 30
    desk.make(SYSTEMS, system("a,[{" * 30))
    response = desk.post(SYSTEMS, *[system("a")] * 8)
    assert (response.status_code, response.json()["message"]) == (
        413,
        "The body has more than 30 values. Send less at once.",
    )


def line(type: str, facet: str, **more: Any) -> Body:
    id = str(uuid4())
    identity = {"facetName": facet, "id": id, "type": type, "versionId": str(uuid4()), "state": "released"}
    attributes = {"name": {"1033": "A"}, "version": {"127": "1.0"}, **more.pop("attributes", {})}
    return {**identity, "attributes": attributes, **more}


def reference(to: Body) -> Body:
    return {name: to[name] for name in ("facetName", "id", "type")}


def test_import_reports_everything_over_a_limit(desk: LimitedDesk, settings: Settings, tmp_path: Path) -> None:
    settings.MAX_REFERENCES, settings.MAX_DEPTH, settings.MAX_CHILDREN = 2, 2, 1
    settings.ATTRIBUTE_BYTES, settings.MAX_ELEMENT_REFERENCES, settings.MAX_VALUES = 200, 2, 200
    erp = line("system", "it", attributes={"vendor": {"127": "x" * 300}})
    leaf = line("subProcess", "processes", related={"systems": [reference(erp)] * 3})
    middle = line("subProcess", "processes", children=[reference(leaf)])
    root = line("mainProcess", "processes", children=[reference(middle)])
    wide = line("system", "it", children=[reference(erp), reference(erp)])
    heavy = line("system", "it", related={"tagFilters": [reference(erp)] * 60})
    file = tmp_path / "over.ndjson"
    file.write_text("".join(json.dumps(each) + "\n" for each in (erp, leaf, middle, root, wide, heavy)))
    with pytest.raises(Invalid) as caught:
        import_elements(desk.storage, str(file))
    text = " ".join(caught.value.details)
    for part in (
        f"line 1: {erp['id']}: vendor[127]: 302 bytes; the installation allows 200 for an attribute in a culture",
        f"line 2: {leaf['id']}: systems: 3 references; the installation allows 2 in a context",
        f"line 2: {leaf['id']}: related: 3 references in all contexts; the installation allows 2 for an element",
        f"line 5: {wide['id']}: children: 2 children; the installation allows 1 for an element",
        "line 6: The line has more than 200 values. Send less at once.",
    ):
        assert part in text, text


def test_import_reports_trees_that_are_too_deep(desk: LimitedDesk, settings: Settings, tmp_path: Path) -> None:
    settings.MAX_DEPTH = 2
    leaf = line("subProcess", "processes")
    middle = line("subProcess", "processes", children=[reference(leaf)])
    root = line("mainProcess", "processes", children=[reference(middle)])
    file = tmp_path / "deep.ndjson"
    file.write_text("".join(json.dumps(each) + "\n" for each in (root, middle, leaf)))
    with pytest.raises(Invalid) as caught:
        import_elements(desk.storage, str(file))
    assert caught.value.details == (
        f"line 3: {leaf['id']}: the tree would have 3 levels here; the installation allows 2",
    )
