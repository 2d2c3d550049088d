"""Figures of shapes by kind: events are circles, rules are diamonds, both with their text beside; all others are boxes.

Each figure is drawn around (0, 0). Presentation attributes define its look, so that a picture is complete without its
style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from xml.sax.saxutils import escape, quoteattr

from elements.diagrams.colors import DARK, WHITE, line_color, solid, text_on, tint
from elements.diagrams.frames import Outline
from elements.diagrams.layout import Box, Direction
from elements.diagrams.text import ELLIPSIS, FONT_SIZE, LINE_HEIGHT, clean, width_of, wrap

BOX_WIDTH, BOX_HEIGHT, BOX_PADDING, BOX_LINES = 172, 52, 14, 5
LABEL_WIDTH, LABEL_LINES, LABEL_ROOM = 132, 5, 8
EVENT_RADIUS, RULE_HALF, CONDITION_HALF = 18, 20, 14
# Many shapes can show the same element, so a picture could repeat a long name many times.
LONGEST_TITLE = 500
# Distance of the frame that marks a shape as selected or focused.
MARGIN = 6
MARK, MARK_GROUND = "#1D4ED8", "#DBEAFE"


class FigureKind(StrEnum):
    START = "start"
    INTERMEDIATE = "intermediate"
    END = "end"
    AND = "and"
    OR = "or"
    XOR = "xor"
    CONDITION = "condition"
    TASK = "task"
    PROCESS = "process"
    INTERFACE = "interface"
    OTHER = "other"


EVENTS = frozenset({FigureKind.START, FigureKind.INTERMEDIATE, FigureKind.END})
RULES = frozenset({FigureKind.AND, FigureKind.OR, FigureKind.XOR, FigureKind.CONDITION})


@dataclass(frozen=True, slots=True)
class DrawableShape:
    """A shape with its texts and colour. `rank` is its position in the diagram."""

    key: str
    rank: int
    kind: FigureKind
    name: str
    type_name: str
    color: str
    link: str = ""

    @property
    def title(self) -> str:
        """Name and type, for screen readers and for names that were cut in the picture."""
        name = self.name if len(self.name) <= LONGEST_TITLE else f"{self.name[:LONGEST_TITLE]}{ELLIPSIS}"
        return clean(name if self.name == self.type_name else f"{self.type_name}: {name}")


@dataclass(frozen=True)
class Figure:
    """A shape as drawn in a picture of one direction. The label of a circle or diamond stays off the flow."""

    shape: DrawableShape
    direction: Direction

    @property
    def is_labelled(self) -> bool:
        return self.shape.kind in EVENTS or self.shape.kind in RULES

    @cached_property
    def lines(self) -> Sequence[str]:
        if self.is_labelled:
            return wrap(self.shape.name, LABEL_WIDTH, LABEL_LINES)
        return wrap(self.shape.name, BOX_WIDTH - 2 * BOX_PADDING, BOX_LINES)

    @cached_property
    def box(self) -> Box:
        shape = self.shape
        if not self.is_labelled:
            width, height = BOX_WIDTH // 2, _half(max(BOX_HEIGHT, len(self.lines) * LINE_HEIGHT + 20))
            return Box(shape.key, shape.rank, width, width, height, height, width, height)
        half = self._half
        outline = Outline.ROUND if shape.kind in EVENTS else Outline.POINTED
        label = max(map(width_of, self.lines), default=0)
        if self.direction is Direction.VERTICAL:
            high = max(half, _half(len(self.lines) * LINE_HEIGHT))
            return Box(shape.key, shape.rank, half, half + LABEL_ROOM + label, high, high, half, half, outline)
        wide = max(half, _half(label))
        bottom = half + LABEL_ROOM + len(self.lines) * LINE_HEIGHT
        return Box(shape.key, shape.rank, wide, wide, half, bottom, half, half, outline)

    @property
    def _half(self) -> int:
        if self.shape.kind in EVENTS:
            return EVENT_RADIUS
        return CONDITION_HALF if self.shape.kind is FigureKind.CONDITION else RULE_HALF

    def draw(self, x: int, y: int, is_selected: bool) -> str:
        """Return a group at a position, inside a link if there is one."""
        shape = self.shape
        name = f"shape {shape.kind}{' selected' if is_selected else ''}"
        drawn = (
            f'<g class="{name}" id={quoteattr(f"shape-{shape.key}")} transform="translate({x} {y})">'
            f"<title>{escape(shape.title)}</title>{self._mark(is_selected)}{self._figure()}{self._text()}</g>"
        )
        if not shape.link:
            return drawn
        current = ' aria-current="true"' if is_selected else ""
        label = quoteattr(" ".join(shape.title.split()))
        return f"<a href={quoteattr(clean(shape.link))} aria-label={label}{current}>{drawn}</a>"

    def _mark(self, is_selected: bool) -> str:
        """Return the frame of a selected or focused shape; it also makes the whole shape react to the mouse."""
        box = self.box
        place = _rect(-box.left - MARGIN, -box.top - MARGIN, box.right + MARGIN, box.bottom + MARGIN, 8)
        look = 'fill-opacity="0"'
        if is_selected:
            look = f'fill="{MARK_GROUND}" fill-opacity="0.5" stroke="{MARK}" stroke-width="3"'
        return f'<rect class="mark" {place} {look}/>'

    def _figure(self) -> str:
        kind, color = self.shape.kind, self.shape.color
        if kind in EVENTS:
            return _event(kind, color)
        if kind in RULES:
            return _rule(kind, color, self._half)
        return _box(kind, color, self.box)

    def _text(self) -> str:
        box, lines = self.box, self.lines
        if not self.is_labelled:
            color = text_on(_ground(self.shape.kind, self.shape.color))
            return _lines(lines, 0, -len(lines) * LINE_HEIGHT // 2, "middle", color)
        if self.direction is Direction.VERTICAL:
            return _lines(lines, self._half + LABEL_ROOM, -len(lines) * LINE_HEIGHT // 2, "start", DARK)
        return _lines(lines, 0, box.half_height + LABEL_ROOM - 2, "middle", DARK)


def _half(size: int) -> int:
    return -(-size // 2)


def _rect(left: int, top: int, right: int, bottom: int, radius: int = 0) -> str:
    round_off = f' rx="{radius}"' if radius else ""
    return f'x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"{round_off}'


def _lines(lines: Sequence[str], x: int, top: int, anchor: str, color: str) -> str:
    # Baseline of the letters in a line of this height.
    y = top + FONT_SIZE - 1
    spans = "".join(
        f'<tspan x="{x}" y="{y + number * LINE_HEIGHT}">{escape(line)}</tspan>' for number, line in enumerate(lines)
    )
    return f'<text text-anchor="{anchor}" fill="{color}">{spans}</text>'


def _event(kind: FigureKind, color: str) -> str:
    """A thin ring marks a start, a double ring an intermediate event, a thick ring an end."""
    line, ground = line_color(color), tint(color)
    width = 4 if kind is FigureKind.END else 2
    radius = EVENT_RADIUS - width // 2
    ring = f'<circle r="{radius}" fill="{ground}" stroke="{line}" stroke-width="{width}"/>'
    if kind is FigureKind.INTERMEDIATE:
        ring += f'<circle r="{radius - 4}" fill="none" stroke="{line}" stroke-width="2"/>'
    return ring


# Symbols inside the diamond: + all paths, × one path, O some paths; a condition is described by its text.
_SIGNS = {
    FigureKind.AND: '<path d="M-8 0H8M0 -8V8"{}/>',
    FigureKind.XOR: '<path d="M-6 -6L6 6M-6 6L6 -6"{}/>',
    FigureKind.OR: '<circle r="7"{}/>',
    FigureKind.CONDITION: "",
}


def _rule(kind: FigureKind, color: str, half: int) -> str:
    line, ground = line_color(color), tint(color)
    sign = _SIGNS[kind].format(f' fill="none" stroke="{line}" stroke-width="3" stroke-linecap="round"')
    shape = f'd="M0 {1 - half}L{half - 1} 0L0 {half - 1}L{1 - half} 0Z"'
    return f'<path {shape} fill="{ground}" stroke="{line}" stroke-width="2" stroke-linejoin="round"/>{sign}'


def _ground(kind: FigureKind, color: str) -> str:
    if kind is FigureKind.PROCESS:
        return solid(color)
    return WHITE if kind is FigureKind.INTERFACE else tint(color)


def _box(kind: FigureKind, color: str, box: Box) -> str:
    """Tasks are light with round corners, processes solid with a bar on each side, interfaces dashed; all others have a
    stripe on top."""
    line, ground = line_color(color), _ground(kind, color)
    wide, high = box.half_width, box.half_height
    inner = (1 - wide, 1 - high, wide - 1, high - 1)
    stroke = f'fill="{ground}" stroke="{line}" stroke-width="2"'
    if kind is FigureKind.TASK:
        return f"<rect {_rect(*inner, 10)} {stroke}/>"
    if kind is FigureKind.PROCESS:
        bars = f'<path d="M{8 - wide} {1 - high}V{high - 1}M{wide - 8} {1 - high}V{high - 1}"'
        return f'<rect {_rect(*inner, 3)} {stroke}/>{bars} stroke="{text_on(ground)}" stroke-opacity="0.7"/>'
    if kind is FigureKind.INTERFACE:
        return f'<rect {_rect(*inner, 3)} {stroke} stroke-dasharray="7 4"/>'
    stripe = f'<rect {_rect(-wide, -high, wide, 6 - high)} fill="{line}"/>'
    return f"<rect {_rect(*inner)} {stroke}/>{stripe}"
