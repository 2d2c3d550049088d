"""Names as regular expressions that ignore letter case just as the API does (D1), for those who validate elsewhere.

JSON Schema has no flag for that; and whoever ignores case as Python does takes ß for ss, which no flag would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

# No letter beyond has a second form.
END_OF_LETTERS = 0x20000
END_OF_BMP = 0x10000
SYNTAX = frozenset(r"^$\.*+?()[]{}|/")
# Some letters are two or three when case is ignored.
LONGEST = 3


def pattern_of(names: Iterable[str]) -> str:
    """For a text that is one of these names as a whole. `$` would pass over an end of line in some languages."""
    return f"^(?:{'|'.join(_between(name.casefold()) for name in names)})(?![\\s\\S])"


def _between(folded: str) -> str:
    """All texts that are this one when case is ignored: its halves, or a letter that stands for some of both."""
    if len(folded) == 1:
        return _one_of(folded)
    middle = len(folded) // 2
    ways = [_between(folded[:middle]) + _between(folded[middle:])]
    for start, end in _across(middle, len(folded)):
        if folded[start:end] in _forms():
            before = _between(folded[:start]) if start else ""
            ways.append(before + _one_of(folded[start:end]) + (_between(folded[end:]) if end < len(folded) else ""))
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _across(middle: int, length: int) -> Iterator[tuple[int, int]]:
    for start in range(max(middle - LONGEST + 1, 0), middle):
        for end in range(middle + 1, min(start + LONGEST, length) + 1):
            yield start, end


def _one_of(folded: str) -> str:
    letters = [*([folded] if len(folded) == 1 else []), *_forms().get(folded, ())]
    if len(letters) == 1:
        return f"\\{letters[0]}" if letters[0] in SYNTAX else letters[0]
    # In a set, what is beyond would be two signs to some languages.
    is_plain = all(ord(letter) < END_OF_BMP for letter in letters)
    return f"[{''.join(letters)}]" if is_plain else f"(?:{'|'.join(letters)})"


@cache
def _forms() -> dict[str, list[str]]:
    """Letters by what they are when case is ignored, where that is something else."""
    found: dict[str, list[str]] = {}
    for letter in map(chr, range(END_OF_LETTERS)):
        if (folded := letter.casefold()) != letter:
            found.setdefault(folded, []).append(letter)
    return found
