"""A flow composed of figures, containers, labels on arrows, events at edges, and lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from elements.diagrams.drawables import DrawableFlow, DrawableShape, Drawing
from elements.diagrams.figures import EVENT_RADIUS, Figure
from elements.diagrams.fixed_texts import PictureWords
from elements.diagrams.flow.lanes import LaneLeaf, LaneOrder, lanes_of
from elements.diagrams.flow.nesting import TOP, LevelFlow, Nesting, nest
from elements.diagrams.layered.frames import Point, Port
from elements.diagrams.layered.layout import Arrow, Box, DiagramLayout, Direction, Link, arrange
from elements.diagrams.layered.swimlanes import arrange_in_lanes
from elements.diagrams.text import LINE_HEIGHT, width_of, wrap

FRAME_PADDING, FRAME_TITLE_LINES, LEAST_FRAME = 20, 2, 120
LABEL_WIDTH, LABEL_LINES, LABEL_ROOM = 120, 3, 4
# First attached event beside the middle, where the arrows of the host itself leave, and the room between two.
FIRST_PORT, PORT_ROOM = EVENT_RADIUS + 16, 10
HEADER, LANE_START, LANE_END, LEAST_LENGTH = 34, 24, 24, 160


@dataclass(frozen=True, slots=True)
class PlacedFigure:
    figure: Figure
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class PlacedFrame:
    """A container around its shapes."""

    shape: DrawableShape
    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PlacedArrow:
    flow: DrawableFlow
    is_back: bool
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """Text on an arrow, around its middle."""

    lines: Sequence[str]
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class LaneCell:
    """The area of a lane. Its name is in a header at the start of the flow; `is_turned` sets it sideways."""

    name: str
    left: int
    top: int
    width: int
    height: int
    header: int
    is_turned: bool


@dataclass(slots=True)
class Composition:
    width: int = 0
    height: int = 0
    figures: list[PlacedFigure] = field(default_factory=list)
    frames: list[PlacedFrame] = field(default_factory=list)
    arrows: list[PlacedArrow] = field(default_factory=list)
    labels: list[PlacedLabel] = field(default_factory=list)
    cells: list[LaneCell] = field(default_factory=list)


def compose(
    drawing: Drawing, direction: Direction, words: PictureWords, *, with_notes: bool = False, in_lanes: bool = False
) -> Composition:
    return _Composer(drawing, direction, words, with_notes).compose(in_lanes)


def wrap_label(text: str) -> list[str]:
    return wrap(text, LABEL_WIDTH, LABEL_LINES)


@dataclass(frozen=True, slots=True)
class _Level:
    """The arrangement of one level, and the flows of its arrows by link."""

    layout: DiagramLayout
    flows: Mapping[Link, LevelFlow]
    labels: Mapping[str, LevelFlow]


class _Composer:
    def __init__(self, drawing: Drawing, direction: Direction, words: PictureWords, with_notes: bool) -> None:
        self.drawing = drawing
        self.direction = direction
        self.words = words
        self.notes = words if with_notes else None
        self.nesting: Nesting = nest(drawing)
        self.flows = self.nesting.flows(drawing.flows)
        self.boxes: dict[str, Box] = {}
        self.figures: dict[str, Figure] = {}
        self.levels: dict[str, _Level] = {}
        self.found = Composition()

    @property
    def is_vertical(self) -> bool:
        return self.direction is Direction.VERTICAL

    def compose(self, in_lanes: bool) -> Composition:
        for level in self.nesting.levels:
            for shape in self.nesting.members[level]:
                self._measure(shape)
            if level != TOP:
                self.levels[level] = self._arrange(level)
        self._place_top(in_lanes)
        return self.found

    def _measure(self, shape: DrawableShape) -> None:
        """Determine the box of a shape together with the events at its edge."""
        events = [Figure(each, self.direction, is_attached=True) for each in self.nesting.attached.get(shape.key, ())]
        offsets = list(self._offsets(events))
        least = offsets[-1] + EVENT_RADIUS if offsets else 0
        if self.nesting.is_container(shape.key):
            box = self._frame_box(shape, least)
        else:
            self.figures[shape.key] = Figure(shape, self.direction, least, self.notes)
            box = self.figures[shape.key].box
        if events:
            box = self._with_events(box, events, offsets)
        self.figures.update({each.shape.key: each for each in events})
        self.boxes[shape.key] = box

    def _offsets(self, events: Sequence[Figure]) -> Iterator[int]:
        offset = FIRST_PORT
        for event in events:
            yield offset
            offset += EVENT_RADIUS + PORT_ROOM + (event.box.right if self.is_vertical else event.box.bottom)

    def _with_events(self, box: Box, events: Sequence[Figure], offsets: Sequence[int]) -> Box:
        edge = box.half_height if self.is_vertical else box.half_width
        ports = {
            event.shape.key: Port(offset, edge + EVENT_RADIUS) for event, offset in zip(events, offsets, strict=True)
        }
        below = max(event.box.bottom if self.is_vertical else event.box.right for event in events)
        if self.is_vertical:
            right = max(box.right, offsets[-1] + events[-1].box.right)
            return replace(box, right=right, bottom=max(box.bottom, edge + below), ports=ports)
        bottom = max(box.bottom, offsets[-1] + events[-1].box.bottom)
        return replace(box, bottom=bottom, right=max(box.right, edge + below), ports=ports)

    def _frame_box(self, shape: DrawableShape, least: int) -> Box:
        layout = self.levels[shape.key].layout
        wide, high = _half(max(layout.width + 2 * FRAME_PADDING, LEAST_FRAME)), layout.height + 2 * FRAME_PADDING
        high = _half(high + frame_title(shape, 2 * wide)[1])
        wide, high = (max(wide, least), high) if self.is_vertical else (wide, max(high, least))
        return Box(shape.key, shape.rank, wide, wide, high, high, wide, high)

    def _arrange(self, level: str) -> _Level:
        boxes, links, labels = self._graph(level)
        return _Level(arrange(boxes, links, self.direction), links, labels)

    def _graph(self, level: str) -> tuple[list[Box], dict[Link, LevelFlow], dict[str, LevelFlow]]:
        """Return boxes and links of a level. A label is a box of its own in the middle of its arrow, so that nothing
        overlaps it."""
        boxes = [self.boxes[shape.key] for shape in self.nesting.members[level]]
        links: dict[Link, LevelFlow] = {}
        labels: dict[str, LevelFlow] = {}
        for number, each in enumerate(self.flows.get(level, ())):
            lines = wrap_label(each.flow.label)
            if lines:
                key = f"label {number:05d}"
                labels[key] = each
                boxes.append(self._label_box(key, self.nesting.shapes[each.target].rank, lines))
                links[Link(each.source, key, each.port)] = each
                links[Link(key, each.target)] = each
            else:
                links.setdefault(Link(each.source, each.target, each.port), each)
        return boxes, links, labels

    def _label_box(self, key: str, rank: int, lines: Sequence[str]) -> Box:
        wide = _half(max(map(width_of, lines))) + LABEL_ROOM
        high = _half(len(lines) * LINE_HEIGHT) + LABEL_ROOM
        return Box(key, rank, wide, wide, high, high, wide, high)

    def _place_top(self, in_lanes: bool) -> None:
        boxes, links, labels = self._graph(TOP)
        found = self.found
        if not in_lanes:
            level = _Level(arrange(boxes, links, self.direction), links, labels)
            found.width, found.height = level.layout.width, level.layout.height
            self._place(TOP, level, 0, 0)
            return
        lanes = lanes_of(self.drawing, self.nesting, self.words.without_lane)
        number = {**lanes.number, **{key: lanes.number[each.source] for key, each in labels.items()}}
        arranged = arrange_in_lanes(boxes, links, self.direction, number, len(lanes.lanes))
        layout, start = arranged.layout, lanes.depth * HEADER + LANE_START
        length = max(LEAST_LENGTH, layout.height if self.is_vertical else layout.width)
        whole = start + length + LANE_END
        across = arranged.borders[-1]
        found.width, found.height = (across, whole) if self.is_vertical else (whole, across)
        found.cells.extend(_cells(lanes, arranged.borders, whole, is_turned=not self.is_vertical))
        self._place(TOP, _Level(layout, links, labels), *((0, start) if self.is_vertical else (start, 0)))

    def _place(self, level: str, arranged: _Level, right: int, down: int) -> None:
        for place in arranged.layout.shapes:
            x, y = place.x + right, place.y + down
            if place.key in arranged.labels:
                label = arranged.labels[place.key].flow.label
                self.found.labels.append(PlacedLabel(wrap_label(label), x, y))
            else:
                self._place_shape(place.key, x, y)
        self.found.arrows.extend(_arrows(arranged, right, down))

    def _place_shape(self, key: str, x: int, y: int) -> None:
        box = self.boxes[key]
        if self.nesting.is_container(key):
            shape = self.nesting.shapes[key]
            left, top = x - box.half_width, y - box.half_height
            self.found.frames.append(PlacedFrame(shape, left, top, 2 * box.half_width, 2 * box.half_height))
            inner = self.levels[key].layout
            beside = (2 * box.half_width - inner.width) // 2
            title = frame_title(shape, 2 * box.half_width)[1]
            above = title + (2 * box.half_height - title - inner.height) // 2
            self._place(key, self.levels[key], left + beside, top + above)
        else:
            self.found.figures.append(PlacedFigure(self.figures[key], x, y))
        for event in self.nesting.attached.get(key, ()):
            port = box.ports[event.key]
            depth = port.depth - EVENT_RADIUS
            place = (x + port.offset, y + depth) if self.is_vertical else (x + depth, y + port.offset)
            self.found.figures.append(PlacedFigure(self.figures[event.key], *place))


def frame_title(shape: DrawableShape, width: int) -> tuple[list[str], int]:
    """Return the lines of a container's name, and the height of its title."""
    lines = wrap(shape.name, width - 2 * FRAME_PADDING, FRAME_TITLE_LINES)
    return lines, len(lines) * LINE_HEIGHT + 8


