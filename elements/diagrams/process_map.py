"""Process map: core processes as rows of chevrons, management above and support below them as boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from elements.diagrams.colors import DARK, line_color, solid, text_on, tint
from elements.diagrams.drawables import DrawableShape, Drawing, MapGroup
from elements.diagrams.figures import change_badge, group_tag, text_lines
from elements.diagrams.fixed_texts import PictureWords
from elements.diagrams.flow.nesting import TOP, LevelFlow, Nesting, nest
from elements.diagrams.layered.layers import assign_layers, find_back_arrows
from elements.diagrams.layered.layout import Box
from elements.diagrams.text import LINE_HEIGHT, wrap

CELL_WIDTH, CELL_HEIGHT, CELL_ROOM = 188, 84, 16
POINT = 26
MOST_IN_ROW = 6
BAND_ROOM, BAND_PADDING, BAND_TITLE = 20, 18, 26
BAND_LINE, BAND_GROUND = "#CBD2D9", "#F5F7FA"


def order_by_flow(drawing: Drawing) -> list[DrawableShape]:
    """Return shapes in the order of the flow, each container before its shapes; without flows, in the order of the
    diagram."""
    nesting = nest(drawing)
    flows = nesting.flows(drawing.flows)
    return list(_ordered(nesting, flows, TOP))


def _ordered(nesting: Nesting, flows: Mapping[str, Sequence[LevelFlow]], level: str) -> Iterator[DrawableShape]:
    shapes = nesting.members[level]
    number = {shape.key: place for place, shape in enumerate(shapes)}
    successors: list[list[int]] = [[] for _ in shapes]
    for flow in flows.get(level, ()):
        if flow.source != flow.target:
            successors[number[flow.source]].append(number[flow.target])
    back = find_back_arrows(len(shapes), successors)
    ahead = [[target for target in successors[node] if (node, target) not in back] for node in range(len(shapes))]
    layer = assign_layers(len(shapes), ahead)
    for node in sorted(range(len(shapes)), key=lambda node: (layer[node], node)):
        shape = shapes[node]
        yield shape
        if nesting.is_container(shape.key):
            yield from _ordered(nesting, flows, shape.key)
        yield from nesting.attached.get(shape.key, ())


def draw_map(drawing: Drawing, words: PictureWords, selected: str | None) -> tuple[int, int, list[str]]:
    """Return width, height and content of a process map."""
    ordered = order_by_flow(drawing)
    groups = {group: [shape for shape in ordered if shape.group is group] for group in MapGroup}
    shown = {group: shapes for group, shapes in groups.items() if shapes}
    in_row = min(MOST_IN_ROW, max(map(len, shown.values())))
    width = in_row * (CELL_WIDTH + CELL_ROOM) - CELL_ROOM + 2 * BAND_PADDING + POINT
    body, top = [], 0
    for group, shapes in shown.items():
        rows = -(-len(shapes) // in_row)
        # A single group needs no name.
        title = BAND_TITLE if len(shown) > 1 else 4
        height = title + rows * (CELL_HEIGHT + CELL_ROOM) - CELL_ROOM + 2 * BAND_PADDING - 4
        body.append(_band(words.groups[group] if len(shown) > 1 else "", top, width, height))
        body.extend(_cells(shapes, group, in_row, top + title + BAND_PADDING - 4, width, selected))
        top += height + BAND_ROOM
    return width, top - BAND_ROOM, body


def _band(name: str, top: int, width: int, height: int) -> str:
    place = f'x="{BAND_PADDING}" y="{top + BAND_TITLE}"'
    text = f'<text {place} font-weight="bold" fill="{DARK}">{escape(name)}</text>' if name else ""
    return (
        f'<g class="band"><rect y="{top}" width="{width}" height="{height}" rx="10" fill="{BAND_GROUND}"'
        f' stroke="{BAND_LINE}"/>{text}</g>'
    )


def _cells(
    shapes: Sequence[DrawableShape], group: MapGroup, in_row: int, top: int, width: int, selected: str | None
) -> Iterator[str]:
    is_core = group is MapGroup.CORE
    for number, shape in enumerate(shapes):
        row, column = divmod(number, in_row)
        members = min(in_row, len(shapes) - row * in_row)
        # Boxes are in the middle; chevrons begin at the left, since they have an order.
        free = width - members * (CELL_WIDTH + CELL_ROOM) + CELL_ROOM
        left = BAND_PADDING if is_core else free // 2
        x = left + column * (CELL_WIDTH + CELL_ROOM) + CELL_WIDTH // 2
        y = top + row * (CELL_HEIGHT + CELL_ROOM) + CELL_HEIGHT // 2
        yield _cell(shape, x, y, is_core, shape.key == selected)


def _cell(shape: DrawableShape, x: int, y: int, is_core: bool, is_selected: bool) -> str:
    wide, high = CELL_WIDTH // 2, CELL_HEIGHT // 2
    box = Box(shape.key, shape.rank, wide, wide, high, high, wide, high)
    if is_core:
        ground = solid(shape.color)
        outline = f"M{-wide} {-high}H{wide}L{wide + POINT} 0L{wide} {high}H{-wide}L{POINT - wide} 0Z"
        middle, room = POINT // 2 + 4, CELL_WIDTH - POINT - 24
        drawn = f'<path d="{outline}" fill="{ground}" stroke="{line_color(shape.color)}" stroke-width="2"/>'
    else:
        ground = tint(shape.color)
        middle, room = 0, CELL_WIDTH - 28
        drawn = (
            f'<rect x="{-wide}" y="{-high}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" rx="4" fill="{ground}"'
            f' stroke="{line_color(shape.color)}" stroke-width="2"/>'
        )
    lines = wrap(shape.name, room, 4)
    text = text_lines(lines, middle, -len(lines) * LINE_HEIGHT // 2, "middle", text_on(ground))
    kind = "process" if is_core else "box"
    return group_tag(shape, x, y, box, drawn + text + change_badge(shape.mark, box), is_selected, kind)
