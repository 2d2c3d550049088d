"""The diagram of a version as a picture whose shapes are links, and the directions in which it can be drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from elements.diagrams.layout import Direction
from elements.presentation.labels import Labels
from elements.reading.pictures import draw_diagram, read_drawn_shapes
from elements.reading.rows import VersionRow


@dataclass(frozen=True, slots=True)
class Way:
    text: str
    address: str
    is_current: bool


def read_direction(given: str) -> Direction:
    return next((each for each in Direction if each == given.lower()), Direction.VERTICAL)


def read_picture(
    labels: Labels, row: VersionRow, direction: Direction, selected: str | None
) -> Callable[[], SafeString]:
    """Read a diagram, and return the function that draws it."""
    drawn = read_drawn_shapes(labels.reader, row)

    @cache
    def picture() -> SafeString:
        found = draw_diagram(
            labels.reader, row, drawn, labels.lcid, direction, link=labels.address, selected=selected, with_style=False
        )
        return mark_safe(found)  # noqa: S308  drawn by us, with every text escaped

    return picture


def ways(shown: Direction, address: Callable[[Direction], str]) -> list[Way]:
    texts = {Direction.VERTICAL: _("Top to bottom"), Direction.HORIZONTAL: _("Left to right")}
    return [Way(text, address(direction), direction is shown) for direction, text in texts.items()]
