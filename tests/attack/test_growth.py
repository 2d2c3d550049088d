"""Work does not grow much faster than its input; see `growth.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.attack.growth import MARKED, PAGE, Place, grows_too_fast
from tests.attack.hostile_inputs import places

PLACES = {place.name: place for place in places()}
# `make attack` measures inputs of the full sizes, which takes three times as long.
SMALLER = 3


@pytest.mark.long
@pytest.mark.parametrize("name", PLACES)
def test_work_grows_with_its_input(name: str) -> None:
    place = PLACES[name]
    assert not grows_too_fast(replace(place, size=place.size // SMALLER))


@pytest.mark.long
def test_quadratic_work_is_noticed() -> None:
    assert grows_too_fast(Place("", "", 30, range, lambda items: [other for one in items for other in items]))


def test_the_page_lists_every_place() -> None:
    found = MARKED.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    rows = [line.split(" | ")[:2] for line in found[0].splitlines() if line.startswith("| ")][1:]
    assert rows == [[f"| {place.name}", place.bound] for place in PLACES.values()]