def _arrows(level: _Level, right: int, down: int) -> Iterator[PlacedArrow]:
    """Yield the arrows of a level. The two halves of an arrow with a label become one."""
    ends: dict[str, Arrow] = {arrow.source: arrow for arrow in level.layout.arrows if arrow.source in level.labels}
    for arrow in level.layout.arrows:
        if arrow.source in level.labels:
            continue
        flow = level.flows[Link(arrow.source, arrow.target, arrow.port)].flow
        points, is_back = arrow.points, arrow.is_back
        if arrow.target in level.labels:
            rest = ends[arrow.target]
            points, is_back = _joined(points, rest.points), is_back or rest.is_back
        yield PlacedArrow(flow, is_back, tuple((x + right, y + down) for x, y in points))


def _joined(one: Sequence[Point], other: Sequence[Point]) -> tuple[Point, ...]:
    """Join two lines that end and begin at opposite sides of a label, or at the same side."""
    (x, y), (x_next, y_next) = one[-1], other[0]
    if x == x_next or y == y_next:
        between: list[Point] = []
    elif one[-2][0] == x:
        middle = (y + y_next) // 2
        between = [(x, middle), (x_next, middle)]
    else:
        middle = (x + x_next) // 2
        between = [(middle, y), (middle, y_next)]
    found: list[Point] = []
    for point in (*one, *between, *other):
        if len(found) > 1 and _is_between(found[-2], found[-1], point):
            found[-1] = point
        elif not found or found[-1] != point:
            found.append(point)
    return tuple(found)


def _is_between(one: Point, middle: Point, other: Point) -> bool:
    return one[0] == middle[0] == other[0] or one[1] == middle[1] == other[1]


def _cells(lanes: LaneOrder, borders: Sequence[int], whole: int, *, is_turned: bool) -> Iterator[LaneCell]:
    """Yield the areas of lanes from the outside in: a lane with lanes below it covers theirs."""
    numbered = list(enumerate(lanes.lanes))
    for depth in range(lanes.depth):
        deep = [each for each in numbered if len(each[1].path) > depth]
        for _, run in groupby(deep, key=lambda each: [lane.key for lane in each[1].path[: depth + 1]]):
            members: list[tuple[int, LaneLeaf]] = list(run)
            first, last = borders[members[0][0]], borders[members[-1][0] + 1]
            is_leaf = len(members[0][1].path) == depth + 1
            header = HEADER * (lanes.depth - depth) if is_leaf else HEADER
            name, start = members[0][1].path[depth].name, depth * HEADER
            if is_turned:
                yield LaneCell(name, start, first, whole - start, last - first, header, True)
            else:
                yield LaneCell(name, first, start, last - first, whole - start, header, False)


def _half(size: int) -> int:
    return -(-size // 2)
