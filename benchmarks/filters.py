"""What W5 asks for. Each request asks for something else, so that nothing is known from the one before.

How many elements match is about the same in a storage of any size, so that times differ by finding, not by answering.
Only `Contains` finds more where there is more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

BEGIN = datetime(2026, 1, 2, 3, 4, 5)
"""Of the stamps of the sample, which are a second apart."""
# Without a factor in common with any size: every number leads somewhere else.
STRIDE = 7_919
PAGE = 100


@dataclass(frozen=True, slots=True)
class Filters:
    """For a storage of so many elements; `names` are those of its first ones."""

    names: Sequence[str]
    elements: int

    def name_equals(self, number: int) -> str:
        return f"name -eq '{self._name(number)}'"

    def name_starts(self, number: int) -> str:
        """Some eleven elements, in a larger storage by more digits."""
        return f"StartsWith(name, '{self._word(number)} {_digits(number)[: len(str(self.elements)) - 3]}')"

    def name_in(self, number: int) -> str:
        names = ", ".join(f"'{self._name(number + place)}'" for place in (0, 331, 662))
        return f"name -in ({names})"

    def date_range(self, number: int) -> str:
        """As many as a page has."""
        start = BEGIN + timedelta(seconds=number * STRIDE % (self.elements - PAGE))
        return f"changedOn -ge {start.isoformat()} AND changedOn -lt {(start + timedelta(seconds=PAGE)).isoformat()}"

    def name_contains(self, number: int) -> str:
        """Two words of ten end in an r: two in a thousand elements."""
        return f"Contains(name, 'r {_digits(number)[:2]}')"

    def _name(self, number: int) -> str:
        return self.names[number * STRIDE % len(self.names)]

    def _word(self, number: int) -> str:
        return self._name(number).split()[0]


def _digits(number: int) -> str:
    """Those of successive numbers differ from the first digit on: a golden section of all apart."""
    return str(10_000_000 + number * 55_623_059 % 90_000_000)


FILTERS: dict[str, Callable[[Filters, int], str]] = {
    "name -eq": Filters.name_equals,
    "StartsWith": Filters.name_starts,
    "-in": Filters.name_in,
    "date range": Filters.date_range,
    "Contains": Filters.name_contains,
}
# These match a part of the storage, however large. Their totals are known after the first time.
WIDE_FILTERS = {
    "StartsWith, a tenth of all": "StartsWith(name, 'order')",
    "date range, all": f"changedOn -ge {BEGIN.isoformat()}",
}
