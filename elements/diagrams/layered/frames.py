"""Values of the layout: shapes as boxes, turned so that the flow always leads down, and lines between them.

"Across" is from left to right and "along" from top to bottom in a vertical picture; in a horizontal one it is the other
way round, which only `layout.py` knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

Point = tuple[int, int]


class Outline(Enum):
    """Shape of the side of a figure that arrows meet; it decides where an arrow beside the middle ends."""

    STRAIGHT = "straight"
    POINTED = "pointed"
    ROUND = "round"


@dataclass(frozen=True, slots=True)
class Port:
    """Place beside the axis where the arrows of an attached shape leave: its offset, and its depth along the flow."""

    offset: int
    depth: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Extent of a shape, measured from the middle of its figure. A label may extend it on one side."""

    before: int
    after: int
    above: int
    below: int
    half_across: int
    half_along: int
    outline: Outline
    ports: Mapping[str, Port] = field(default_factory=dict)

    def has_free_side(self, side: int) -> bool:
        """Whether the figure itself, not its label, is outermost on this side; side -1 is before, 1 after."""
        return (self.before if side < 0 else self.after) == self.half_across

    def depth_at(self, offset: int) -> int:
        """Return how far the figure extends along the flow, at an offset from its axis."""
        offset = min(abs(offset), self.half_across)
        if self.outline is Outline.POINTED:
            return self.half_along - offset * self.half_along // self.half_across
        if self.outline is Outline.ROUND:
            return math.isqrt(max(0, self.half_along**2 - offset**2))
        return self.half_along


@dataclass(frozen=True, slots=True)
class Polyline:
    """An arrow as a list of corners, from the border of one figure to that of another."""

    source: int
    target: int
    is_back: bool
    points: tuple[Point, ...]
    number: int = 0
    """Place of the arrow among those that were given."""


@dataclass(frozen=True, slots=True)
class LayoutPart:
    """Layout of a connected part of a diagram from (0, 0): the middles of its figures, its lines and its size."""

    middles: list[Point]
    lines: list[Polyline]
    across: int
    along: int
