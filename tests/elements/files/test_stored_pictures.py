"""Pictures of diagrams with everything that people can draw, and with the related elements of their steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from elements.diagrams.drawables import MapGroup
from elements.reading.diagrams.pictures import map_group
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.factories import token_for

pytestmark = pytest.mark.django_db
SVG = "{http://www.w3.org/2000/svg}"


def guid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


PROCESS, HOUSE, START, CHECK, LATE, INNER, SUPPORT = (guid(number) for number in range(1, 8))
CLERK, ERP, ORDER, SECRET = (guid(number) for number in range(20, 24))
POOL, LANE = guid(40), guid(41)


def shape_of(element: str) -> str:
    return element.replace("-8000-", "-9000-")


def names(english: str, german: str = "") -> dict[str, Any]:
    return {"name": {"1033": english, **({"1031": german} if german else {})}}


def element(facet: str, type: str, id: str, name: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"facetName": facet, "id": id, "creationId": id, "type": type, "attributes": name, **more}


def version(
    facet: str, type: str, id: str, name: dict[str, Any], state: str = "released", **more: Any
) -> dict[str, Any]:
    attributes = {**name, "version": {"127": "1.0" if state == "released" else "0.1"}}
    own = {"facetName": facet, "id": id, "versionId": id.replace("-8000-", "-a000-"), "type": type}
    return {**own, "state": state, "attributes": attributes, **more}


def reference(facet: str, type: str, id: str) -> dict[str, str]:
    return {"facetName": facet, "id": id, "type": type}


def drawn(id: str, type: str, bounds: tuple[int, int, int, int], *before: Any, **more: Any) -> dict[str, Any]:
    sides = dict(zip(("x", "y", "width", "height"), bounds, strict=True))
    properties = {"shapeId": shape_of(id), "predecessors": list(before), "bounds": sides, **more}
    return {"properties": properties, **reference("processes", type, id)}


def after(id: str, **more: Any) -> dict[str, Any]:
    return {"properties": {"shapeId": shape_of(id), **more}}


LINES = [
    version("roles", "role", CLERK, names("Clerk", "Sachbearbeiter")),
    version("it", "system", ERP, names("ERP")),
    version("it", "system", SECRET, names("Secret"), "inProcess"),
    version("inputsoutputs", "inOut", ORDER, names("Order", "Auftrag")),
    element("processes", "evStart", START, names("Go")),
    element(
        "processes", "task", CHECK, names("Check", "Prüfen"),
        related={
            "roles": [reference("roles", "role", CLERK)],
            "systems": [reference("it", "system", ERP), reference("it", "system", SECRET)],
            "hasInput": [reference("inputsoutputs", "inOut", ORDER)],
        },
    ),
    element("processes", "evIntermediate", LATE, names("Late")),
    element("processes", "task", INNER, names("Inner")),
    version(
        "processes", "subProcess", PROCESS, names("Handle order"),
        content=[
            drawn(START, "evStart", (0, 30, 36, 36), lane=LANE),
            drawn(
                CHECK, "task", (100, 0, 300, 200),
                after(START, label={"1031": "ja", "1033": "yes"}, waypoints=[[36, 48], [100, 48]]), lane=LANE,
            ),
            drawn(LATE, "evIntermediate", (300, 182, 36, 36), attachedTo=shape_of(CHECK)),
            drawn(INNER, "task", (150, 60, 100, 80), container=shape_of(CHECK)),
        ],
        lanes=[
            {"id": POOL, "name": {"1033": "Company"}, "isPool": True},
            {"id": LANE, "name": {}, "element": reference("roles", "role", CLERK), "parent": POOL},
        ],
    ),
    element("processes", "subCategory", SUPPORT, names("Support processes", "Unterstützende Prozesse")),
    element(
        "processes", "processHouse", HOUSE, names("House"),
        content=[
            {"properties": {"shapeId": shape_of(each), "predecessors": []}, **reference("processes", type, each)}
            for each, type in ((SUPPORT, "subCategory"), (guid(8), "mainProcess"), (guid(9), "mainProcess"))
        ],
    ),
    version("processes", "mainProcess", guid(8), names("Sell")),
    version("processes", "mainProcess", guid(9), names("Plan"), stereotype="management"),
]  # fmt: skip


@pytest.fixture(scope="module")
def pictures(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    file = tmp_path_factory.mktemp("pictures") / "lines.ndjson"
    file.write_text("\n".join(map(json.dumps, LINES)) + "\n", encoding="utf-8")
    with filled_storage(file, key="pictures", template="standard") as storage:
        yield storage


def read(
    api: ApiClient, storage: Storage, layout: str, of: str = PROCESS, culture: int = 1033, role: Role = Role.VIEWER
) -> Any:
    response = api.get(
        f"/acme/pictures/_api/rest/diagram/{of}/render/{culture}/{layout}", token=token_for(storage, role)
    )
    assert response.status_code == 200, response.content
    return ElementTree.fromstring(response.content)


def texts(root: Any) -> list[str]:
    return [
        " ".join(span.text or "" for span in each.iter(f"{SVG}tspan")) or (each.text or "")
        for each in root.iter(f"{SVG}text")
    ]


def classes(root: Any) -> dict[str, str]:
    groups = (each for each in root.iter(f"{SVG}g") if (each.get("id") or "").startswith("shape-"))
    return {each.get("id").removeprefix("shape-"): each.get("class") for each in groups}


def test_labels_containers_and_attached_events(api: ApiClient, pictures: Storage) -> None:
    root = read(api, pictures, "vertical")
    assert sorted(texts(root)) == ["Check", "Go", "Inner", "Late", "yes"]
    assert classes(root) == {
        shape_of(START): "shape start",
        shape_of(CHECK): "shape container",
        shape_of(LATE): "shape intermediate",
        shape_of(INNER): "shape task",
    }
    assert sorted(texts(read(api, pictures, "vertical", culture=1031))) == ["Go", "Inner", "Late", "Prüfen", "ja"]


def test_a_lane_without_a_name_has_that_of_its_element(api: ApiClient, pictures: Storage) -> None:
    shown = texts(read(api, pictures, "horizontalSwimlane"))
    assert shown[:2] == ["Company", "Clerk"]
    assert texts(read(api, pictures, "verticalSwimlane", culture=1031))[:2] == ["Company", "Sachbearbeiter"]


def test_the_picture_as_drawn(api: ApiClient, pictures: Storage) -> None:
    root = read(api, pictures, "graphic")
    (path,) = root.findall(f".//{SVG}g[@class='flow']/{SVG}path")
    assert path.get("d").startswith("M36 48")
    (inner,) = (each for each in root.iter(f"{SVG}g") if each.get("id") == f"shape-{shape_of(INNER)}")
    assert inner.get("transform") == "translate(200 100)"


def test_the_matrix_hides_what_the_reader_cannot_see(api: ApiClient, pictures: Storage) -> None:
    assert texts(read(api, pictures, "processMatrix")) == [
        "Step", "Roles", "Systems", "Clerk", "ERP", "Check", "Inner",
    ]  # fmt: skip
    assert "Secret" in texts(read(api, pictures, "processMatrix", role=Role.EDITOR))


@pytest.mark.parametrize("layout", ["detailed", "vertical", "horizontalSwimlane", "graphic"])
def test_a_house_is_a_process_map(api: ApiClient, pictures: Storage, layout: str) -> None:
    """A stereotype decides about the group, and the name of a category."""
    shown = ["Management", "Plan", "Core", "Sell", "Support", "Support processes"]
    assert texts(read(api, pictures, layout, HOUSE)) == shown
    german = texts(read(api, pictures, layout, HOUSE, 1031))
    assert german == ["Führung", "Plan", "Kern", "Sell", "Unterstützung", "Unterstützende Prozesse"]


@pytest.mark.parametrize(
    ("type", "stereotype", "group"),
    [
        ("supportProcess", "", MapGroup.SUPPORT),
        ("managementProcess", "core", MapGroup.CORE),
        ("mainProcess", "", MapGroup.CORE),
    ],
)
def test_the_type_decides_where_neither_an_attribute_nor_the_stereotype_does(
    type: str, stereotype: str, group: MapGroup
) -> None:
    types = {"id of the type": SimpleNamespace(key=type, insertables=())}
    reader: Any = SimpleNamespace(types=types, configuration=SimpleNamespace(types={}))
    row: Any = SimpleNamespace(type="id of the type", stereotype=stereotype)
    assert map_group(reader, row, {}) is group
