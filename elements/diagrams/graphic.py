"""A diagram as drawn in a modelling tool: bounds of shapes and lanes, and corners of flows, moved to (0, 0)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from elements.diagrams.drawables import DrawableFlow, Drawing
from elements.diagrams.figures import Figure
from elements.diagrams.flow.composition import (
    HEADER,
    Composition,
    LaneCell,
    PlacedArrow,
    PlacedFigure,
    PlacedFrame,
    PlacedLabel,
    wrap_label,
)
from elements.diagrams.flow.nesting import nest
from elements.diagrams.geometry import ShapeBounds
from elements.diagrams.layered.frames import Point
from elements.diagrams.layered.layout import Direction

# A larger picture is not drawn as it is, because browsers cannot show it.
MAX_EXTENT = 60_000


def compose_as_drawn(drawing: Drawing) -> Composition | None:
    """Return None if a shape has no bounds, or if the picture would be too large to be shown."""
    bounds = {shape.key: shape.bounds for shape in drawing.shapes if shape.bounds}
    if not drawing.is_drawn:
        return None
    drawn = _Drawn(bounds, drawing)
    if max(drawn.found.width, drawn.found.height) > MAX_EXTENT:
        return None
    drawn.place()
    return drawn.found


class _Drawn:
    def __init__(self, bounds: dict[str, ShapeBounds], drawing: Drawing) -> None:
        self.bounds = bounds
        self.drawing = drawing
        self.figures = {
            shape.key: Figure(
                shape, Direction.HORIZONTAL, size=(round(bounds[shape.key].width), round(bounds[shape.key].height))
            )
            for shape in drawing.shapes
        }
        corners = list(self._corners())
        left, top = (min(each[axis] for each in corners) for axis in (0, 1))
        self.moved = (left, top)
        right, bottom = (max(each[axis] for each in corners) for axis in (0, 1))
        self.found = Composition(round(right - left), round(bottom - top))

    def _corners(self) -> Iterator[tuple[float, float]]:
        lanes = [lane.bounds for lane in self.drawing.lanes if lane.bounds]
        for each in (*self.bounds.values(), *lanes):
            yield each.x, each.y
            yield each.x + each.width, each.y + each.height
        for key, figure in self.figures.items():
            # Labels may be larger than the figures above them.
            x, y = _middle(self.bounds[key])
            yield x - figure.box.left, y - figure.box.top
            yield x + figure.box.right, y + figure.box.bottom
        for flow in self.drawing.flows:
            yield from flow.waypoints

    def _point(self, x: float, y: float) -> Point:
        return round(x - self.moved[0]), round(y - self.moved[1])

    def place(self) -> None:
        nesting = nest(self.drawing)
        for lane in self.drawing.lanes:
            if lane.bounds:
                left, top = self._point(lane.bounds.x, lane.bounds.y)
                size = round(lane.bounds.width), round(lane.bounds.height)
                is_turned = size[0] >= size[1]
                self.found.cells.append(LaneCell(lane.name, left, top, *size, HEADER, is_turned))
        for shape in self.drawing.shapes:
            own = self.bounds[shape.key]
            if nesting.is_container(shape.key):
                left, top = self._point(own.x, own.y)
                self.found.frames.append(PlacedFrame(shape, left, top, round(own.width), round(own.height)))
            else:
                self.found.figures.append(PlacedFigure(self.figures[shape.key], *self._point(*_middle(own))))
        # Inner containers are drawn over the ones around them.
        self.found.frames.sort(key=lambda frame: -frame.width * frame.height)
        for flow in self.drawing.flows:
            if flow.source in self.bounds and flow.target in self.bounds:
                self._place_flow(flow)

    def _place_flow(self, flow: DrawableFlow) -> None:
        given = flow.waypoints if len(flow.waypoints) > 1 else self._straight(flow)
        points: list[Point] = []
        for point in (self._point(*each) for each in given):
            if not points or points[-1] != point:
                points.append(point)
        if len(points) < 2:
            points = [points[0], (points[0][0], points[0][1] + 1)]
        self.found.arrows.append(PlacedArrow(flow, False, tuple(points)))
        lines = wrap_label(flow.label)
        if lines:
            self.found.labels.append(PlacedLabel(lines, *_halfway(points)))

    def _straight(self, flow: DrawableFlow) -> Sequence[tuple[float, float]]:
        source, target = self.bounds[flow.source], self.bounds[flow.target]
        one, other = _middle(source), _middle(target)
        return [_border(source, one, other), _border(target, other, one)]


def _middle(bounds: ShapeBounds) -> tuple[float, float]:
    return bounds.x + bounds.width / 2, bounds.y + bounds.height / 2


def _border(bounds: ShapeBounds, middle: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Return where the line from the middle of a shape towards a point crosses its border."""
    along_x, along_y = towards[0] - middle[0], towards[1] - middle[1]
    shares = [size / 2 / abs(way) for size, way in ((bounds.width, along_x), (bounds.height, along_y)) if abs(way) > 0]
    share = min((1.0, *shares))
    return middle[0] + along_x * share, middle[1] + along_y * share


def _halfway(points: Sequence[Point]) -> Point:
    """Return the middle of the longest piece."""
    pieces = list(pairwise(points))
    (x, y), (x_next, y_next) = max(pieces, key=lambda each: sum(abs(a - b) for a, b in zip(*each, strict=True)))
    return (x + x_next) // 2, (y + y_next) // 2
