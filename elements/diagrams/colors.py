"""Colours that stay visible and readable for every configured colour of a type (contrast by WCAG 2)."""

from __future__ import annotations

import re
from functools import cache

from elements.contrast import Rgb, channels, contrast

WHITE, DARK = "#FFFFFF", "#1F2933"
UNKNOWN = "#6B7280"
TEXT_CONTRAST, LINE_CONTRAST = 4.5, 3.0


@cache
def tint(color: str) -> str:
    return _hex(_mixed(_rgb(color), (255, 255, 255), 88))


@cache
def line_color(color: str) -> str:
    """Return a colour for lines on white, darkened if necessary."""
    rgb = _rgb(color)
    for share in range(0, 101, 5):
        found = _hex(_mixed(rgb, (0, 0, 0), share))
        if contrast(found, WHITE) >= LINE_CONTRAST:
            return found
    raise AssertionError("black on white is read")


@cache
def text_on(ground: str) -> str:
    """Return the more readable text colour, dark or white; black if neither is readable."""
    known = solid(ground)
    best = max((DARK, WHITE), key=lambda color: contrast(color, known))
    return best if contrast(best, known) >= TEXT_CONTRAST else "#000000"


def solid(color: str) -> str:
    return _hex(_rgb(color))


def _rgb(color: str) -> Rgb:
    """Configured colours are validated; if one slips through, the picture must not break."""
    return channels(color if re.fullmatch("#[0-9A-Fa-f]{6}", color) else UNKNOWN)


def _hex(rgb: Rgb) -> str:
    return "#{:02X}{:02X}{:02X}".format(*rgb)


def _mixed(one: Rgb, other: Rgb, percent: int) -> Rgb:
    red, green, blue = ((a * (100 - percent) + b * percent) // 100 for a, b in zip(one, other, strict=True))
    return red, green, blue
