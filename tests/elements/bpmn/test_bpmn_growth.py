"""Reading and writing of BPMN take time in proportion to the size of a model, whatever its form."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from elements.bpmn.document.model import Area, BpmnFlow, BpmnLane, BpmnModel, BpmnNode
from elements.bpmn.document.parsing import parse_stored
from elements.bpmn.document.reading import read
from elements.bpmn.document.tree_edits import add_ordered
from elements.bpmn.document.vocabulary import bpmn
from elements.bpmn.generating.free_places import GAP, TakenRoom
from elements.bpmn.generating.placing import place
from elements.bpmn.generating.writing import ExportedProcess, write
from elements.bpmn.mapping import DiagramMapping
from elements.reading.diagrams.drawings import DrawnFlow, DrawnShape, StoredDiagram
from elements.writing.diagrams.wanted_diagrams import WantedSource
from tests.elements.bpmn.documents import definitions
from tests.elements.bpmn.generated import areas

SMALL, LARGE = 250, 1_000
SUBJECT = ExportedProcess("Process_1", {"1033": "Order parts"})
BOX = Area(0, 0, 100, 80)


def names(size: int) -> list[str]:
    return [f"N{number}" for number in range(size)]


def tasks(size: int, area: Area | None = None) -> list[BpmnNode]:
    return [BpmnNode(each, "task", {"1033": each}, area=area) for each in names(size)]


def row(size: int) -> BpmnModel:
    steps = names(size)
    flows = [BpmnFlow(f"F{each}", before, each) for before, each in pairwise(steps)]
    return BpmnModel(tasks(size), flows)


def star(size: int) -> BpmnModel:
    """Return a model in which one drawn task is followed by many that nobody has drawn."""
    first, *others = tasks(size)
    return BpmnModel([replace(first, area=BOX), *others], [BpmnFlow(f"F{each.id}", "N0", each.id) for each in others])


def pools(size: int) -> BpmnModel:
    nodes = [replace(each, lane=f"L{each.id}") for each in tasks(size)]
    return BpmnModel(nodes, [], [BpmnLane(f"L{each}", {}, is_pool=True) for each in names(size)])


def chain_of_references(size: int) -> bytes:
    """Return a document whose associations refer to each other; the last one refers to nothing."""
    associations = "".join(
        f'<association id="A{number}" sourceRef="T" targetRef="A{number + 1}"/>' for number in range(size)
    )
    return definitions(f'<process id="P"><task id="T"/>{associations}</process>').encode()


def repeated_ids(size: int) -> bytes:
    texts = '<documentation id="D"/>' * (10 * size)
    return definitions(f'<process id="P">{texts}<task id="T"/></process>').encode()


def incoming_flows(size: int) -> Callable[[], object]:
    """Return the naming of many flows in one node."""

    def add() -> None:
        node = etree.Element(bpmn("task"))
        for each in names(20 * size):
            add_ordered(node, "incoming").text = each

    return add


def rewritten_lanes(size: int) -> Callable[[], object]:
    """Return the export of a document whose nodes have all moved to another lane."""
    lanes = [BpmnLane("A", {}), BpmnLane("B", {})]
    nodes = [replace(each, lane="A") for each in tasks(size, BOX)]
    document = write(None, BpmnModel(nodes, [], lanes), SUBJECT, "1033", ["1033"]).partition(b"?>")[2].decode()
    moved = BpmnModel([replace(each, lane="B") for each in nodes], [], lanes)
    return lambda: write(parse_stored(document), moved, SUBJECT, "1033", ["1033"])


def mapping(size: int) -> Callable[[], object]:
    """Return the comparison of a document with the diagram that it has become."""
    model = row(size)
    shapes = [DrawnShape(each, each, place, bpmn_id=each) for place, each in enumerate(names(size))]
    flows = [DrawnFlow(each.target, each.source, 0, bpmn_id=each.id) for each in model.flows]
    found = DiagramMapping(StoredDiagram(shapes, flows), {}, {}, {}, "1033", ["1033"])
    return lambda: found.wanted(model, WantedSource("", []))


def export(model: BpmnModel) -> Callable[[], object]:
    return lambda: write(None, model, SUBJECT, "1033", ["1033"])


CASES: dict[str, Callable[[int], Callable[[], object]]] = {
    "row": lambda size: export(row(size)),
    "star": lambda size: export(star(size)),
    "pools": lambda size: export(pools(size)),
    "lanes": rewritten_lanes,
    "mapping": mapping,
    "references": lambda size: lambda: read(chain_of_references(size), ["1033"], "1033"),
    "flows": incoming_flows,
    "ids": lambda size: lambda: read(repeated_ids(size), ["1033"], "1033"),
}


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_four_times_the_nodes_take_less_than_nine_times_as_long(case: str) -> None:
    small, large = CASES[case](SMALL), CASES[case](LARGE)
    small()
    spent = min(seconds(small) for _ in range(3))
    assert min(seconds(large) for _ in range(2)) < 9 * spent


@pytest.mark.long
def test_eight_times_the_undrawn_nodes_are_placed_in_less_than_20_times_as_long() -> None:
    small, large = star(500), star(4_000)
    spent = min(seconds(lambda: place(small)) for _ in range(3))
    assert min(seconds(lambda: place(large)) for _ in range(2)) < 20 * spent


@pytest.mark.long
@given(
    st.lists(areas, max_size=12), st.lists(st.builds(Area, *[st.integers(-300, 600)] * 2, *[st.integers(1, 9000)] * 2))
)
def test_place_moves_down_until_it_covers_nothing(taken: list[Area], wanted: list[Area]) -> None:
    room = TakenRoom()
    for each in taken:
        room.add(each)
    for each in wanted * 2:
        free = room.free(each)
        assert not any(_covers(free, other) for other in taken)
        ends = {other.y + other.height + GAP for other in taken if _covers(replace(free, y=other.y), other)}
        is_free = not any(_covers(each, other) for other in taken)
        assert free == replace(each, y=free.y)
        assert free.y == each.y if is_free else free.y > each.y and free.y in ends
        room.add(free)
        taken.append(free)


def _covers(one: Area, two: Area) -> bool:
    is_beside = one.x + one.width <= two.x or two.x + two.width <= one.x
    return not is_beside and one.y < two.y + two.height and two.y < one.y + one.height


def test_chain_of_references_to_nothing_is_lost_as_a_whole() -> None:
    found = read(chain_of_references(3), ["1033"], "1033")
    assert [(each.kind, each.id, each.text) for each in found.lost] == [
        ("association", "A2", "targetRef A3"),
        ("association", "A1", "targetRef A2"),
        ("association", "A0", "targetRef A1"),
    ]
    assert found.kept == ()
