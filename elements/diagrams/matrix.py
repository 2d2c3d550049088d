"""Process matrix: the steps of a diagram against roles and systems, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from elements.diagrams.colors import DARK, WHITE, line_color
from elements.diagrams.drawables import DrawableShape, Drawing
from elements.diagrams.figures import change_badge, group_tag, text_lines
from elements.diagrams.fixed_texts import PictureWords
from elements.diagrams.layered.layout import Box
from elements.diagrams.process_map import order_by_flow
from elements.diagrams.text import LINE_HEIGHT, clean, wrap

STEP_WIDTH, COLUMN_WIDTH, LEAST_ROW = 260, 96, 34
HEADER_LINES, GROUP_HEIGHT = 4, 26
# Columns beyond are left out; a wider table could not be read.
MAX_COLUMNS = 150
GRID, HEADER_GROUND, ODD_GROUND, ROLE, SYSTEM = "#CBD2D9", "#E4E7EB", "#F8FAFC", "#0B5394", "#38761D"


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    is_role: bool

    def has(self, shape: DrawableShape) -> bool:
        return self.name in (shape.notes.roles if self.is_role else shape.notes.systems)


def draw_matrix(drawing: Drawing, words: PictureWords, selected: str | None) -> tuple[int, int, list[str]]:
    """Return width, height and content of the table."""
    steps = [shape for shape in order_by_flow(drawing) if shape.is_step] or order_by_flow(drawing)
    roles = dict.fromkeys(name for shape in steps for name in shape.notes.roles)
    systems = dict.fromkeys(name for shape in steps for name in shape.notes.systems)
    columns = [*(_Column(name, True) for name in roles), *(_Column(name, False) for name in systems)][:MAX_COLUMNS]
    headers = [wrap(" ".join(each.name.split()), COLUMN_WIDTH - 10, HEADER_LINES) for each in columns]
    head = GROUP_HEIGHT + max((len(lines) for lines in headers), default=1) * LINE_HEIGHT + 12
    width = STEP_WIDTH + max(len(columns), 2) * COLUMN_WIDTH
    body = list(_head(words, columns, headers, head, width))
    top = head
    for number, shape in enumerate(steps):
        lines = wrap(shape.name, STEP_WIDTH - 40, 4)
        height = max(LEAST_ROW, len(lines) * LINE_HEIGHT + 14)
        body.extend(_row(shape, lines, columns, (top, height, width), number % 2 == 1, shape.key == selected))
        top += height
    if not columns:
        lines = wrap(words.without_columns, 2 * COLUMN_WIDTH - 12, HEADER_LINES)
        body.append(text_lines(lines, STEP_WIDTH + COLUMN_WIDTH, 6, "middle", DARK))
    body.append(_grid(len(columns), width, head, top))
    return width, top, body


def _head(
    words: PictureWords, columns: Sequence[_Column], headers: Sequence[Sequence[str]], head: int, width: int
) -> Iterator[str]:
    yield f'<rect class="head" width="{width}" height="{head}" fill="{HEADER_GROUND}"/>'
    yield text_lines([words.step], 14, head - LINE_HEIGHT - 6, "start", DARK)
    roles = sum(each.is_role for each in columns)
    for word, start, size in ((words.roles, 0, roles), (words.systems, roles, len(columns) - roles)):
        if size:
            x = STEP_WIDTH + start * COLUMN_WIDTH + 8
            yield f'<text x="{x}" y="18" font-weight="bold" fill="{DARK}">{escape(word)}</text>'
    for number, (column, lines) in enumerate(zip(columns, headers, strict=True)):
        x = STEP_WIDTH + number * COLUMN_WIDTH + COLUMN_WIDTH // 2
        title = escape(clean(column.name[:200]))
        yield f"<g><title>{title}</title>{text_lines(lines, x, GROUP_HEIGHT + 4, 'middle', DARK)}</g>"


def _row(
    shape: DrawableShape,
    lines: Sequence[str],
    columns: Sequence[_Column],
    place: tuple[int, int, int],
    is_odd: bool,
    is_selected: bool,
) -> Iterator[str]:
    top, height, width = place
    yield f'<rect class="row" y="{top}" width="{width}" height="{height}" fill="{ODD_GROUND if is_odd else WHITE}"/>'
    x, y = STEP_WIDTH // 2, top + height // 2
    wide, high = STEP_WIDTH // 2 - 8, height // 2 - 6
    box = Box(shape.key, shape.rank, wide, wide, high, high, wide, high)
    stripe = f'<rect x="{-wide}" y="{-high}" width="5" height="{2 * high}" rx="2" fill="{line_color(shape.color)}"/>'
    text = text_lines(lines, 16 - wide, -len(lines) * LINE_HEIGHT // 2, "start", DARK)
    yield group_tag(shape, x, y, box, stripe + text + change_badge(shape.mark, box), is_selected, "step")
    for number, column in enumerate(columns):
        if column.has(shape):
            center = STEP_WIDTH + number * COLUMN_WIDTH + COLUMN_WIDTH // 2
            title = f"<title>{escape(clean(f'{shape.name[:200]}: {column.name[:200]}'))}</title>"
            if column.is_role:
                yield f'<circle class="cross" cx="{center}" cy="{y}" r="7" fill="{ROLE}">{title}</circle>'
            else:
                place_of = f'x="{center - 6}" y="{y - 6}" width="12" height="12"'
                yield f'<rect class="cross" {place_of} fill="{SYSTEM}">{title}</rect>'


def _grid(columns: int, width: int, head: int, bottom: int) -> str:
    lines = [f"M0 0H{width}V{bottom}H0ZM0 {head}H{width}"]
    lines += [f"M{STEP_WIDTH + number * COLUMN_WIDTH} 0V{bottom}" for number in range(max(columns, 1))]
    return f'<path class="grid" d="{"".join(lines)}" fill="none" stroke="{GRID}"/>'
