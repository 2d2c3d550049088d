"""The diagram on the page of its element: the picture, and the same as a list for readers who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elements.diagrams.drawables import DEFAULT_LAYOUT, LayoutKey
from elements.pages.visits import Visit
from elements.presentation.diagrams import DiagramPicture, picture_of, read_layout
from elements.presentation.labels import Named, Text
from elements.reading.diagrams.pictures import DrawnShapes
from elements.reading.rows import VersionRow
from repository_site.core.wording import GUID


@dataclass(frozen=True, slots=True)
class Asked:
    shape: str = ""
    layout: LayoutKey = DEFAULT_LAYOUT


NOTHING_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class ShapeLine:
    """A shape in the list. `after` names the shapes that precede it."""

    shape: str
    link: Named
    after: Sequence[Text]


@dataclass(frozen=True, slots=True)
class DiagramPart:
    """`is_missing` says that the address selects a shape which is not in the diagram or not visible to the reader."""

    picture: DiagramPicture
    shapes: Sequence[ShapeLine]
    selected: ShapeLine | None
    is_missing: bool


def diagram_part(
    visit: Visit, row: VersionRow, drawn: DrawnShapes, shapes: Sequence[ShapeLine], asked: Asked
) -> DiagramPart:
    selected = next((each for each in shapes if each.shape == asked.shape), None)
    shape = f"shape={selected.shape}&" if selected else ""
    page = visit.address(row)
    return DiagramPart(
        picture_of(
            visit,
            row,
            drawn,
            asked.layout,
            selected.shape if selected else None,
            lambda layout: f"{page}?{shape}layout={layout}#diagram",
        ),
        shapes,
        selected,
        bool(asked.shape) and selected is None,
    )


def read_asked(shape: str, layout: str) -> Asked:
    """Ignore values that are not a GUID or a layout."""
    return Asked(shape.lower() if GUID.fullmatch(shape) else "", read_layout(layout))
