"""Bounds, lanes, containers, labels and BPMN documents of diagrams (D270, D271): transfer, copies, deletion, growth."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection

from elements.diagrams.geometry import ShapeBounds
from elements.models import BpmnSource, ContentMark, Lane, Shape
from elements.reading.diagrams.drawings import (
    DrawnFlow,
    DrawnLane,
    DrawnShape,
    StoredDiagram,
    read_diagram,
    read_source,
)
from elements.writing.diagrams.erasing import without_shape
from storage.models import Storage, StorageGrowth
from storage.options import Role
from storage.provisioning.provision import set_quota
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.drawn_lines import (
    BOUNDARY,
    BOUNDS,
    EVENT,
    LANE,
    POOL,
    PROCESS,
    SHAPE,
    SOURCE,
    SYSTEM,
    TASK,
    VERSION,
    drawn_content,
    drawn_lanes,
    drawn_lines,
)
from tests.elements.transfer_files import guid, line, reference, run, version, write
from tests.factories import StorageFactory, token_for
from tests.filled_storages import NOTHING
from tests.scale import first_quick

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("other_storage")]
BOX = ShapeBounds(-10.5, 0, 100, 80.25)
DIAGRAM = StoredDiagram(
    [
        DrawnShape(SHAPE, guid(TASK), 0, BOX, LANE, None, None, "Task_1"),
        DrawnShape(BOUNDARY, guid(EVENT), 1, None, LANE, SHAPE, SHAPE),
    ],
    [DrawnFlow(BOUNDARY, SHAPE, 0, {"1031": "ja", "1033": 'yes\n"now" \\'}, "Flow_1", ((0, 0), (10.5, -20)))],
    [
        DrawnLane(POOL, 0, {"1033": "Company"}, None, None, True, BOX, "Pool_1"),
        DrawnLane(LANE, 1, {"1031": "Verkauf", "1033": "Sales"}, guid(SYSTEM), POOL),
    ],
)
ROOT = "/acme/house/_api"


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker) -> Iterator[Storage]:
    with filled_storage(NOTHING, key="house", template="standard") as storage:
        yield storage


@pytest.fixture
def drawn(house: Storage, tmp_path: Path) -> Storage:
    run("import_storage", "acme", "house", write(tmp_path / "drawn.ndjson", *drawn_lines()))
    return house


@pytest.fixture
def architect(drawn: Storage) -> str:
    return token_for(drawn, Role.ARCHITECT)


def test_import_stores_everything_that_was_drawn(drawn: Storage) -> None:
    with tenant_scope(drawn):
        assert read_diagram(guid(VERSION)) == DIAGRAM
        assert read_source(guid(VERSION)) == SOURCE
        assert read_source(guid(TASK)) is None
        assert BpmnSource.objects.get().processes == ["P1"]


def test_an_export_equals_the_imported_lines(drawn: Storage, tmp_path: Path) -> None:
    """So does an export of a second storage that imports the first export."""
    StorageFactory.create(key="second", template="standard")
    first, second = tmp_path / "first.ndjson", tmp_path / "second.ndjson"
    run("export_storage", "acme", "house", str(first))
    run("import_storage", "acme", "second", str(first))
    run("export_storage", "acme", "second", str(second))
    assert first.read_bytes() == second.read_bytes()
    exported = [json.loads(each) for each in first.read_text(encoding="utf-8").splitlines()]
    [process] = [each for each in exported if each["id"] == guid(PROCESS)]
    assert {name: process[name] for name in ("content", "lanes", "bpmn")} == {
        "content": drawn_content(),
        "lanes": drawn_lanes(),
        "bpmn": SOURCE,
    }


@pytest.mark.long
def test_a_backup_contains_everything(drawn: Storage, tmp_path: Path) -> None:
    file = tmp_path / "house.backup"
    run("backup_storage", "acme", "house", str(file))
    run("restore_storage", str(file), "--as", "acme", "copy")
    with tenant_scope(Storage.objects.get(key="copy")):
        assert (read_diagram(guid(VERSION)), read_source(guid(VERSION))) == (DIAGRAM, SOURCE)


def problems_of(file: str) -> list[str]:
    full = Path(f"{file}.problems")
    with pytest.raises(CommandError, match="nothing was imported"):
        call_command("import_storage", "acme", "house", file, "--problems", str(full), stderr=StringIO())
    return full.read_text(encoding="utf-8").splitlines()


def changed(place: str, **properties: Any) -> dict[str, Any]:
    """Return the parts of the process with other properties of its second shape, of its flow, or of its last lane."""
    content, lanes = drawn_content(), drawn_lanes()
    shape = content[1]["properties"]
    target = {"shape": shape, "flow": shape["predecessors"][0]["properties"], "lane": lanes[1]}[place]
    target.update(properties)
    return {"content": content, "lanes": lanes}


BAD: list[tuple[dict[str, Any], str]] = [
    (changed("shape", bounds=5), 'content[1].bounds: expected {"x": 0, "y": 0, "width": 100, "height": 80}'),
    (changed("shape", bounds={**BOUNDS, "x": "1"}), "content[1].bounds: x: expected a number from -1000000 to 1000000"),
    (changed("shape", bounds={**BOUNDS, "y": 1e7}), "content[1].bounds: y: expected a number from -1000000 to 1000000"),
    (changed("shape", bounds={**BOUNDS, "width": -1}), "content[1].bounds: width: expected a number from 0 to 1000000"),
    (changed("shape", lane=guid(99)), f"content: {BOUNDARY}: lane: the diagram has no lane {guid(99)}; choose {POOL} or {LANE}"),
    (changed("shape", container="x"), "content[1].container: 'x' is not a GUID"),
    (changed("shape", container=BOUNDARY), f"content: {BOUNDARY}: container: {BOUNDARY} is the shape itself or inside it"),
    (changed("shape", attachedTo=BOUNDARY), f"content: {BOUNDARY}: attachedTo: {BOUNDARY} is the shape itself or attached to it"),
    (changed("shape", bpmnId=5), "content[1].bpmnId must be text of up to 1000 characters"),
    (changed("flow", label="yes"), 'content[1].predecessors.label: expected texts by culture, such as {"1033": "Order parts"}'),
    (changed("flow", label={"9": "yes"}), "content[1].predecessors.label[9]: this culture is not allowed here; use 1031 or 1033"),
    (changed("flow", label={"1033": 5}), "content[1].predecessors.label[1033]: must be text"),
    (changed("flow", waypoints=[[0, 0]]), "content[1].predecessors.waypoints: expected a list of 2 to 1000 points, such as [[0, 0], [50, 0]]"),
    (changed("flow", waypoints=[[0, 0], 5]), "content[1].predecessors.waypoints: expected points of two numbers, such as [50, 0]"),
    (changed("lane", parent=LANE), f"content: {LANE}: parent: {LANE} is the lane itself or inside it"),
    (changed("lane", parent=guid(99)), f"content: {LANE}: parent: the diagram has no lane {guid(99)}; choose {POOL}"),
    (changed("lane", id=POOL), "lanes: two lanes have the same id"),
    (changed("lane", color="red"), "lanes[1]: unknown key 'color'; allowed: bounds, bpmnId, element, id, isPool, name, parent"),
    (changed("lane", isPool="yes"), "lanes[1].isPool must be true or false"),
    (changed("lane", element=5), "lanes[1].element: expected a reference"),
    (changed("lane", element=reference(99)), f"lanes[].element: there is no element {guid(99)}"),
    (changed("lane", element=reference(TASK, "task", "processes")), "lanes[].element: elements of type task live in diagrams and have no lane"),
    ({"lanes": 5}, "lanes must be a list"),
    ({"lanes": [5], "content": []}, "lanes[0]: expected a lane"),
    ({"bpmn": 5}, "bpmn must be text"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "problem"), first_quick(BAD, 8))
def test_an_import_reports_what_cannot_be_drawn(
    house: Storage, tmp_path: Path, parts: dict[str, Any], problem: str
) -> None:
    found = problems_of(write(tmp_path / "bad.ndjson", *drawn_lines(**parts)))
    assert any(text.startswith("line 4: ") and text.endswith(f": {problem}") for text in found), found
    with tenant_scope(house):
        assert not Lane.objects.exists()
        assert not BpmnSource.objects.exists()


def test_a_lane_that_the_storage_has_cannot_be_imported_again(drawn: Storage, tmp_path: Path) -> None:
    other = version(3, 13, "released", "1.0", lanes=[{"id": POOL}])
    assert problems_of(write(tmp_path / "more.ndjson", other)) == [f"line 1: the storage already has the lane {POOL}"]


def test_a_type_without_a_diagram_has_no_lanes(house: Storage, tmp_path: Path) -> None:
    assert problems_of(write(tmp_path / "x.ndjson", line(1, lanes=drawn_lanes()[:1]))) == [
        f"line 1: {guid(1)}: lanes: the type tag has no diagram"
    ]


def test_a_new_version_has_a_copy_of_everything(drawn: Storage, architect: str, api: ApiClient) -> None:
    made = api.generic("POST", f"{ROOT}/release/{guid(PROCESS)}/createversion", token=architect)
    assert made.status_code == 200, made.content
    [copy] = made.json()["elements"]
    with tenant_scope(drawn):
        found = read_diagram(copy["versionId"])
        assert read_source(copy["versionId"]) == SOURCE
        assert BpmnSource.objects.get(version_id=copy["versionId"]).processes == ["P1"]
        assert read_diagram(guid(VERSION)) == DIAGRAM
    new = dict(zip([SHAPE, BOUNDARY], [each.shape for each in found.shapes], strict=True))
    new |= dict(zip([POOL, LANE], [each.lane for each in found.lanes], strict=True))
    assert not {*new.values()} & {*new}
    task, event = found.shapes
    assert found == StoredDiagram(
        [
            DIAGRAM.shapes[0]._replace(shape=new[SHAPE], element=task.element, lane=new[LANE]),
            DIAGRAM.shapes[1]._replace(
                shape=new[BOUNDARY], element=event.element, lane=new[LANE], container=new[SHAPE], host=new[SHAPE]
            ),
        ],
        [DIAGRAM.flows[0]._replace(shape=new[BOUNDARY], predecessor=new[SHAPE])],
        [
            DIAGRAM.lanes[0]._replace(lane=new[POOL]),
            DIAGRAM.lanes[1]._replace(lane=new[LANE], parent=new[POOL]),
        ],
    )
    # Deleting the draft deletes its diagram, and nothing else.
    address = f"{ROOT}/rest/facets/processes/views/detail/elements/{copy['versionId']}"
    assert api.delete(address, token=architect).status_code == 200
    with tenant_scope(drawn):
        assert read_diagram(guid(VERSION)) == DIAGRAM
        assert (Lane.objects.count(), Shape.objects.count(), BpmnSource.objects.count()) == (2, 2, 1)


def test_an_element_with_a_lane_cannot_be_deleted(architect: str, api: ApiClient) -> None:
    response = api.delete(f"{ROOT}/rest/facets/tags/views/detail/elements/{guid(SYSTEM)}", token=architect)
    assert (response.status_code, response.json()["message"]) == (
        409,
        f"{guid(SYSTEM)}: it has a lane in the diagram: {guid(VERSION)}.",
    )


@pytest.mark.one_node("the nodes check keys when the transaction ends (D256)")
def test_keys_stay_inside_the_storage(drawn: Storage) -> None:
    """The database refuses links to lanes, shapes and versions that this storage does not have."""
    for sql in (
        f"UPDATE elements_shape SET lane_id = '{guid(99)}'",
        f"UPDATE elements_shape SET container_id = '{guid(99)}'",
        f"UPDATE elements_shape SET host_id = '{guid(99)}'",
        f"UPDATE elements_lane SET parent_id = '{guid(99)}'",
        f"UPDATE elements_lane SET element_id = '{guid(99)}'",
        f"UPDATE elements_lane SET version_id = '{guid(99)}'",
        f"UPDATE elements_bpmnsource SET version_id = '{guid(99)}'",
    ):
        with pytest.raises(IntegrityError), tenant_scope(drawn), connection.cursor() as cursor:
            cursor.execute(sql)
            connection.check_constraints()
    other = Storage.objects.get(collection__key="rival")
    with tenant_scope(other):
        assert not Lane.objects.exists()
        assert not BpmnSource.objects.exists()


@pytest.mark.parametrize("table", ["elements_lane", "elements_bpmnsource"])
def test_a_change_leaves_a_mark(drawn: Storage, table: str) -> None:
    with tenant_scope(drawn), connection.cursor() as cursor:
        before = set(ContentMark.objects.values_list("id", flat=True))
        # Everything here is one transaction, so forget that it has left a mark.
        cursor.execute("SET LOCAL repository.marked = ''")
        cursor.execute(f"UPDATE {table} SET version_id = version_id")
        assert set(ContentMark.objects.values_list("id", flat=True)) != before


def test_a_document_counts_towards_the_quota(drawn: Storage) -> None:
    set_quota(drawn, {"bytes": 10**9})
    with tenant_scope(drawn), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL repository.counted = '{drawn.pk}'")
        BpmnSource.objects.update(document="12345")
        BpmnSource.objects.all().delete()
        BpmnSource.objects.create(version_id=guid(VERSION), document="äb")
    assert [each.bytes for each in StorageGrowth.objects.filter(storage=drawn).order_by("bytes")] == [
        5 - len(SOURCE), -5, 3,
    ]  # fmt: skip


def test_erasing_keeps_labels_containers_and_the_order() -> None:
    """A gateway leads to A with a label, and A to B. A contains B, and an event is attached to A."""
    before = StoredDiagram(
        [
            DrawnShape("gateway", "1", 0),
            DrawnShape("A", "2", 1, container="around"),
            DrawnShape("B", "3", 2, container="A"),
            DrawnShape("event", "4", 3, host="A"),
            DrawnShape("around", "5", 4),
        ],
        [
            DrawnFlow("A", "gateway", 0, {"1033": "yes"}),
            DrawnFlow("A", "event", 1),
            DrawnFlow("B", "around", 0),
            DrawnFlow("B", "A", 1, {"1033": "then"}),
        ],
    )
    assert without_shape(before, before.shapes[1]) == StoredDiagram(
        [
            before.shapes[0],
            DrawnShape("B", "3", 2, container="around"),
            DrawnShape("event", "4", 3),
            before.shapes[4],
        ],
        [
            before.flows[2],
            DrawnFlow("B", "gateway", 2, {"1033": "yes"}),
            DrawnFlow("B", "event", 3),
        ],
    )
