"""A composed flow as SVG: lanes and containers behind, then arrows with their labels, then figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from elements.diagrams.colors import DARK, WHITE, line_color
from elements.diagrams.drawables import ChangeMark
from elements.diagrams.figures import change_badge, group_tag, text_lines
from elements.diagrams.flow.composition import (
    FRAME_PADDING,
    Composition,
    LaneCell,
    PlacedArrow,
    PlacedFrame,
    PlacedLabel,
    frame_title,
)
from elements.diagrams.layered.frames import Point
from elements.diagrams.layered.layout import Box
from elements.diagrams.text import LINE_HEIGHT, width_of, wrap

CORNER = 8
HEAD_LENGTH, HEAD_HALF = 10, 4
FLOW_COLOR, BACK_COLOR = "#52606D", "#B4470E"
LANE_LINE, HEADER_GROUND = "#9AA5B1", "#E4E7EB"
# Looks of flows: their class, colour and further attributes. Line styles differ, so that colour is not needed.
_LOOKS: tuple[tuple[str, ChangeMark | None, bool, str, str], ...] = (
    ("flow removed", ChangeMark.REMOVED, False, "#B42318", ' stroke-width="2" stroke-dasharray="3 5"'),
    ("flow", None, False, FLOW_COLOR, ""),
    ("flow back", None, True, BACK_COLOR, ' stroke-dasharray="6 4"'),
    ("flow added", ChangeMark.ADDED, False, "#1A7F37", ' stroke-width="4"'),
    ("flow changed", ChangeMark.CHANGED, False, "#9A6700", ' stroke-width="3" stroke-dasharray="12 3"'),
)


def draw_composition(found: Composition, selected: str | None) -> Iterator[str]:
    yield from map(_cell, found.cells)
    yield from (_frame(frame, frame.shape.key == selected) for frame in found.frames)
    yield from _arrows(found.arrows)
    yield from map(_label, found.labels)
    for place in found.figures:
        yield place.figure.draw(place.x, place.y, place.figure.shape.key == selected)


def _cell(cell: LaneCell) -> str:
    header, room = (cell.header, cell.height) if cell.is_turned else (cell.width, cell.width)
    wide, high = (header, cell.height) if cell.is_turned else (cell.width, cell.header)
    lines = wrap(" ".join(cell.name.split()), max(room - 12, 24), max(1, cell.header // LINE_HEIGHT))
    text = text_lines(lines, 0, -len(lines) * LINE_HEIGHT // 2, "middle", DARK)
    turned = " rotate(-90)" if cell.is_turned else ""
    return (
        f'<g class="lane" transform="translate({cell.left} {cell.top})">'
        f'<rect width="{cell.width}" height="{cell.height}" fill="none" stroke="{LANE_LINE}"/>'
        f'<rect width="{wide}" height="{high}" fill="{HEADER_GROUND}" stroke="{LANE_LINE}"/>'
        f'<g transform="translate({wide // 2} {high // 2}){turned}">{text}</g></g>'
    )


def _frame(frame: PlacedFrame, is_selected: bool) -> str:
    shape = frame.shape
    wide, high = frame.width // 2, frame.height // 2
    box = Box(shape.key, shape.rank, wide, wide, high, high, wide, high)
    lines, _ = frame_title(shape, frame.width)
    drawn = (
        f'<rect class="container" x="{1 - wide}" y="{1 - high}" width="{2 * wide - 2}" height="{2 * high - 2}" rx="10"'
        f' fill="none" stroke="{line_color(shape.color)}" stroke-width="2"/>'
    )
    text = text_lines(lines, FRAME_PADDING - wide, 6 - high, "start", DARK)
    content = drawn + text + change_badge(shape.mark, box)
    return group_tag(shape, frame.left + wide, frame.top + high, box, content, is_selected, "container")


def _label(label: PlacedLabel) -> str:
    """Return the text of an arrow on a ground that hides the line behind it."""
    wide, high = max(map(width_of, label.lines)) // 2 + 3, len(label.lines) * LINE_HEIGHT // 2
    text = text_lines(label.lines, 0, -high, "middle", DARK)
    ground = f'<rect x="{-wide}" y="{-high}" width="{2 * wide}" height="{2 * high}" fill="{WHITE}"/>'
    return f'<g class="label" transform="translate({label.x} {label.y})">{ground}{text}</g>'


def _arrows(arrows: Sequence[PlacedArrow]) -> Iterator[str]:
    """Arrows that lead back come after others, so that their dashes stay visible where they join others.

    Removed arrows come first: where one joins an arrow of the new version, the head of the new one is visible.
    """
    if not arrows:
        return
    yield '<g class="arrows" fill="none" stroke-width="1.5" aria-hidden="true">'
    for name, mark, is_back, color, look in _LOOKS:
        some = [arrow for arrow in arrows if arrow.flow.mark is mark and (mark or arrow.is_back is is_back)]
        if some:
            yield f'<g class="{name}" stroke="{color}"{look}>'
            yield from (f'<path d="{_way(arrow.points)}"/>' for arrow in some)
            yield "</g>"
            heads = "".join(dict.fromkeys(_head(arrow.points) for arrow in some))
            yield f'<path class="{name}" d="{heads}" fill="{color}"/>'
    yield "</g>"


def _way(points: Sequence[Point]) -> str:
    """Return a path through the corners, each rounded. It ends inside the arrow head, whose tip is the end."""
    (x, y), *others = points
    last, end = points[-2], points[-1]
    others[-1] = _towards(end, last, HEAD_LENGTH - 2)
    drawn = f"M{x} {y}"
    for number, corner in enumerate(others[:-1]):
        before, after = points[number], others[number + 1]
        radius = min(CORNER, _distance(before, corner) // 2, _distance(corner, after) // 2)
        x, y = _towards(corner, before, radius)
        drawn += f"L{x} {y}"
        x, y = _towards(corner, after, radius)
        drawn += f"Q{corner[0]} {corner[1]} {x} {y}"
    x, y = others[-1]
    return f"{drawn}L{x} {y}"


def _head(points: Sequence[Point]) -> str:
    (x, y), last = points[-1], points[-2]
    back_x, back_y = _towards((x, y), last, HEAD_LENGTH)
    # Perpendicular to the line.
    if x == last[0] or y == last[1]:
        aside_x, aside_y = (HEAD_HALF, 0) if x == last[0] else (0, HEAD_HALF)
    else:
        length = math.hypot(last[0] - x, last[1] - y)
        aside_x = round((last[1] - y) / length * HEAD_HALF)
        aside_y = round((x - last[0]) / length * HEAD_HALF)
    return f"M{x} {y}L{back_x - aside_x} {back_y - aside_y}L{back_x + aside_x} {back_y + aside_y}Z"


def _distance(one: Point, other: Point) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(point: Point, other: Point, steps: int) -> Point:
    """Return the point some steps from one point towards another."""
    if point[0] == other[0] or point[1] == other[1]:
        x, y = (here + max(-steps, min(steps, there - here)) for here, there in zip(point, other, strict=True))
        return x, y
    length = math.hypot(other[0] - point[0], other[1] - point[1])
    share = min(1.0, steps / length)
    return round(point[0] + (other[0] - point[0]) * share), round(point[1] + (other[1] - point[1]) * share)
