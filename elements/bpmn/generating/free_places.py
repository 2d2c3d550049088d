"""Free places beside areas that are taken. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort

from elements.bpmn.document.model import Area

COLUMN = 256
WIDEST = 32
"""Columns that an area covers at most; wider ones are kept apart, since they could cover thousands."""
GAP = 20
# Upper, lower, left and right edge of an area.
Edges = tuple[float, float, float, float]


class TakenRoom:
    """Areas that must not be covered. They are sorted by column and upper edge, so that a search in a diagram of
    thousands of shapes looks only at what is near."""

    def __init__(self) -> None:
        self.left = self.bottom = 0.0
        self.is_empty = True
        self._columns: dict[int, list[Edges]] = {}
        self._wide: list[Edges] = []
        self._tallest = 0.0
        self._found: dict[Area, float] = {}
        """Results of searches. Areas are only added, so that the next search for the same place starts there."""

    def add(self, area: Area) -> None:
        right, bottom = area.x + area.width, area.y + area.height
        self.left = area.x if self.is_empty else min(self.left, area.x)
        self.bottom = bottom if self.is_empty else max(self.bottom, bottom)
        self.is_empty = False
        self._tallest = max(self._tallest, area.height)
        columns = _columns(area.x, right)
        for each in [self._columns.setdefault(key, []) for key in columns] if columns else [self._wide]:
            insort(each, (area.y, bottom, area.x, right))

    def free(self, wanted: Area) -> Area:
        """Return an area, moved down until it covers none that is taken."""
        right, top = wanted.x + wanted.width, self._found.get(wanted, wanted.y)
        columns = _columns(wanted.x, right) or list(self._columns)
        near = [self._wide, *(self._columns[key] for key in columns if key in self._columns)]
        before = None
        while before != top:
            before = top
            for taken in near:
                top = self._below(taken, wanted.x, right, top, wanted.height)
        self._found[wanted] = top
        return Area(wanted.x, top, wanted.width, wanted.height)

    def _below(self, taken: list[Edges], left: float, right: float, top: float, height: float) -> float:
        first = bisect_left(taken, (top - self._tallest,))
        for number in range(first, len(taken)):
            start, end, from_x, to_x = taken[number]
            if start >= top + height:
                break
            if top < end and from_x < right and left < to_x:
                top = end + GAP
        return top


def _columns(left: float, right: float) -> range | None:
    first, last = int(left // COLUMN), int(right // COLUMN)
    return range(first, last + 1) if last - first < WIDEST else None
