"""Differences between two versions: values, texts by word, lists by item, diagrams by shape. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from repository_site.core.matching import Effort, EqualPart, equal_parts, longest_ascending

WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# Steps that showing a piece of text takes, compared with visiting a word.
PIECE_EFFORT = 40


class Mark(StrEnum):
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """A missing value is None."""

    old: Any
    new: Any


ByName = Mapping[str, Mapping[str, Any]]
"""Values by attribute and culture."""


def compare_values(old: ByName, new: ByName) -> dict[str, dict[str, ValueDifference]]:
    """Return the values that differ, by attribute and culture, both in ascending order."""
    found: dict[str, dict[str, ValueDifference]] = {}
    for name in sorted({*old, *new}):
        before, after = old.get(name, {}), new.get(name, {})
        for culture in sorted({*before, *after}, key=int):
            pair = before.get(culture), after.get(culture)
            if pair[0] != pair[1]:
                found.setdefault(name, {})[culture] = ValueDifference(*pair)
    return found


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text on both sides, or on one side only."""

    text: str
    mark: Mark = Mark.SAME


@dataclass(frozen=True, slots=True)
class TextDifference:
    """The pieces of `old` and of `new` each make up the whole text of that side."""

    mark: Mark
    old: tuple[Piece, ...]
    new: tuple[Piece, ...]

    @property
    def differs(self) -> bool:
        return self.mark is not Mark.SAME


def compare_texts(old: str, new: str, effort: Effort) -> TextDifference:
    """Compare by word. A text that exceeds the effort differs from the first word that differs to the last."""
    if old == new:
        same = (Piece(old),) if old else ()
        return TextDifference(Mark.SAME, same, same)
    if not old or not new:
        mark = Mark.ADDED if new else Mark.REMOVED
        return TextDifference(
            mark,
            (Piece(old, Mark.REMOVED),) if old else (),
            (Piece(new, Mark.ADDED),) if new else (),
        )
    before, after = WORDS.findall(old), WORDS.findall(new)
    parts = equal_parts(before, after, effort)
    ends = [each for each in parts if _is_at_an_end(each, before, after)]
    # Blanks between two differences belong to them, so that a rewritten passage is one piece.
    shown = [each for each in parts if each in ends or not _is_blank(before, each)]
    if not effort.spend(len(shown) * PIECE_EFFORT):
        shown = ends
    return TextDifference(
        Mark.CHANGED,
        tuple(_pieces(before, [(each.old, each.old + each.size) for each in shown], Mark.REMOVED)),
        tuple(_pieces(after, [(each.new, each.new + each.size) for each in shown], Mark.ADDED)),
    )


def _is_at_an_end(part: EqualPart, before: Sequence[str], after: Sequence[str]) -> bool:
    is_last = (part.old + part.size, part.new + part.size) == (len(before), len(after))
    return is_last or part.old == part.new == 0


def _is_blank(words: Sequence[str], part: EqualPart) -> bool:
    return all(word.isspace() for word in words[part.old : part.old + part.size])


def _pieces(words: Sequence[str], same: Sequence[tuple[int, int]], mark: Mark) -> Iterator[Piece]:
    """Yield the words as pieces; `same` are the ranges on both sides, which may follow each other directly."""
    done = begun = 0
    for start, end in same:
        if start > done:
            if done > begun:
                yield Piece("".join(words[begun:done]))
            yield Piece("".join(words[done:start]), mark)
            begun = start
        done = end
    if done > begun:
        yield Piece("".join(words[begun:done]))
    if done < len(words):
        yield Piece("".join(words[done:]), mark)


