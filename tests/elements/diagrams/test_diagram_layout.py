"""Layout of diagrams: rules for every graph, and small diagrams as a whole."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.diagrams.layered import network
from elements.diagrams.layered.frames import Outline
from elements.diagrams.layered.layout import Arrow, Box, DiagramLayout, Direction, Placed, arrange
from tests.scale import scaled

Pairs = Sequence[tuple[str, str]]
Rectangle = tuple[int, int, int, int]
VERTICAL, HORIZONTAL = Direction.VERTICAL, Direction.HORIZONTAL


def task(rank: int) -> Box:
    return Box(str(rank), rank, 80, 80, 25, 25, 80, 25)


def event(rank: int) -> Box:
    """Return a box with a label on its right side."""
    return Box(str(rank), rank, 18, 98, 24, 24, 18, 18, Outline.ROUND)


def rule(rank: int) -> Box:
    """Return a box with a label below it."""
    return Box(str(rank), rank, 40, 40, 20, 58, 20, 20, Outline.POINTED)


@st.composite
def diagrams(draw: st.DrawFn) -> tuple[list[Box], list[tuple[str, str]]]:
    makers = draw(st.lists(st.sampled_from([task, event, rule]), min_size=1, max_size=14))
    key = st.integers(0, len(makers) - 1).map(str)
    return [make(rank) for rank, make in enumerate(makers)], draw(st.lists(st.tuples(key, key), max_size=24))


def rectangles(boxes: Sequence[Box], layout: DiagramLayout) -> dict[str, Rectangle]:
    sizes = {box.key: box for box in boxes}
    return {
        place.key: (
            place.x - sizes[place.key].left,
            place.y - sizes[place.key].top,
            place.x + sizes[place.key].right,
            place.y + sizes[place.key].bottom,
        )
        for place in layout.shapes
    }


def labels(boxes: Sequence[Box], layout: DiagramLayout, direction: Direction) -> dict[str, Rectangle]:
    """Return the areas of labels beside the flow."""
    beside = Outline.ROUND if direction is VERTICAL else Outline.POINTED
    found = {}
    for place, box in zip(layout.shapes, sorted(boxes, key=lambda box: box.rank), strict=True):
        if box.outline is beside:
            left, top = (box.half_width, -box.top) if direction is VERTICAL else (-box.left, box.half_height)
            found[place.key] = (place.x + left, place.y + top, place.x + box.right, place.y + box.bottom)
    return found


def meet(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def check(boxes: Sequence[Box], pairs: Pairs, layout: DiagramLayout, direction: Direction) -> None:
    """Check that everything is inside, separate, in the direction of the flow, and that no arrow crosses a shape."""
    places = rectangles(boxes, layout)
    assert [place.key for place in layout.shapes] == [box.key for box in sorted(boxes, key=lambda box: box.rank)]
    assert {(arrow.source, arrow.target) for arrow in layout.arrows} == set(pairs)
    assert len(layout.arrows) == len(set(pairs))
    whole = (0, 0, layout.width, layout.height)
    for place in places.values():
        assert (min(whole[0], place[0]), min(whole[1], place[1])) == (0, 0)
        assert (max(whole[2], place[2]), max(whole[3], place[3])) == whole[2:]
    for one, other in combinations(places.values(), 2):
        assert not meet(one, other)
    beside = labels(boxes, layout, direction)
    for arrow in layout.arrows:
        own = {arrow.source, arrow.target}
        others = [place for key, place in places.items() if key not in own]
        others += [place for key, place in beside.items() if key in own]
        check_arrow(arrow, places, others, layout, direction)


def check_arrow(
    arrow: Arrow, places: dict[str, Rectangle], others: list[Rectangle], layout: DiagramLayout, direction: Direction
) -> None:
    """Check an arrow. It must not cross `others`."""
    along = 1 if direction is VERTICAL else 0
    if not arrow.is_back:
        assert arrow.points[0][along] < arrow.points[-1][along]
        assert places[arrow.source][along + 2] <= places[arrow.target][along]
    assert len(arrow.points) > 1
    for one, other in pairwise(arrow.points):
        assert (one[0] == other[0]) != (one[1] == other[1])  # straight, and not empty
        line = (*map(min, one, other), *map(max, one, other))
        assert min(line[:2]) >= 0
        assert line[2] <= layout.width
        assert line[3] <= layout.height
        assert not any(line[0] < x2 and x1 < line[2] and line[1] < y2 and y1 < line[3] for x1, y1, x2, y2 in others)
        # Lines have no width, so one that goes straight through must count, too.
        middle = ((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)
        assert not any(x1 < middle[0] < x2 and y1 < middle[1] < y2 for x1, y1, x2, y2 in others)


@pytest.mark.long
@settings(max_examples=scaled(240), deadline=None)
@given(diagrams(), st.sampled_from(Direction))
def test_rules_of_every_layout(diagram: tuple[list[Box], Pairs], direction: Direction) -> None:
    boxes, pairs = diagram
    check(boxes, pairs, arrange(boxes, pairs, direction), direction)


@pytest.mark.long
@settings(max_examples=scaled(120), deadline=None)
@given(diagrams(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(
    diagram: tuple[list[Box], list[tuple[str, str]]], random: Random
) -> None:
    boxes, pairs = diagram
    first = arrange(boxes, pairs, VERTICAL)
    shuffled, twice = boxes[:], [*pairs, *pairs]
    random.shuffle(shuffled)
    random.shuffle(twice)
    assert arrange(shuffled, twice, VERTICAL) == first


@pytest.mark.long
@settings(max_examples=scaled(120), deadline=None)
@given(diagrams(), st.sampled_from(Direction))
def test_arrows_that_go_around_the_outside(diagram: tuple[list[Box], Pairs], direction: Direction) -> None:
    boxes, pairs = diagram
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "MAX_POINTS", 2)
        patch.setattr(network, "LEAST_POINTS", 2)
        check(boxes, pairs, arrange(boxes, pairs, direction), direction)


@pytest.mark.long
@settings(max_examples=scaled(120), deadline=None)
@given(diagrams())
def test_without_the_arrows_that_lead_back_there_is_no_loop(diagram: tuple[list[Box], Pairs]) -> None:
    boxes, pairs = diagram
    ahead = {(arrow.source, arrow.target) for arrow in arrange(boxes, pairs, VERTICAL).arrows if not arrow.is_back}
    left = {box.key for box in boxes}
    while left:
        free = left - {target for source, target in ahead if source in left}
        assert free
        left -= free


def test_shapes_one_after_the_other() -> None:
    boxes, pairs = [event(0), task(1), task(2)], [("0", "1"), ("1", "2")]
    assert arrange(boxes, pairs, VERTICAL) == DiagramLayout(
        178,
        236,
        (Placed("0", 80, 24), Placed("1", 80, 117), Placed("2", 80, 211)),
        (Arrow("0", "1", False, ((80, 42), (80, 92))), Arrow("1", "2", False, ((80, 142), (80, 186)))),
    )
    assert arrange(boxes, pairs, HORIZONTAL) == DiagramLayout(
        524,
        50,
        (Placed("0", 18, 25), Placed("1", 240, 25), Placed("2", 444, 25)),
        (Arrow("0", "1", False, ((36, 25), (160, 25))), Arrow("1", "2", False, ((320, 25), (364, 25)))),
    )


def test_branches_are_even_and_join_in_the_middle() -> None:
    """The shapes before and after are in the middle of the two between; lines with a common end share a track."""
    boxes, pairs = [task(0), task(1), task(2), task(3)], [("0", "1"), ("0", "2"), ("1", "3"), ("2", "3")]
    assert arrange(boxes, pairs, VERTICAL) == DiagramLayout(
        356,
        238,
        (Placed("0", 178, 25), Placed("1", 80, 119), Placed("2", 276, 119), Placed("3", 178, 213)),
        (
            Arrow("0", "1", False, ((178, 50), (178, 68), (80, 68), (80, 94))),
            Arrow("0", "2", False, ((178, 50), (178, 68), (276, 68), (276, 94))),
            Arrow("1", "3", False, ((80, 144), (80, 162), (178, 162), (178, 188))),
            Arrow("2", "3", False, ((276, 144), (276, 162), (178, 162), (178, 188))),
        ),
    )


def test_nested_branches_are_even() -> None:
    """Each shape is in the middle of its successors, although one side takes more room than the other."""
    boxes = [task(rank) for rank in range(7)]
    pairs = [("0", "1"), ("0", "2"), ("2", "3"), ("2", "4"), ("2", "5"), ("4", "6")]
    for direction in Direction:
        places = {
            place.key: (place.x, place.y)[direction is HORIZONTAL] for place in arrange(boxes, pairs, direction).shapes
        }
        assert places["0"] * 2 == places["1"] + places["2"]
        assert places["2"] * 2 == places["3"] + places["5"]
        assert places["2"] == places["4"] == places["6"]


def test_a_loop_has_a_lane_beside_its_shapes() -> None:
    boxes, pairs = [task(0), task(1), task(2)], [("0", "1"), ("1", "2"), ("2", "0")]
    assert arrange(boxes, pairs, VERTICAL) == DiagramLayout(
        196,
        238,
        (Placed("0", 116, 25), Placed("1", 116, 119), Placed("2", 116, 213)),
        (
            Arrow("0", "1", False, ((116, 50), (116, 94))),
            Arrow("1", "2", False, ((116, 144), (116, 188))),
            Arrow("2", "0", True, ((36, 213), (0, 213), (0, 25), (36, 25))),
        ),
    )


def test_a_label_keeps_a_lane_on_the_other_side() -> None:
    """The lane of a shape that follows itself returns from the side without a label."""
    layout = arrange([event(0)], [("0", "0")], VERTICAL)
    check([event(0)], [("0", "0")], layout, VERTICAL)
    (arrow,) = layout.arrows
    (place,) = layout.shapes
    assert arrow.is_back
    assert arrow.points[-1] == (place.x - 18, place.y)


def test_lines_that_swap_positions_do_not_overlap() -> None:
    """Otherwise they would look like two straight lines."""
    boxes, pairs = [task(0), task(1), task(2), task(3)], [("0", "2"), ("0", "3"), ("1", "2"), ("1", "3")]
    layout = arrange(boxes, pairs, VERTICAL)
    check(boxes, pairs, layout, VERTICAL)
    arrows = {(arrow.source, arrow.target): arrow.points for arrow in layout.arrows}
    assert arrows["0", "2"][-1] != arrows["1", "2"][-1]
    assert len({arrow[1][1] for arrow in (arrows["0", "3"], arrows["1", "2"])}) == 2


def test_a_bypass_leaves_other_lines_straight() -> None:
    boxes, pairs = [rule(0), task(1), rule(2)], [("0", "1"), ("1", "2"), ("0", "2")]
    layout = arrange(boxes, pairs, VERTICAL)
    assert len({place.x for place in layout.shapes}) == 1


def test_a_start_is_right_before_its_successor() -> None:
    boxes, pairs = [task(rank) for rank in range(5)], [("0", "1"), ("1", "2"), ("2", "3"), ("4", "3")]
    places = {place.key: place.y for place in arrange(boxes, pairs, VERTICAL).shapes}
    assert places["4"] == places["2"]


def test_shapes_without_arrows_form_a_grid() -> None:
    boxes = [task(rank) for rank in range(6)]
    for direction in Direction:
        places = [(place.x, place.y) for place in arrange(boxes, [], direction).shapes]
        assert places == [(80, 25), (268, 25), (456, 25), (644, 25), (80, 103), (268, 103)]


def test_unconnected_parts_are_side_by_side() -> None:
    boxes, pairs = [task(rank) for rank in range(5)], [("0", "1"), ("2", "3")]
    places = {place.key: (place.x, place.y) for place in arrange(boxes, pairs, VERTICAL).shapes}
    assert places == {"0": (80, 25), "1": (80, 119), "2": (296, 25), "3": (296, 119), "4": (512, 25)}
    turned = {place.key: (place.x, place.y) for place in arrange(boxes, pairs, HORIZONTAL).shapes}
    assert turned == {"0": (80, 25), "1": (284, 25), "2": (80, 131), "3": (284, 131), "4": (80, 237)}


def test_an_empty_diagram_and_unknown_predecessors() -> None:
    assert arrange([], [("0", "1")], VERTICAL) == DiagramLayout(0, 0, (), ())
    assert arrange([task(0)], [("0", "9"), ("9", "0")], VERTICAL).arrows == ()


def large(kind: str) -> list[tuple[int, int]]:
    random = Random(7)
    size = 1_000
    return {
        "a chain": [(each, each + 1) for each in range(size - 1)],
        "a chain with loops": [(each, each + 1) for each in range(size - 1)]
        + [(each, each - 30) for each in range(30, size, 15)],
        "a tree": [((each - 1) // 3, each) for each in range(1, size)],
        "a star": [(0, each) for each in range(1, size)],
        "at random": [(random.randrange(size), random.randrange(size)) for _ in range(1_500)],
        "many tangles": [
            (part * 25 + random.randrange(25), part * 25 + random.randrange(25))
            for part in range(40)
            for _ in range(40)
        ],
        "a chain, and one to all": [(each, each + 1) for each in range(size - 1)]
        + [(0, each) for each in range(2, size)],
    }[kind]


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    ["a chain", "a chain with loops", "a tree", "a star", "at random", "many tangles", "a chain, and one to all"],
)
def test_a_thousand_shapes(kind: str) -> None:
    pairs = [(str(one), str(other)) for one, other in large(kind)]
    boxes = [(task, event, rule)[rank % 3](rank) for rank in range(1_000)]
    began = time.process_time()
    layout = arrange(boxes, pairs, VERTICAL)
    # About one second on an idle machine.
    assert time.process_time() - began < 6
    assert len(layout.shapes) == 1_000
    assert len(layout.arrows) == len(set(pairs))


@pytest.mark.long
def test_every_shape_with_every_other() -> None:
    boxes = [task(rank) for rank in range(30)]
    pairs = [(str(one), str(other)) for one in range(30) for other in range(30)]
    check(boxes, pairs, arrange(boxes, pairs, HORIZONTAL), HORIZONTAL)
