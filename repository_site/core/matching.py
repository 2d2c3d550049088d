"""Parts that two sequences have in common, in the same order, within a limited effort (D182).

Pure. The items that occur once on both sides divide the sequences; what lies between them is compared in the same way.
Only short remainders are compared item by item, because the time for that grows with the cube of their length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

# Largest product of the lengths of two remainders that are compared item by item.
SHORT = 1_000


class EqualPart(NamedTuple):
    """`size` equal items, from index `old` of the one sequence and `new` of the other."""

    old: int
    new: int
    size: int


class Effort:
    """Steps that are left for all comparisons of one page; a step visits one item."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> bool:
        """Return False, and spend nothing, if there are not enough steps left."""
        if steps > self.left:
            return False
        self.left -= steps
        return True


class _Range(NamedTuple):
    old: int
    old_end: int
    new: int
    new_end: int

    @property
    def is_empty(self) -> bool:
        return self.old >= self.old_end or self.new >= self.new_end


def equal_parts(old: Sequence[Hashable], new: Sequence[Hashable], effort: Effort) -> list[EqualPart]:
    """Return what both sequences have in common, in order. Ranges that would exceed the effort have nothing in common,
    except for their beginning and their end."""
    found: list[EqualPart] = []
    waiting = [_Range(0, len(old), 0, len(new))]
    while waiting:
        inner = _without_equal_ends(old, new, waiting.pop(), found)
        if inner.is_empty or not effort.spend(inner.old_end - inner.old + inner.new_end - inner.new):
            continue
        anchors = longest_ascending(_unique_pairs(old, new, inner))
        if anchors:
            waiting += _ranges_between(anchors, inner)
        else:
            _compare_each(old, new, inner, effort, found)
    return _joined(sorted(found))


def longest_ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the most pairs whose second numbers ascend; the first numbers ascend anyway, and no number is repeated."""
    # The least last number of a part of each length, the pair with this number, and the pair before each pair.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(number)
            last.append(index)
        else:
            ends[length], last[length] = number, index
    found = []
    index = last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _without_equal_ends(
    old: Sequence[Hashable], new: Sequence[Hashable], whole: _Range, found: list[EqualPart]
) -> _Range:
    first, last, start, stop = whole
    while first < last and start < stop and old[first] == new[start]:
        first, start = first + 1, start + 1
    while first < last and start < stop and old[last - 1] == new[stop - 1]:
        last, stop = last - 1, stop - 1
    if first > whole.old:
        found.append(EqualPart(whole.old, whole.new, first - whole.old))
    if last < whole.old_end:
        found.append(EqualPart(last, stop, whole.old_end - last))
    return _Range(first, last, start, stop)


def _unique_pairs(old: Sequence[Hashable], new: Sequence[Hashable], inner: _Range) -> list[tuple[int, int]]:
    """Return the places of items that occur once on both sides, in the order of the old side."""
    olds = _places(old, inner.old, inner.old_end)
    news = _places(new, inner.new, inner.new_end)
    return [(place, news[item]) for item, place in olds.items() if place >= 0 and news.get(item, -1) >= 0]


def _places(items: Sequence[Hashable], first: int, last: int) -> dict[Hashable, int]:
    """Return the place of each item, -1 for those that occur several times."""
    found: dict[Hashable, int] = {}
    for place in range(first, last):
        item = items[place]
        found[item] = -1 if item in found else place
    return found


def _ranges_between(anchors: Sequence[tuple[int, int]], inner: _Range) -> list[_Range]:
    """Each range but the first begins with an anchor, which is equal on both sides."""
    starts = [(inner.old, inner.new), *anchors]
    ends = [*anchors, (inner.old_end, inner.new_end)]
    return [_Range(old, old_end, new, new_end) for (old, new), (old_end, new_end) in zip(starts, ends, strict=True)]


def _compare_each(
    old: Sequence[Hashable], new: Sequence[Hashable], inner: _Range, effort: Effort, found: list[EqualPart]
) -> None:
    first, last, start, stop = inner
    work = (last - first) * (stop - start)
    if work <= SHORT and effort.spend(work):
        matcher = SequenceMatcher(None, old[first:last], new[start:stop], autojunk=False)
        found += [EqualPart(first + a, start + b, size) for a, b, size in matcher.get_matching_blocks() if size]


def _joined(parts: Sequence[EqualPart]) -> list[EqualPart]:
    found: list[EqualPart] = []
    for part in parts:
        before = found[-1] if found else None
        if before and (before.old + before.size, before.new + before.size) == (part.old, part.new):
            found[-1] = EqualPart(before.old, before.new, before.size + part.size)
        else:
            found.append(part)
    return found
