"""Differences between two versions: texts by word, lists by item, diagrams by shape. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# A text that needs more comparisons is compared by lines, and if that is still too much, as a whole.
MOST_WORK = 1_000_000


class Mark(StrEnum):
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


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


def compare_texts(old: str, new: str) -> TextDifference:
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
    before, after = _split(old, new)
    left: list[Piece] = []
    right: list[Piece] = []
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for place, (tag, first, last, start, stop) in enumerate(codes):
        # Blanks between two differences belong to them, so that a rewritten passage is one piece.
        is_between = 0 < place < len(codes) - 1 and not "".join(before[first:last]).strip()
        is_same = tag == "equal" and not is_between
        _add(left, "".join(before[first:last]), Mark.SAME if is_same else Mark.REMOVED)
        _add(right, "".join(after[start:stop]), Mark.SAME if is_same else Mark.ADDED)
    return TextDifference(Mark.CHANGED, tuple(left), tuple(right))


def _split(old: str, new: str) -> tuple[list[str], list[str]]:
    for split in (WORDS.findall, lambda text: text.splitlines(keepends=True)):
        before, after = split(old), split(new)
        if len(before) * len(after) <= MOST_WORK:
            return before, after
    return [old], [new]


def _add(pieces: list[Piece], text: str, mark: Mark) -> None:
    """Join a text with the piece before it if both have the same mark."""
    if not text:
        return
    if pieces and pieces[-1].mark is mark:
        pieces[-1] = Piece(pieces[-1].text + text, mark)
    else:
        pieces.append(Piece(text, mark))


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
    in_order = _in_order([each.key for each in old], [each.key for each in new])
    return ListDifference(
        tuple(_marked(old, Counter(each.key for each in new), in_order, Mark.REMOVED)),
        tuple(_marked(new, Counter(each.key for each in old), in_order, Mark.ADDED)),
    )


def _in_order(old: Sequence[str], new: Sequence[str]) -> Counter[str]:
    """Return the keys that have the same order on both sides."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return Counter(key for start, _, size in matcher.get_matching_blocks() for key in old[start : start + size])


def _marked(items: Sequence[Item], others: Counter[str], in_order: Counter[str], alone: Mark) -> Iterator[MarkedItem]:
    left, kept = others.copy(), in_order.copy()
    for item in items:
        if left[item.key] <= 0:
            yield MarkedItem(item, alone)
            continue
        left[item.key] -= 1
        kept[item.key] -= 1
        yield MarkedItem(item, Mark.SAME if kept[item.key] >= 0 else Mark.MOVED)


@dataclass(frozen=True, slots=True)
class ComparedRow:
    label: str
    difference: TextDifference | ListDifference


@dataclass(frozen=True, slots=True)
class Drawn:
    """A shape of a diagram. Its key identifies the element that it shows in all versions (D11)."""

    key: str
    name: str
    type: str
    before: frozenset[str] = frozenset()
    """Keys of the preceding shapes."""


@dataclass(frozen=True, slots=True)
class ShapeDifference:
    mark: Mark
    old: Drawn | None
    new: Drawn | None
    is_renamed: bool = False
    is_rewired: bool = False
    """The preceding shapes have changed."""


def compare_diagrams(old: Sequence[Drawn], new: Sequence[Drawn]) -> list[ShapeDifference]:
    """Return differences in the order of the new diagram; removed shapes come last."""
    known, found = {each.key: each for each in old}, []
    for shape in new:
        earlier = known.pop(shape.key, None)
        if earlier is None:
            found.append(ShapeDifference(Mark.ADDED, None, shape))
            continue
        is_renamed, is_rewired = earlier.name != shape.name, earlier.before != shape.before
        mark = Mark.CHANGED if is_renamed or is_rewired else Mark.SAME
        found.append(ShapeDifference(mark, earlier, shape, is_renamed, is_rewired))
    return found + [ShapeDifference(Mark.REMOVED, each, None) for each in known.values()]
