"""The diagram of a version as a picture whose shapes are links, its layouts, and the file to download."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from elements.diagrams.drawables import DEFAULT_LAYOUT, LayoutKey
from elements.presentation.labels import Labels
from elements.reading.diagrams.pictures import DrawnShapes, draw_diagram, name_of
from elements.reading.rows import VersionRow

LONGEST_FILE_NAME = 80


@dataclass(frozen=True, slots=True)
class Way:
    text: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class DiagramPicture:
    """A picture that can be zoomed, with the layouts to choose from and the address of the SVG file."""

    drawn: Callable[[], SafeString]
    file_name: str
    """Name of downloaded files, without the ending."""
    ways: Sequence[Way] = ()
    file: str = ""


def read_layout(given: str) -> LayoutKey:
    return next((each for each in LayoutKey if each.casefold() == given.casefold()), DEFAULT_LAYOUT)


def picture_of(
    labels: Labels,
    row: VersionRow,
    drawn: DrawnShapes,
    layout: LayoutKey,
    selected: str | None,
    address: Callable[[LayoutKey], str],
) -> DiagramPicture:
    """Return the picture of a diagram. It is drawn when the page is rendered; `address` returns the page with another
    layout."""

    @cache
    def picture() -> SafeString:
        found = draw_diagram(
            labels.reader, row, drawn, labels.lcid, layout, link=labels.address, selected=selected, with_style=False
        )
        return mark_safe(found)  # noqa: S308  drawn by us, with every text escaped

    storage = labels.reader.storage_address
    file = f"{storage}/_api/rest/diagram/{row.version}/render/{labels.lcid}/{layout.value}"
    return DiagramPicture(picture, file_name(name_of(labels.reader, row, labels.lcid)), _ways(layout, address), file)


def file_name(name: str) -> str:
    """Return a name that every file system accepts."""
    return "-".join(re.findall(r"\w+", name))[:LONGEST_FILE_NAME] or "diagram"


def _ways(shown: LayoutKey, address: Callable[[LayoutKey], str]) -> list[Way]:
    texts = {
        LayoutKey.DETAILED: _("Detailed"),
        LayoutKey.VERTICAL: _("Top to bottom"),
        LayoutKey.HORIZONTAL: _("Left to right"),
        LayoutKey.VERTICAL_SWIMLANE: _("Lanes side by side"),
        LayoutKey.HORIZONTAL_SWIMLANE: _("Lanes below each other"),
        LayoutKey.GRAPHIC: _("As drawn"),
        LayoutKey.PROCESS_MATRIX: _("Matrix"),
    }
    return [Way(text, address(layout), layout is shown) for layout, text in texts.items()]
