"""Filters of W5. Each request asks for something else, so that no total is cached from the request before.

A filter matches about the same number of elements in a storage of any size, so that times differ by finding and not by
rendering. Only `Contains` matches more in a larger storage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

BEGIN = datetime(2026, 1, 2, 3, 4, 5)
"""First time stamp of the generated elements, which are a second apart."""
STRIDE = 7_919
"""A prime that divides no size, so that successive numbers lead to different places."""
PAGE = 100

MakeFilter = Callable[[int, Sequence[str], int], str]
"""Makes a filter from the number of the request, the names of the first elements and the number of all elements."""


def _name(number: int, names: Sequence[str]) -> str:
    return names[number * STRIDE % len(names)]


def _digits(number: int) -> str:
    """Return eight digits. Those of successive numbers differ from the first digit on."""
    return str(10_000_000 + number * 55_623_059 % 90_000_000)


def name_starts(number: int, names: Sequence[str], elements: int) -> str:
    """Match some eleven elements: a larger storage gets more digits."""
    return f"StartsWith(name, '{_name(number, names).split()[0]} {_digits(number)[: len(str(elements)) - 3]}')"


def name_in(number: int, names: Sequence[str], elements: int) -> str:
    return "name -in ({})".format(", ".join(f"'{_name(number + place, names)}'" for place in (0, 331, 662)))


def date_range(number: int, names: Sequence[str], elements: int) -> str:
    """Match as many elements as a page has."""
    start = BEGIN + timedelta(seconds=number * STRIDE % (elements - PAGE))
    return f"changedOn -ge {start.isoformat()} AND changedOn -lt {(start + timedelta(seconds=PAGE)).isoformat()}"


FILTERS: dict[str, MakeFilter] = {
    "name -eq": lambda number, names, elements: f"name -eq '{_name(number, names)}'",
    "StartsWith": name_starts,
    "-in": name_in,
    "date range": date_range,
    # Two words of ten end in an r, so two elements in a thousand match.
    "Contains": lambda number, names, elements: f"Contains(name, 'r {_digits(number)[:2]}')",
}
# These match a part of the storage of any size. Their totals are cached after the first request.
WIDE_FILTERS = {
    "StartsWith, a tenth of all": "StartsWith(name, 'order')",
    "date range, all": f"changedOn -ge {BEGIN.isoformat()}",
}
EXPECTED = {"name -eq": 1, "-in": 3, "date range": PAGE}
"""Matches of the filters for which the number is known exactly."""
