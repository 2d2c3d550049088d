"""Readable colours from one chosen colour (WCAG 2.2). Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from elements.contrast import channels, contrast

COLOR = re.compile(r"#[0-9a-f]{6}")
BLACK, WHITE = "#000000", "#ffffff"
# The smallest contrast of text that WCAG allows (1.4.3).
READABLE = 4.5
STEPS = 40
# Grounds of the reader pages, as in `reader.css`.
LIGHT, DARK = ("#ffffff", "#f5f7f9"), ("#12181f", "#1a222b")


@dataclass(frozen=True, slots=True)
class Accent:
    """Colours of links and buttons: the colour itself, the text on it, and a ground for chosen items."""

    color: str
    text: str
    ground: str


def text_on(color: str) -> str:
    """Return white or black. One of them is readable on every colour."""
    return WHITE if contrast(color, WHITE) >= contrast(color, BLACK) else BLACK


def accent_on(color: str, grounds: tuple[str, str]) -> Accent:
    """Return the nearest colours that are readable on light or dark pages."""
    is_light = grounds is LIGHT
    ground = mixed(color, grounds[0], 0.88 if is_light else 0.75)
    shades = (mixed(color, BLACK if is_light else WHITE, step / STEPS) for step in range(STEPS + 1))
    found = next(each for each in shades if all(contrast(each, on) >= READABLE for on in (*grounds, ground)))
    return Accent(found, text_on(found), ground)


def mixed(color: str, other: str, part: float) -> str:
    """Return a colour with a `part` of the other one."""
    pairs = zip(channels(color), channels(other), strict=True)
    return "#" + "".join(f"{round(one * (1 - part) + two * part):02x}" for one, two in pairs)