@dataclass(frozen=True, slots=True)
class Item:
    """`key` identifies the item, `text` is shown."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class MarkedItem:
    item: Item
    mark: Mark


@dataclass(frozen=True, slots=True)
class ListDifference:
    old: tuple[MarkedItem, ...]
    new: tuple[MarkedItem, ...]

    @property
    def mark(self) -> Mark:
        if all(each.mark is Mark.SAME for each in (*self.old, *self.new)):
            return Mark.SAME
        return Mark.CHANGED if self.old and self.new else Mark.ADDED if self.new else Mark.REMOVED

    @property
    def differs(self) -> bool:
        return self.mark is not Mark.SAME


def compare_lists(old: Sequence[Item], new: Sequence[Item]) -> ListDifference:
    """Mark items that are on both sides in another order as moved."""
    before, after = _places(old), _places(new)
    both = [(place, after[each]) for each, place in before.items() if each in after]
    in_order = longest_ascending(both)
    return ListDifference(
        tuple(_marked(old, {place for place, _ in both}, {place for place, _ in in_order}, Mark.REMOVED)),
        tuple(_marked(new, {place for _, place in both}, {place for _, place in in_order}, Mark.ADDED)),
    )


def _places(items: Sequence[Item]) -> dict[tuple[str, int], int]:
    """Return the place of each item, by its key and the number of its occurrence."""
    seen: Counter[str] = Counter()
    found = {}
    for place, item in enumerate(items):
        seen[item.key] += 1
        found[item.key, seen[item.key]] = place
    return found


def _marked(
    items: Sequence[Item], both: Collection[int], in_order: Collection[int], alone: Mark
) -> Iterator[MarkedItem]:
    for place, item in enumerate(items):
        yield MarkedItem(item, Mark.SAME if place in in_order else Mark.MOVED if place in both else alone)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A shape of a diagram. Its key identifies the element that it shows in all versions (D11)."""

    key: str
    name: Any
    """Name of the element, in one culture or by culture."""
    type: str
    before: frozenset[str] = frozenset()
    """Keys of the preceding shapes."""
    around: tuple[str, str] = ("", "")
    """Keys of the container and of the host."""
    shape: str = ""
    element: str = ""


@dataclass(frozen=True, slots=True)
class ShapeDifference:
    mark: Mark
    old: Drawn | None
    new: Drawn | None
    is_renamed: bool = False
    is_rewired: bool = False
    """The preceding shapes have changed."""
    is_moved: bool = False
    """The container or the host has changed."""


def compare_diagrams(old: Sequence[Drawn], new: Sequence[Drawn]) -> list[ShapeDifference]:
    """Return differences in the order of the new diagram; removed shapes come last."""
    known, found = {each.key: each for each in old}, []
    for shape in new:
        earlier = known.pop(shape.key, None)
        if earlier is None:
            found.append(ShapeDifference(Mark.ADDED, None, shape))
            continue
        is_renamed, is_rewired = earlier.name != shape.name, earlier.before != shape.before
        is_moved = earlier.around != shape.around
        mark = Mark.CHANGED if is_renamed or is_rewired or is_moved else Mark.SAME
        found.append(ShapeDifference(mark, earlier, shape, is_renamed, is_rewired, is_moved))
    return found + [ShapeDifference(Mark.REMOVED, each, None) for each in known.values()]


Flows = Mapping[tuple[str, str], Any]
"""Labels of flows, in one culture or by culture, by the keys of the two shapes."""


@dataclass(frozen=True, slots=True)
class FlowDifference:
    mark: Mark
    ends: tuple[str, str]
    old: Any = None
    new: Any = None


def compare_flows(old: Flows, new: Flows) -> list[FlowDifference]:
    """Return differences in the order of the new diagram; removed flows come last."""
    found = []
    for ends in dict.fromkeys((*new, *old)):
        labels = old.get(ends), new.get(ends)
        if ends not in old:
            mark = Mark.ADDED
        elif ends not in new:
            mark = Mark.REMOVED
        else:
            mark = Mark.SAME if labels[0] == labels[1] else Mark.CHANGED
        found.append(FlowDifference(mark, ends, *labels))
    return found
