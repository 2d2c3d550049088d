"""Filters of W5. Each request asks for something else, so that no total is cached from the request before.

A filter matches about the same number of elements in a storage of any size, so that times differ by finding and not by
rendering. Only `Contains` matches more in a larger storage.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache

import orjson

from elements.sample import BEGIN, sample_lines

STRIDE = 7_919
"""A prime that divides no size, so that successive numbers lead to different places."""
PAGE = 100

NAMES = 1_000


@cache
def _names() -> list[str]:
    """Return the names of the first processes, which are the same in a storage of any size."""
    processes = list(sample_lines(NAMES))[-NAMES:]
    return [orjson.loads(line)["attributes"]["name"]["1033"] for line in processes]


def _name(number: int) -> str:
    return _names()[number * STRIDE % NAMES]


def _digits(number: int) -> str:
    """Return eight digits. Those of successive numbers differ from the first digit on."""
    return str(10_000_000 + number * 55_623_059 % 90_000_000)


def name_starts(number: int, elements: int) -> str:
    """Match some eleven elements: a larger storage gets more digits."""
    return f"StartsWith(name, '{_name(number).split()[0]} {_digits(number)[: len(str(elements)) - 3]}')"


def name_in(number: int, elements: int) -> str:
    return "name -in ({})".format(", ".join(f"'{_name(number + place)}'" for place in (0, 331, 662)))


def date_range(number: int, elements: int) -> str:
    """Match as many elements as a page has."""
    start = BEGIN + timedelta(seconds=number * STRIDE % (elements - PAGE))
    return f"changedOn -ge {start.isoformat()} AND changedOn -lt {(start + timedelta(seconds=PAGE)).isoformat()}"


# Made from the number of the request and the number of elements.
FILTERS: dict[str, Callable[[int, int], str]] = {
    "name -eq": lambda number, elements: f"name -eq '{_name(number)}'",
    "StartsWith": name_starts,
    "-in": name_in,
    "date range": date_range,
    # Two words of ten end in an r, so two elements in a thousand match.
    "Contains": lambda number, elements: f"Contains(name, 'r {_digits(number)[:2]}')",
}
EXPECTED = {"name -eq": 1, "-in": 3, "date range": PAGE}
"""Matches of the filters for which the number is known exactly."""
