"""Diagram as SVG: works alone or in a page, contains no script, and is the same text for equal diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from elements.diagrams.colors import DARK, WHITE
from elements.diagrams.drawables import Drawing, LayoutKey
from elements.diagrams.fixed_texts import ENGLISH, PictureWords
from elements.diagrams.flow.composition import Composition, compose
from elements.diagrams.flow.drawn_composition import draw_composition
from elements.diagrams.graphic import compose_as_drawn
from elements.diagrams.layered.layout import Direction
from elements.diagrams.matrix import draw_matrix
from elements.diagrams.process_map import draw_map
from elements.diagrams.text import FONT_SIZE, LINE_HEIGHT, clean, width_of, wrap

STYLE_SHEET = Path(__file__).parent.parent / "static/elements/diagram.css"
FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
PADDING = 24
NOTICE_WIDTH = 320


@dataclass(frozen=True, slots=True)
class DiagramTexts:
    """Texts of the picture about itself, in the language of its culture."""

    language: str
    title: str
    description: str
    notice: str = ""
    """Text instead of shapes, if there are none."""
    words: PictureWords = ENGLISH


def draw(
    texts: DiagramTexts,
    drawing: Drawing,
    layout: LayoutKey,
    *,
    selected: str | None = None,
    with_style: bool = True,
) -> str:
    """Return the SVG of a diagram. `with_style` is for a picture on its own; a page loads the style sheet itself."""
    if not drawing.shapes:
        return _notice(texts, with_style)
    width, height, body = _content(texts, drawing, layout, selected)
    has_links = any(shape.link for shape in drawing.shapes)
    body = [f'<g transform="translate({PADDING} {PADDING})">', *body, "</g>"]
    return _picture(texts, width + 2 * PADDING, height + 2 * PADDING, body, has_links, with_style)


def _content(
    texts: DiagramTexts, drawing: Drawing, layout: LayoutKey, selected: str | None
) -> tuple[int, int, list[str]]:
    if layout is LayoutKey.PROCESS_MATRIX:
        return draw_matrix(drawing, texts.words, selected)
    as_drawn = compose_as_drawn(drawing) if layout is LayoutKey.GRAPHIC else None
    if as_drawn is None and _is_map(drawing, layout):
        return draw_map(drawing, texts.words, selected)
    found = as_drawn or _flow(drawing, layout, texts.words)
    return found.width, found.height, list(draw_composition(found, selected))


def _is_map(drawing: Drawing, layout: LayoutKey) -> bool:
    """Whether to draw a process map. Flows that a diagram has are drawn in the layouts that are about the flow."""
    return drawing.is_map and (layout in (LayoutKey.DETAILED, LayoutKey.GRAPHIC) or not drawing.flows)


def _flow(drawing: Drawing, layout: LayoutKey, words: PictureWords) -> Composition:
    if layout is LayoutKey.GRAPHIC:
        layout = LayoutKey.HORIZONTAL_SWIMLANE if drawing.lanes else LayoutKey.HORIZONTAL
    is_vertical = layout in (LayoutKey.DETAILED, LayoutKey.VERTICAL, LayoutKey.VERTICAL_SWIMLANE)
    return compose(
        drawing,
        Direction.VERTICAL if is_vertical else Direction.HORIZONTAL,
        words,
        with_notes=layout is LayoutKey.DETAILED,
        in_lanes=layout in (LayoutKey.VERTICAL_SWIMLANE, LayoutKey.HORIZONTAL_SWIMLANE),
    )


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
