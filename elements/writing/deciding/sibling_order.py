"""Order of the children of a parent (D480): where elements of a request go, and the smallest change of stored keys.

A child is ordered by its position, then by its rank. Two neighbours with successive positions have no number between
them, so an element that moves there gets the position of the first one and a rank after it. So a move writes one row,
however many siblings there are. If there is no rank left between two neighbours, all children are numbered again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from django.utils.translation import gettext as _

from elements.writing.findings import invalid
from elements.writing.planned_changes import PlannedChange

# In the order of their bytes, as the column compares them. No rank ends with the first one, so there is always
# another rank between two.
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MAX_RANK = 100


class Sibling(NamedTuple):
    element: str
    position: int
    rank: str = ""


@dataclass(slots=True)
class ChildOrder:
    """The children of one parent. `next_position` is after all of them, including those that live in its diagram.

    A request counts and names children without those that are `hidden` from its caller.
    """

    stored: Sequence[Sibling]
    next_position: int
    hidden: Collection[str] = ()

    order: list[str] = field(init=False)
    placed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.order = [each.element for each in self.stored]

    def remove(self, element: str) -> None:
        """Take out an element that moves below another parent, or that gets another place."""
        with suppress(ValueError):
            self.order.remove(element)

    def place(self, change: PlannedChange) -> None:
        """Put an element where the request wants it, or after all others."""
        self.remove(change.element)
        self.order.insert(self._number(change), change.element)
        self.placed.add(change.element)

    def _number(self, change: PlannedChange) -> int:
        wanted = change.position
        if wanted is None:
            return len(self.order)
        if wanted.number is not None:
            if not self.hidden:
                return min(wanted.number, len(self.order))
            places = (place for place, each in enumerate(self.order) if each not in self.hidden)
            return next(islice(places, wanted.number, None), len(self.order))
        sibling = wanted.before or wanted.after or ""
        if sibling not in self.order or sibling in self.hidden:
            text = _("%(id)s is not a sibling; name another child of the same parent, or a number")
            raise invalid(f"{change.place}: position", text % {"id": sibling})
        return self.order.index(sibling) + (1 if wanted.after else 0)

    def keys(self) -> dict[str, Sibling]:
        """Return the rows to write, by element: those that were placed, or all if there is no room for them."""
        stored = {each.element: each for each in self.stored}
        here = set(self.order)
        if self.order == [element for element in stored if element in here]:
            return {element: stored[element] for element in self.placed}
        found: dict[str, Sibling] = {}
        for low, run, high in _runs(self.order, self.placed, stored):
            made = self._keys_between(low, run, high)
            if made is None:
                return {element: Sibling(element, number) for number, element in enumerate(self.order)}
            found |= {each.element: each for each in made}
        return found

    def _keys_between(self, low: Sibling | None, run: Sequence[str], high: Sibling | None) -> list[Sibling] | None:
        if high is None:
            return _numbered(run, self.next_position)
        if low is None:
            return _numbered(run, high.position - len(run))
        if high.position - low.position > len(run):
            return _numbered(run, low.position + 1)
        limit = high.rank if high.position == low.position else None
        if limit is not None and limit <= low.rank:
            return None
        ranks = list(ranks_between(low.rank, limit, len(run)))
        if max(map(len, ranks)) > MAX_RANK:
            return None
        return [Sibling(element, low.position, rank) for element, rank in zip(run, ranks, strict=True)]


def _numbered(run: Sequence[str], first: int) -> list[Sibling]:
    return [Sibling(element, first + number) for number, element in enumerate(run)]


def _runs(
    order: Sequence[str], placed: set[str], stored: dict[str, Sibling]
) -> Iterator[tuple[Sibling | None, list[str], Sibling | None]]:
    """Yield successive elements that were placed, with the siblings around them."""
    low: Sibling | None = None
    run: list[str] = []
    for element in order:
        if element in placed:
            run.append(element)
            continue
        if run:
            yield low, run, stored[element]
        low, run = stored[element], []
    if run:
        yield low, run, None


def ranks_between(low: str, high: str | None, number: int) -> Iterator[str]:
    """Yield ascending ranks between two, as short as halving makes them. Without `high`, there is no upper limit."""
    if number:
        middle = rank_between(low, high)
        before = (number - 1) // 2
        yield from ranks_between(low, middle, before)
        yield middle
        yield from ranks_between(middle, high, number - 1 - before)


def rank_between(low: str, high: str | None) -> str:
    """Return a short rank between two. Ranks are fractions: the digits after the point, in base 62."""
    shared = 0
    if high is not None:
        while (low[shared] if shared < len(low) else DIGITS[0]) == high[shared]:
            shared += 1
    prefix, low, high = (high or "")[:shared], low[shared:], None if high is None else high[shared:]
    first = DIGITS.index(low[0]) if low else 0
    last = DIGITS.index(high[0]) if high else len(DIGITS)
    if last - first > 1:
        # Elements are often placed one after the other: small steps keep their ranks short.
        return prefix + DIGITS[first + 1 if low and not high else (first + last) // 2]
    if high and len(high) > 1:
        return prefix + high[0]
    return prefix + DIGITS[first] + rank_between(low[1:], None)
