"""The diagram on the page of its element: the picture, and the same as a list for who cannot see or click it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from elements.diagrams.layout import Direction
from elements.pages.visits import Link, Text, Visit
from elements.reading.pictures import draw_diagram
from elements.reading.rows import VersionRow
from repository_site.core.wording import GUID


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks of the diagram."""

    shape: str = ""
    direction: Direction = Direction.VERTICAL


NOTHING_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class ShapeLine:
    """A shape, in words. `after` are the names of the shapes before it."""

    shape: str
    link: Link
    after: Sequence[Text]


@dataclass(frozen=True, slots=True)
class Way:
    """The same diagram, drawn in a direction."""

    text: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class DiagramPart:
    picture: SafeString
    shapes: Sequence[ShapeLine]
    ways: Sequence[Way]
    selected: ShapeLine | None
    is_missing: bool
    """A shape is asked for that is not in the diagram, or that the reader does not get to see."""


def diagram_part(visit: Visit, row: VersionRow, shapes: Sequence[ShapeLine], asked: Asked) -> DiagramPart:
    """`shapes` are those that the reader gets to see."""
    selected = next((each for each in shapes if each.shape == asked.shape), None)
    picture = draw_diagram(
        visit.reader,
        row,
        visit.lcid,
        asked.direction,
        link=visit.page,
        selected=selected.shape if selected else None,
        with_style=False,
    )
    ways = _ways(visit.page(row), asked.direction, selected)
    return DiagramPart(
        mark_safe(picture),  # noqa: S308  drawn by us, with every text escaped
        shapes,
        ways,
        selected,
        bool(asked.shape) and selected is None,
    )


def _ways(page: str, shown: Direction, selected: ShapeLine | None) -> list[Way]:
    texts = {Direction.VERTICAL: _("Top to bottom"), Direction.HORIZONTAL: _("Left to right")}
    shape = f"shape={selected.shape}&" if selected else ""
    return [
        Way(text, f"{page}?{shape}layout={direction}#diagram", direction is shown) for direction, text in texts.items()
    ]


def read_asked(shape: str, layout: str) -> Asked:
    """What makes no sense counts as not asked."""
    direction = next((each for each in Direction if each == layout.lower()), Direction.VERTICAL)
    return Asked(shape.lower() if GUID.fullmatch(shape) else "", direction)
