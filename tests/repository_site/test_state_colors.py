"""Colours of states: badges and charts have the same, and both can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from facets.blueprint.cycles import Category
from facets.state_categories import CATEGORY_COLORS, CATEGORY_NAMES

CSS = (Path(__file__).parents[2] / "repository_site/assets/states.css").read_text()
PAIR = re.compile(r"background: light-dark\((#\w{6}), (#\w{6})\); color: light-dark\((#\w{6}), (#\w{6})\)")
LIGHT, DARK = "#ffffff", "#111827"


def test_every_category_has_a_name_and_a_colour() -> None:
    assert set(CATEGORY_NAMES) == set(CATEGORY_COLORS) == set(Category)


def test_the_sheet_has_the_colours_of_the_module() -> None:
    found = dict(re.findall(r"--state-(\w+): (#\w{6});", CSS))
    assert found == {category.value: color for category, color in CATEGORY_COLORS.items()}


@pytest.mark.parametrize("category", list(Category))
def test_charts_stand_out_from_the_page(category: Category) -> None:
    assert min(contrast(CATEGORY_COLORS[category], page) for page in (LIGHT, DARK)) >= 3


def test_badges_can_be_read() -> None:
    pairs = PAIR.findall(CSS)
    assert len(pairs) == 4
    for light_ground, dark_ground, light_text, dark_text in pairs:
        assert contrast(light_ground, light_text) >= 4.5
        assert contrast(dark_ground, dark_text) >= 4.5


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2.2)."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
