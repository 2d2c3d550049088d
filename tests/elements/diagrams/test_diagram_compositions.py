"""Flows with lanes, containers, attached events and labels: rules for every diagram, and small ones as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.diagrams.drawables import (
    DrawableFlow,
    DrawableLane,
    DrawableShape,
    Drawing,
    FigureKind,
    ShapeNotes,
)
from elements.diagrams.fixed_texts import ENGLISH
from elements.diagrams.flow.composition import Composition, LaneCell, PlacedFigure, compose
from elements.diagrams.flow.nesting import TOP, nest
from elements.diagrams.geometry import ShapeBounds
from elements.diagrams.graphic import compose_as_drawn
from elements.diagrams.layered.layout import Direction
from tests.scale import scaled

Rectangle = tuple[int, int, int, int]
VERTICAL, HORIZONTAL = Direction.VERTICAL, Direction.HORIZONTAL
KINDS = [FigureKind.TASK, FigureKind.PROCESS, FigureKind.INTERMEDIATE, FigureKind.XOR]
LANES = [DrawableLane("pool", "Company"), DrawableLane("a", "Sales", "pool"), DrawableLane("b", "Stock", "pool")]


def shape(number: int, kind: FigureKind = FigureKind.TASK, **more: object) -> DrawableShape:
    return DrawableShape(f"s{number}", number, kind, f"Shape {number}", "Task", "#4A90C2", **more)  # type: ignore[arg-type]  # passed on


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    size = draw(st.integers(1, 10))
    shapes = []
    for number in range(size):
        kind = draw(st.sampled_from(KINDS))
        # Any reference, even a senseless one: to itself, to an event, or to nothing.
        other = st.sampled_from(["", "", "", *(f"s{each}" for each in range(size))])
        notes = ShapeNotes(*(tuple(draw(st.lists(st.sampled_from("xyz"), max_size=3, unique=True))) for _ in range(4)))
        lane = draw(st.sampled_from(["", "a", "b", "pool", "unknown"]))
        shapes.append(shape(number, kind, container=draw(other), host=draw(other), lane=lane, notes=notes))
    key = st.integers(0, size - 1).map("s{}".format)
    pairs = draw(st.lists(st.tuples(key, key), max_size=14, unique=True))
    flows = [DrawableFlow(*pair, draw(st.sampled_from(["", "yes", "if the order is complete"]))) for pair in pairs]
    return Drawing(shapes, flows, draw(st.sampled_from([[], LANES])))


def area(place: PlacedFigure) -> Rectangle:
    box = place.figure.box
    return place.x - box.left, place.y - box.top, place.x + box.right, place.y + box.bottom


def outline(place: PlacedFigure) -> Rectangle:
    box = place.figure.box
    return (
        place.x - box.half_width,
        place.y - box.half_height,
        place.x + box.half_width,
        place.y + box.half_height,
    )


def frames_of(found: Composition) -> dict[str, Rectangle]:
    return {
        each.shape.key: (each.left, each.top, each.left + each.width, each.top + each.height) for each in found.frames
    }


def meet(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def is_inside(inner: Rectangle, outer: Rectangle) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def check(drawing: Drawing, found: Composition) -> None:
    nesting = nest(drawing)
    figures = {each.figure.shape.key: each for each in found.figures}
    frames = frames_of(found)
    assert sorted((*figures, *frames)) == sorted(each.key for each in drawing.shapes)
    whole = (0, 0, found.width, found.height)
    areas = {key: area(each) for key, each in figures.items()}
    for key, each in {**areas, **frames}.items():
        assert is_inside(each, whole), key
        for container in nesting.paths[nesting.hosts.get(key, key)]:
            assert is_inside(each, frames[container]), (key, container)
    for (one, place), (other, further) in combinations({**areas, **frames}.items(), 2):
        is_related = (
            one in nesting.paths[nesting.hosts.get(other, other)] or other in nesting.paths[nesting.hosts.get(one, one)]
        )
        is_attached = nesting.hosts.get(one) == other or nesting.hosts.get(other) == one
        if not is_related and not is_attached:
            assert not meet(place, further), (one, other)
    for event, host in nesting.hosts.items():
        edges = frames.get(host) or outline(figures[host])
        assert figures[event].x in (edges[0], edges[2]) or figures[event].y in (edges[1], edges[3])
    check_arrows(drawing, found, {**{key: outline(each) for key, each in figures.items()}, **frames})


def check_arrows(drawing: Drawing, found: Composition, outlines: dict[str, Rectangle]) -> None:
    """Each flow is an arrow from the border of its source, or of the container around it, to that of its target."""
    nesting = nest(drawing)
    drawn = {(each.flow.source, each.flow.target) for each in found.arrows}
    assert drawn <= {(flow.source, flow.target) for flow in drawing.flows}
    for arrow in found.arrows:
        for key, (x, y) in ((arrow.flow.source, arrow.points[0]), (arrow.flow.target, arrow.points[-1])):
            around = [key, nesting.hosts.get(key, key), *nesting.paths[nesting.hosts.get(key, key)]]
            assert any(is_at(outlines[each], x, y) for each in around), (key, (x, y), outlines[key])
        for (x, y), (to_x, to_y) in pairwise(arrow.points):
            assert x == to_x or y == to_y, arrow.points
    labels = [flow for flow in drawing.flows if flow.label]
    assert len(found.labels) == len(labels)


def is_at(place: Rectangle, x: int, y: int) -> bool:
    """Whether a point is on the border of a figure; a circle or diamond is inside its rectangle."""
    return place[0] - 1 <= x <= place[2] + 1 and place[1] - 1 <= y <= place[3] + 1


@pytest.mark.long
@settings(max_examples=scaled(240), deadline=None)
@given(drawings(), st.sampled_from(Direction), st.booleans())
def test_rules_of_every_composition(drawing: Drawing, direction: Direction, with_notes: bool) -> None:
    notes = with_notes and direction is VERTICAL
    check(drawing, compose(drawing, direction, ENGLISH, with_notes=notes))


@pytest.mark.long
@settings(max_examples=scaled(240), deadline=None)
@given(drawings(), st.sampled_from(Direction))
def test_rules_of_every_composition_in_lanes(drawing: Drawing, direction: Direction) -> None:
    found = compose(drawing, direction, ENGLISH, in_lanes=True)
    check(drawing, found)
    innermost = [cell for cell in found.cells if cell.name != "Company"]
    places = {each.figure.shape.key: area(each) for each in found.figures} | frames_of(found)
    for top in nest(drawing).members[TOP]:
        (own,) = (cell for cell in innermost if is_inside(places[top.key], inside(cell)))
        if drawing.lanes and top.lane in ("a", "b"):
            assert own.name == {"a": "Sales", "b": "Stock"}[top.lane]


def inside(cell: LaneCell) -> Rectangle:
    """Return the area of a lane without its header."""
    left = cell.left + (cell.header if cell.is_turned else 0)
    top = cell.top + (0 if cell.is_turned else cell.header)
    return left, top, cell.left + cell.width, cell.top + cell.height


@pytest.mark.long
@settings(max_examples=scaled(120), deadline=None)
@given(drawings(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(drawing: Drawing, random: object) -> None:
    shapes, flows = list(drawing.shapes), list(drawing.flows)
    first = compose(drawing, VERTICAL, ENGLISH, in_lanes=True)
    random.shuffle(shapes)  # type: ignore[attr-defined]  # a Random of hypothesis
    again = compose(Drawing(shapes, flows, drawing.lanes), VERTICAL, ENGLISH, in_lanes=True)
    assert placed(again) == placed(first)


def placed(found: Composition) -> Sequence[tuple[str, int, int]]:
    return sorted((each.figure.shape.key, each.x, each.y) for each in found.figures)


def test_shapes_without_a_lane_follow_their_neighbours() -> None:
    roles = [ShapeNotes(("Clerk",)), ShapeNotes(), ShapeNotes(("Driver",)), ShapeNotes()]
    shapes = [shape(number, notes=notes) for number, notes in enumerate(roles)]
    flows = [DrawableFlow("s1", "s0"), DrawableFlow("s0", "s2"), DrawableFlow("s2", "s3")]
    found = compose(Drawing(shapes, flows), VERTICAL, ENGLISH, in_lanes=True)
    middles = {each.figure.shape.key: each.x for each in found.figures}
    assert [cell.name for cell in found.cells] == ["Clerk", "Driver"]
    assert middles["s0"] == middles["s1"] < middles["s2"] == middles["s3"]


def test_a_flow_without_branches_is_straight_in_its_lane() -> None:
    kinds = [FigureKind.START, FigureKind.TASK, FigureKind.XOR, FigureKind.TASK, FigureKind.END]
    lanes = ["a", "a", "a", "b", "b"]
    shapes = [shape(number, kind, lane=lane) for number, (kind, lane) in enumerate(zip(kinds, lanes, strict=True))]
    flows = [DrawableFlow(f"s{number}", f"s{number + 1}") for number in range(4)]
    for direction in Direction:
        found = compose(Drawing(shapes, flows, LANES), direction, ENGLISH, in_lanes=True)
        middles = [each.x if direction is VERTICAL else each.y for each in found.figures]
        assert middles[0] == middles[1] == middles[2] < middles[3] == middles[4]
        assert [len(each.points) for each in found.arrows] == [2, 2, 4, 2]


def test_a_long_arrow_is_straight_in_its_lane() -> None:
    """Shapes beside it differ in size; it passes them all without a bend."""
    kinds = [FigureKind.TASK, FigureKind.XOR, FigureKind.TASK, FigureKind.INTERMEDIATE, FigureKind.TASK]
    shapes = [shape(number, kind, lane="a") for number, kind in enumerate(kinds)]
    flows = [*(DrawableFlow(f"s{number}", f"s{number + 1}") for number in range(4)), DrawableFlow("s0", "s4")]
    for direction in Direction:
        found = compose(Drawing(shapes, flows, LANES), direction, ENGLISH, in_lanes=True)
        (long,) = (each for each in found.arrows if (each.flow.source, each.flow.target) == ("s0", "s4"))
        assert len(long.points) == 6


def test_without_any_role_there_is_one_lane() -> None:
    found = compose(Drawing([shape(0), shape(1)]), HORIZONTAL, ENGLISH, in_lanes=True)
    assert [(cell.name, cell.is_turned) for cell in found.cells] == [("Without a role", True)]


def test_an_empty_pool_is_drawn() -> None:
    lanes = [*LANES, DrawableLane("customer", "Customer")]
    found = compose(Drawing([shape(0, lane="a")], [], lanes), HORIZONTAL, ENGLISH, in_lanes=True)
    assert [cell.name for cell in found.cells] == ["Company", "Customer", "Sales", "Stock"]
    company, customer, sales, _stock = found.cells
    assert (company.left, customer.left, sales.left) == (0, 0, company.header)
    assert customer.top == company.top + company.height


def test_a_label_is_on_its_arrow() -> None:
    drawing = Drawing([shape(0), shape(1)], [DrawableFlow("s0", "s1", "yes")])
    found = compose(drawing, VERTICAL, ENGLISH)
    (arrow,), (label,) = found.arrows, found.labels
    assert label.lines == ["yes"]
    assert arrow.points == ((86, 52), (86, found.figures[1].y - 26))
    assert (label.x, arrow.points[0][1] < label.y < arrow.points[1][1]) == (86, True)


def test_notes_are_beside_a_step() -> None:
    notes = ShapeNotes(("Clerk",), ("ERP",), ("Order",), ("Invoice",))
    with_notes, without = (
        compose(Drawing([shape(0, notes=notes)]), VERTICAL, ENGLISH, with_notes=each) for each in (True, False)
    )
    assert without.width == 172
    assert with_notes.width == 172 + 2 * (140 + 18)
    drawn = with_notes.figures[0].figure.draw(0, 0, False)
    for text in ("Inputs: Order", "Roles: Clerk", "Systems: ERP", "Outputs: Invoice"):
        assert f"<title>{text}</title>" in drawn


def test_an_event_leaves_at_the_edge_of_its_host() -> None:
    shapes = [shape(0), shape(1, FigureKind.INTERMEDIATE, host="s0"), shape(2)]
    found = compose(Drawing(shapes, [DrawableFlow("s1", "s2"), DrawableFlow("s0", "s2")]), VERTICAL, ENGLISH)
    places = {each.figure.shape.key: (each.x, each.y) for each in found.figures}
    assert places["s1"][1] == places["s0"][1] + 26
    starts = {each.flow.source: each.points[0] for each in found.arrows}
    assert starts == {"s0": (places["s0"][0], places["s0"][1] + 26), "s1": (places["s1"][0], places["s1"][1] + 18)}


def test_a_picture_as_drawn() -> None:
    shapes = [
        shape(0, FigureKind.START, bounds=ShapeBounds(100, 100, 36, 36)),
        shape(1, bounds=ShapeBounds(200, 78.5, 100, 80)),
        shape(2, bounds=ShapeBounds(400, 78.5, 100, 80)),
    ]
    flows = [
        DrawableFlow("s0", "s1", "", ((136, 118), (200, 118))),
        DrawableFlow("s1", "s2", "yes"),
    ]
    found = compose_as_drawn(Drawing(shapes, flows, [DrawableLane("a", "Sales", bounds=ShapeBounds(60, 40, 500, 160))]))
    assert found is not None
    assert (found.width, found.height) == (500, 160)
    assert [(each.x, each.y) for each in found.figures] == [(58, 78), (190, 78), (390, 78)]
    assert [each.points for each in found.arrows] == [((76, 78), (140, 78)), ((240, 78), (340, 78))]
    assert [(each.lines, each.x, each.y) for each in found.labels] == [(["yes"], 290, 78)]
    assert [(cell.name, cell.left, cell.top, cell.width) for cell in found.cells] == [("Sales", 0, 0, 500)]


def test_without_all_bounds_nothing_is_drawn_as_drawn() -> None:
    drawn, computed = shape(0, bounds=ShapeBounds(0, 0, 100, 80)), shape(1)
    assert compose_as_drawn(Drawing([drawn, computed])) is None
    assert compose_as_drawn(Drawing([drawn])) is not None
    far = shape(1, bounds=ShapeBounds(900_000, 0, 100, 80))
    assert compose_as_drawn(Drawing([drawn, far])) is None
