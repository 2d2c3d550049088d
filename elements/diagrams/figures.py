"""Figures of shapes by kind: events are circles, rules are diamonds, both with their text beside; all others are boxes.

Each figure is drawn around (0, 0). Presentation attributes define its look, so that a picture is complete without its
style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape, quoteattr

from django.utils.functional import cached_property

from elements.diagrams.colors import DARK, WHITE, line_color, solid, text_on, tint
from elements.diagrams.drawables import EVENTS, RULES, ChangeMark, DrawableShape, FigureKind
from elements.diagrams.fixed_texts import PictureWords
from elements.diagrams.layered.frames import Outline
from elements.diagrams.layered.layout import Box, Direction
from elements.diagrams.notes import ROOM, SideNote, draw_notes, height_of, notes_after, notes_before
from elements.diagrams.notes import WIDTH as NOTE_WIDTH
from elements.diagrams.text import FONT_SIZE, LINE_HEIGHT, clean, width_of, wrap

BOX_WIDTH, BOX_HEIGHT, BOX_PADDING, BOX_LINES = 172, 52, 14, 5
LABEL_WIDTH, LABEL_LINES, LABEL_ROOM = 132, 5, 8
EVENT_RADIUS, RULE_HALF, CONDITION_HALF = 18, 20, 14
# Label of an event at the edge of another shape.
ATTACHED_WIDTH, ATTACHED_LINES, ATTACHED_ROOM = 92, 3, 4
# Distance of the frame that marks a shape as selected or focused.
MARGIN = 6
MARK, MARK_GROUND = "#1D4ED8", "#DBEAFE"


@dataclass(frozen=True)
class Figure:
    """A shape as drawn in a picture of one direction. The label of a circle or diamond stays off the flow.

    `least` is the least half of a box across the flow, for shapes attached to its edge.
    """

    shape: DrawableShape
    direction: Direction
    least: int = 0
    words: PictureWords | None = None
    """With words, notes about related elements are beside the figure."""
    is_attached: bool = False
    """Whether the figure is an event at the edge of another, which leaves less room for its label."""
    size: tuple[int, int] | None = None
    """Size as drawn; without it, the text decides."""

    @property
    def is_labelled(self) -> bool:
        return self.shape.kind in EVENTS or self.shape.kind in RULES

    @cached_property
    def lines(self) -> Sequence[str]:
        if self.is_attached:
            return wrap(self.shape.name, ATTACHED_WIDTH, ATTACHED_LINES)
        if self.size and not self.is_labelled:
            width, height = self.size
            return wrap(self.shape.name, max(width - 8, 24), max(1, (height - 4) // LINE_HEIGHT))
        if self.is_labelled:
            return wrap(self.shape.name, LABEL_WIDTH, LABEL_LINES)
        return wrap(self.shape.name, BOX_WIDTH - 2 * BOX_PADDING, BOX_LINES)

    @cached_property
    def before(self) -> Sequence[SideNote]:
        return notes_before(self.shape.notes, self.words) if self.words else ()

    @cached_property
    def after(self) -> Sequence[SideNote]:
        return notes_after(self.shape.notes, self.words) if self.words else ()

    @cached_property
    def box(self) -> Box:
        own = self.own_box
        if not self.before and not self.after:
            return own
        high = _half(max(height_of(self.before), height_of(self.after)))
        beside = ROOM + NOTE_WIDTH
        return replace(
            own,
            left=own.left + (beside if self.before else 0),
            right=own.right + (beside if self.after else 0),
            top=max(own.top, high),
            bottom=max(own.bottom, high),
        )

    @cached_property
    def own_box(self) -> Box:
        """The figure with its label, without notes."""
        shape = self.shape
        if self.size and not self.is_labelled:
            width, height = (max(4, _half(each)) for each in self.size)
            return Box(shape.key, shape.rank, width, width, height, height, width, height)
        if not self.is_labelled:
            width, height = BOX_WIDTH // 2, _half(max(BOX_HEIGHT, len(self.lines) * LINE_HEIGHT + 20))
            if self.direction is Direction.VERTICAL:
                width = max(width, self.least)
            else:
                height = max(height, self.least)
            return Box(shape.key, shape.rank, width, width, height, height, width, height)
        half = self._half
        outline = Outline.ROUND if shape.kind in EVENTS else Outline.POINTED
        label = max(map(width_of, self.lines), default=0)
        if self.is_attached:
            beside, below = ATTACHED_ROOM + label, len(self.lines) * LINE_HEIGHT
            if self.direction is Direction.VERTICAL:
                beside, below = beside + half, below + ATTACHED_ROOM
            else:
                below += half
            return Box(shape.key, shape.rank, half, max(half, beside), half, max(half, below), half, half, outline)
        if self.direction is Direction.VERTICAL:
            high = max(half, _half(len(self.lines) * LINE_HEIGHT))
            return Box(shape.key, shape.rank, half, half + LABEL_ROOM + label, high, high, half, half, outline)
        wide = max(half, _half(label))
        bottom = half + LABEL_ROOM + len(self.lines) * LINE_HEIGHT
        return Box(shape.key, shape.rank, wide, wide, half, bottom, half, half, outline)

    @property
    def _half(self) -> int:
        if self.size:
            return max(4, min(self.size) // 2)
        if self.shape.kind in EVENTS:
            return EVENT_RADIUS
        return CONDITION_HALF if self.shape.kind is FigureKind.CONDITION else RULE_HALF

    def draw(self, x: int, y: int, is_selected: bool) -> str:
        """Return a group at a position, inside a link if there is one."""
        badge = change_badge(self.shape.mark, self.own_box)
        content = f"{self._figure()}{self._text()}{self._notes()}{badge}"
        return group_tag(self.shape, x, y, self.own_box, content, is_selected)

    def _figure(self) -> str:
        kind, color = self.shape.kind, self.shape.color
        if kind in EVENTS:
            return _event(kind, color, self._half)
        if kind in RULES:
            return _rule(kind, color, self._half)
        return _box(kind, color, self.own_box)

    def _notes(self) -> str:
        own = self.own_box
        left, right = -own.left - ROOM - NOTE_WIDTH, own.right + ROOM
        is_plain = not self.is_labelled
        return draw_notes(self.before, left, -own.half_width) + draw_notes(
            self.after, right, own.half_width if is_plain else None
        )

    def _text(self) -> str:
        box, lines = self.own_box, self.lines
        if not self.is_labelled:
            color = text_on(_ground(self.shape.kind, self.shape.color))
            return text_lines(lines, 0, -len(lines) * LINE_HEIGHT // 2, "middle", color)
        if self.is_attached and self.direction is Direction.VERTICAL:
            return text_lines(lines, self._half + ATTACHED_ROOM, ATTACHED_ROOM, "start", DARK)
        if self.is_attached:
            return text_lines(lines, ATTACHED_ROOM, self._half, "start", DARK)
        if self.direction is Direction.VERTICAL:
            return text_lines(lines, self._half + LABEL_ROOM, -len(lines) * LINE_HEIGHT // 2, "start", DARK)
        return text_lines(lines, 0, box.half_height + LABEL_ROOM - 2, "middle", DARK)


def group_tag(shape: DrawableShape, x: int, y: int, box: Box, content: str, is_selected: bool, kind: str = "") -> str:
    """Return the group of a shape with its title and mark, inside a link if there is one.

    Its class is the `kind` of its figure, on which dark colours depend.
    """
    marked = f" {shape.mark}" if shape.mark else ""
    name = f"shape {kind or shape.kind}{marked}{' selected' if is_selected else ''}"
    drawn = (
        f'<g class="{name}" id={quoteattr(f"shape-{shape.key}")} transform="translate({x} {y})">'
        f"<title>{escape(shape.title)}</title>{_mark(box, is_selected)}{content}</g>"
    )
    if not shape.link:
        return drawn
    current = ' aria-current="true"' if is_selected else ""
    label = quoteattr(" ".join(shape.title.split()))
    return f"<a href={quoteattr(clean(shape.link))} aria-label={label}{current}>{drawn}</a>"


def _mark(box: Box, is_selected: bool) -> str:
    """Return the frame of a selected or focused shape; it also makes the whole shape react to the mouse."""
    place = _rect(-box.left - MARGIN, -box.top - MARGIN, box.right + MARGIN, box.bottom + MARGIN, 8)
    look = 'fill-opacity="0"'
    if is_selected:
        look = f'fill="{MARK_GROUND}" fill-opacity="0.5" stroke="{MARK}" stroke-width="3"'
    return f'<rect class="mark" {place} {look}/>'


_BADGES = {
    ChangeMark.ADDED: ("#1A7F37", "M-4 0H4M0 -4V4", ""),
    ChangeMark.REMOVED: ("#B42318", "M-4 0H4", ' stroke-dasharray="5 4"'),
    ChangeMark.CHANGED: ("#9A6700", "M-3 -3L3 0L-3 3", ' stroke-dasharray="12 3"'),
}


def change_badge(mark: ChangeMark | None, box: Box) -> str:
    """Return a frame and a symbol that mark a change: plus, minus, or a wedge, so that colour is not needed."""
    if mark is None:
        return ""
    color, sign, dashes = _BADGES[mark]
    place = _rect(-box.half_width - 4, -box.half_height - 4, box.half_width + 4, box.half_height + 4, 6)
    return (
        f'<rect class="change" {place} fill="none" stroke="{color}" stroke-width="3"{dashes}/>'
        f'<g transform="translate({-box.half_width - 4} {-box.half_height - 4})"><circle r="9" fill="{color}"/>'
        f'<path d="{sign}" fill="none" stroke="{WHITE}" stroke-width="2"/></g>'
    )


def _half(size: int) -> int:
    return -(-size // 2)


def _rect(left: int, top: int, right: int, bottom: int, radius: int = 0) -> str:
    round_off = f' rx="{radius}"' if radius else ""
    return f'x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"{round_off}'


def text_lines(lines: Sequence[str], x: int, top: int, anchor: str, color: str) -> str:
    # Baseline of the letters in a line of this height.
    y = top + FONT_SIZE - 1
    spans = "".join(
        f'<tspan x="{x}" y="{y + number * LINE_HEIGHT}">{escape(line)}</tspan>' for number, line in enumerate(lines)
    )
    return f'<text text-anchor="{anchor}" fill="{color}">{spans}</text>'


def _event(kind: FigureKind, color: str, half: int) -> str:
    """A thin ring marks a start, a double ring an intermediate event, a thick ring an end."""
    line, ground = line_color(color), tint(color)
    width = 4 if kind is FigureKind.END else 2
    radius = half - width // 2
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
