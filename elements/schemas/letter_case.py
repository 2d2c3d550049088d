"""Regular expressions for names that ignore letter case exactly as the API does (D1), for validators elsewhere.

JSON Schema has no flag for that. Python's case folding also equates ß and ss, which no flag would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

# No letter beyond this one has a second form.
END_OF_LETTERS = 0x20000
END_OF_BMP = 0x10000
SYNTAX = frozenset(r"^$\.*+?()[]{}|/")
# Some letters become two or three when case is ignored.
LONGEST = 3


def pattern_of(names: Iterable[str]) -> str:
    """Return a pattern that matches exactly these names. `$` would also match before a line break in some languages."""
    return f"^(?:{'|'.join(_between(name.casefold()) for name in names)})(?![\\s\\S])"


def _between(folded: str) -> str:
    """Return all texts that equal this one when case is ignored: combinations of its halves, or a letter that replaces
    a part of both."""
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
    # In a character class, some languages would take a letter beyond this for two characters.
    is_plain = all(ord(letter) < END_OF_BMP for letter in letters)
    return f"[{''.join(letters)}]" if is_plain else f"(?:{'|'.join(letters)})"


@cache
def _forms() -> dict[str, list[str]]:
    """Return letters by their case-folded form, where that differs."""
    found: dict[str, list[str]] = {}
    for letter in map(chr, range(END_OF_LETTERS)):
        if (folded := letter.casefold()) != letter:
            found.setdefault(folded, []).append(letter)
    return found
