"""Diagram as SVG: works alone or in a page, contains no script, and is the same text for equal diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from elements.diagrams.colors import DARK, WHITE
from elements.diagrams.figures import DrawableShape, Figure
from elements.diagrams.frames import Point
from elements.diagrams.layout import Arrow, Direction, arrange
from elements.diagrams.text import FONT_SIZE, LINE_HEIGHT, clean, width_of, wrap

STYLE_SHEET = Path(__file__).parent.parent / "static/elements/diagram.css"
FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
PADDING = 24
CORNER = 8
HEAD_LENGTH, HEAD_HALF = 10, 4
FLOW_COLOR, BACK_COLOR = "#52606D", "#B4470E"
NOTICE_WIDTH = 320


@dataclass(frozen=True, slots=True)
class DiagramTexts:
    """Texts of the picture about itself, in the language of its culture."""

    language: str
    title: str
    description: str
    notice: str = ""
    """Text instead of shapes, if there are none."""


def draw(
    texts: DiagramTexts,
    shapes: Iterable[DrawableShape],
    predecessors: Iterable[tuple[str, str]],
    direction: Direction,
    *,
    selected: str | None = None,
    with_style: bool = True,
) -> str:
    """Return the SVG of a diagram. `with_style` is for a picture on its own; a page loads the style sheet itself."""
    figures = {shape.key: Figure(shape, direction) for shape in shapes}
    if not figures:
        return _notice(texts, with_style)
    layout = arrange((figure.box for figure in figures.values()), predecessors, direction)
    has_links = any(figure.shape.link for figure in figures.values())
    drawn = (figures[place.key].draw(place.x, place.y, place.key == selected) for place in layout.shapes)
    body = [f'<g transform="translate({PADDING} {PADDING})">', *_arrows(layout.arrows), *drawn, "</g>"]
    return _picture(texts, layout.width + 2 * PADDING, layout.height + 2 * PADDING, body, has_links, with_style)


def _notice(texts: DiagramTexts, with_style: bool) -> str:
    lines = wrap(texts.notice, NOTICE_WIDTH, 3)
    width = max(map(width_of, lines), default=0) + 4 * PADDING
    spans = "".join(
        f'<tspan x="{width // 2}" y="{PADDING + FONT_SIZE + number * LINE_HEIGHT}">{escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    text = f'<text text-anchor="middle" fill="{DARK}">{spans}</text>'
    return _picture(texts, width, 2 * PADDING + len(lines) * LINE_HEIGHT, [text], False, with_style)


def _picture(
    texts: DiagramTexts, width: int, height: int, body: Sequence[str], has_links: bool, with_style: bool
) -> str:
    # Screen readers see an image as a whole; a picture with links is a group of them.
    role = "group" if has_links else "img"
    language = quoteattr(texts.language)
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="{role}" lang={language} xml:lang={language}'
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' font-family="{FONT}" font-size="{FONT_SIZE}">',
        f"<title>{escape(clean(texts.title))}</title>",
        f"<desc>{escape(clean(texts.description))}</desc>",
        *([f"<style>{_style()}</style>"] if with_style else []),
        # A background of its own, so that texts are readable on a dark page.
        f'<rect class="ground" width="{width}" height="{height}" fill="{WHITE}"/>',
    ]
    return "\n".join([*head, *body, "</svg>", ""])


@cache
def _style() -> str:
    return STYLE_SHEET.read_text(encoding="utf-8").strip()


def _arrows(arrows: Sequence[Arrow]) -> Iterator[str]:
    """Arrows that lead back come last, so that their dashes stay visible where they join others."""
    if not arrows:
        return
    yield '<g class="arrows" fill="none" stroke-width="1.5" aria-hidden="true">'
    for is_back, name, look in (
        (False, "flow", f'stroke="{FLOW_COLOR}"'),
        (True, "flow back", f'stroke="{BACK_COLOR}" stroke-dasharray="6 4"'),
    ):
        some = [arrow for arrow in arrows if arrow.is_back is is_back]
        if some:
            yield f'<g class="{name}" {look}>'
            yield from (f'<path d="{_way(arrow.points)}"/>' for arrow in some)
            yield "</g>"
            heads = "".join(dict.fromkeys(_head(arrow.points) for arrow in some))
            yield f'<path class="{name}" d="{heads}" fill="{BACK_COLOR if is_back else FLOW_COLOR}"/>'
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
    aside_x, aside_y = (HEAD_HALF, 0) if back_x == x else (0, HEAD_HALF)
    return f"M{x} {y}L{back_x - aside_x} {back_y - aside_y}L{back_x + aside_x} {back_y + aside_y}Z"


def _distance(one: Point, other: Point) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(point: Point, other: Point, steps: int) -> Point:
    """Return the point some steps from one point towards another; lines are horizontal or vertical."""
    return tuple(here + max(-steps, min(steps, there - here)) for here, there in zip(point, other, strict=True))  # type: ignore[return-value]  # two coordinates
