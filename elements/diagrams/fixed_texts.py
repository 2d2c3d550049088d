"""Fixed texts of pictures. They are content, in the language of the data culture instead of the interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elements.diagrams.drawables import LayoutKey, MapGroup


@dataclass(frozen=True, slots=True)
class PictureWords:
    empty: str
    too_large: str
    size: str
    roles: str
    systems: str
    inputs: str
    outputs: str
    step: str
    without_lane: str
    without_columns: str
    groups: Mapping[MapGroup, str]
    layouts: Mapping[LayoutKey, str]


ENGLISH = PictureWords(
    "There is nothing in this diagram.",
    "This diagram is too large for a picture.",
    "Shapes: {shapes}, arrows: {arrows}.",
    "Roles",
    "Systems",
    "Inputs",
    "Outputs",
    "Step",
    "Without a role",
    "The steps have neither roles nor systems.",
    {MapGroup.MANAGEMENT: "Management", MapGroup.CORE: "Core", MapGroup.SUPPORT: "Support"},
    {
        LayoutKey.DETAILED: "Detailed",
        LayoutKey.VERTICAL: "Vertical",
        LayoutKey.HORIZONTAL: "Horizontal",
        LayoutKey.VERTICAL_SWIMLANE: "Vertical swimlanes",
        LayoutKey.HORIZONTAL_SWIMLANE: "Horizontal swimlanes",
        LayoutKey.GRAPHIC: "As drawn",
        LayoutKey.PROCESS_MATRIX: "Process matrix",
    },
)
GERMAN = PictureWords(
    "In diesem Diagramm ist nichts.",
    "Dieses Diagramm ist zu groß für ein Bild.",
    "Formen: {shapes}, Pfeile: {arrows}.",
    "Rollen",
    "Systeme",
    "Inputs",
    "Outputs",
    "Schritt",
    "Ohne Rolle",
    "Die Schritte haben weder Rollen noch Systeme.",
    {MapGroup.MANAGEMENT: "Führung", MapGroup.CORE: "Kern", MapGroup.SUPPORT: "Unterstützung"},
    {
        LayoutKey.DETAILED: "Detailliert",
        LayoutKey.VERTICAL: "Senkrecht",
        LayoutKey.HORIZONTAL: "Waagerecht",
        LayoutKey.VERTICAL_SWIMLANE: "Senkrechte Schwimmbahnen",
        LayoutKey.HORIZONTAL_SWIMLANE: "Waagerechte Schwimmbahnen",
        LayoutKey.GRAPHIC: "Wie gezeichnet",
        LayoutKey.PROCESS_MATRIX: "Prozessmatrix",
    },
)


def words_in(language: str) -> PictureWords:
    return GERMAN if language == "de" else ENGLISH
