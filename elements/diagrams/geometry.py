"""Rectangles and lines as people have drawn them, in the units of their drawing (D270)."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, NamedTuple

# Largest distance from the origin, in either direction; a picture of this size has no use.
FARTHEST = 1_000_000
MOST_POINTS = 1_000
BOUNDS_EXAMPLE = '{"x": 0, "y": 0, "width": 100, "height": 80}'
SIDES = ("x", "y", "width", "height")

Point = tuple[float, float]


class ShapeBounds(NamedTuple):
    """Rectangle of a shape or a lane; x and y are its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    def wire(self) -> dict[str, float]:
        return {name: plain_number(value) for name, value in zip(SIDES, self, strict=True)}


class NotDrawable(ValueError):
    """The text says what was expected."""


def read_bounds(value: Any) -> ShapeBounds:
    """Return bounds in wire form as a value. Raise NotDrawable if they are anything else."""
    if not isinstance(value, dict) or value.keys() != set(SIDES):
        raise NotDrawable(f"expected {BOUNDS_EXAMPLE}")
    bounds = ShapeBounds(*(_number(value[name], name) for name in SIDES))
    for name in ("width", "height"):
        if getattr(bounds, name) < 0:
            raise NotDrawable(f"{name}: expected a number from 0 to {FARTHEST}")
    return bounds


def read_points(value: Any) -> tuple[Point, ...]:
    """Return the points of a line."""
    if not isinstance(value, list) or not 2 <= len(value) <= MOST_POINTS:
        raise NotDrawable(f"expected a list of 2 to {MOST_POINTS} points, such as [[0, 0], [50, 0]]")
    for each in value:
        if not isinstance(each, list) or len(each) != 2:
            raise NotDrawable("expected points of two numbers, such as [50, 0]")
    return tuple((_number(x, "x"), _number(y, "y")) for x, y in value)


def plain_points(points: tuple[Point, ...]) -> list[list[float]]:
    return [[plain_number(x), plain_number(y)] for x, y in points]


def plain_number(value: float) -> float:
    """Return a whole number without a fraction, so that it is written as 100 and not as 100.0."""
    return int(value) if value == int(value) else value


def _number(value: Any, name: str) -> float:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and abs(value) <= FARTHEST:
        # Minus zero would be written as -0.0.
        return float(value) + 0.0
    raise NotDrawable(f"{name}: expected a number from -{FARTHEST} to {FARTHEST}")
