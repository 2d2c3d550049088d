"""Placement of unconnected parts of a diagram side by side, and of shapes without arrows in a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence

from elements.diagrams.layered.frames import Frame, LayoutPart, Point

# Distances between parts, and between the shapes of a grid.
PART_ROOM, GRID_ROOM = 56, 28
# Minimum width of a row of parts before another begins.
ROW = 1_400
# Minimum number of shapes in a row of a grid.
IN_ROW = 4


def pack(parts: Sequence[LayoutPart]) -> tuple[list[Point], int, int]:
    """Return the start of each part and the total size: in rows, from the first to the last."""
    area = sum((part.across + PART_ROOM) * (part.along + PART_ROOM) for part in parts)
    limit = max(ROW, math.isqrt(area), *(part.across for part in parts)) if parts else ROW
    places: list[Point] = []
    across = along = right = down = 0
    for part in parts:
        if right and right + part.across > limit:
            right, down = 0, along + PART_ROOM
        places.append((right, down))
        right += part.across + PART_ROOM
        across = max(across, right - PART_ROOM)
        along = max(along, down + part.along)
    return places, across, along


def grid(frames: Sequence[Frame], *, along_first: bool) -> LayoutPart:
    """Return positions in cells of one size, about as wide as high. `along_first` fills the grid along the flow, from
    left to right if the flow leads there."""
    before = max(frame.before for frame in frames)
    above = max(frame.above for frame in frames)
    cell_across = before + max(frame.after for frame in frames) + GRID_ROOM
    cell_along = above + max(frame.below for frame in frames) + GRID_ROOM
    first, second = (cell_along, cell_across) if along_first else (cell_across, cell_along)
    in_row = min(len(frames), max(IN_ROW, round(math.sqrt(len(frames) * second / first))))
    middles = []
    for number in range(len(frames)):
        places = (number // in_row, number % in_row)
        across, along = places if along_first else places[::-1]
        middles.append((before + across * cell_across, above + along * cell_along))
    rows = -(-len(frames) // in_row)
    across, along = (rows, in_row) if along_first else (in_row, rows)
    return LayoutPart(middles, [], across * cell_across - GRID_ROOM, along * cell_along - GRID_ROOM)
