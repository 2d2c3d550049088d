"""Texts in pictures: how wide they are, how they break into lines, and what of them may stand in XML.

SVG does not wrap texts, and the server has no fonts: widths are those of Arial and its metric twins, in thousandths of
the size of the font, and estimates for what these do not have.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

FONT_SIZE, LINE_HEIGHT = 13, 16
ELLIPSIS = "…"
SOFT_HYPHEN = "\u00ad"
# Longer names are cut anyway; looking at all of a text of a million characters would take its time.
LOOKED_AT = 2_000

_ASCII = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_OTHERS = {"ß": 611, "æ": 889, "Æ": 1000, "œ": 944, "Œ": 1000, "ø": 611, "Ø": 778, "€": 556, ELLIPSIS: 1000, "–": 556}
_UPPER_CASE, _LOWER_CASE, _WIDE, _UNKNOWN = 722, 600, 1000, 700
# Not allowed in XML 1.0, whatever it is escaped as.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_PIECES = re.compile(f"[^-/{SOFT_HYPHEN}]*(?:[-/{SOFT_HYPHEN}]+|$)")
_JOINER = "\u200d"
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
# Letters that sound as one, and how far a break may move for the sake of a syllable.
_CLUSTERS = frozenset({"ch", "ck", "ph", "th", "qu", "st", "sp"})
SYLLABLE = 7


def clean(text: str) -> str:
    """With line breaks of one kind, and without what XML cannot hold."""
    return _FORBIDDEN.sub(" ", _LINE_BREAKS.sub("\n", text))


def width_of(text: str) -> int:
    """In pixels, rounded up."""
    return -(-sum(map(_units, text)) * FONT_SIZE // 1000)


@cache
def _units(character: str) -> int:
    code = ord(character)
    if 32 <= code < 127:
        return _ASCII[code - 32]
    if character in _OTHERS:
        return _OTHERS[character]
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    base = unicodedata.normalize("NFD", character)[0]
    if base != character:
        return _units(base)
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return _WIDE
    return {"Lu": _UPPER_CASE, "Ll": _LOWER_CASE}.get(unicodedata.category(character), _UNKNOWN)


def wrap(text: str, width: int, most: int) -> list[str]:
    """In lines of about the same length, none wider than `width`; what does not fit into `most` lines ends in …"""
    looked_at = clean(text[:LOOKED_AT])
    lines = list(_fill(looked_at, width))
    if len(lines) > most:
        return [*lines[: most - 1], _cut(f"{lines[most - 1]} {lines[most]}", width)]
    if len(text) > LOOKED_AT and lines:
        return [*lines[:-1], _cut(lines[-1] + ELLIPSIS, width)]
    return _evened(looked_at, lines, width)


def _evened(text: str, lines: list[str], width: int) -> list[str]:
    """As many lines, but none nearly empty after a full one."""
    least = max(map(width_of, lines), default=0) * 6 // 10
    for narrower in range(least, width, 6):
        tried = list(_fill(text, narrower))
        # Not at the price of a further hyphen.
        if len(tried) == len(lines) and _letters(tried) == _letters(lines):
            return tried
    return lines


def _letters(lines: Sequence[str]) -> int:
    return len("".join(lines).replace(" ", ""))


def _fill(text: str, width: int) -> Iterator[str]:
    for paragraph in text.split("\n"):
        line = ""
        for piece, is_joined in _pieces(paragraph):
            longer = line + piece if is_joined or not line else f"{line} {piece}"
            if width_of(_shown(longer)) <= width:
                line = longer
                continue
            if line:
                yield _shown(line)
            *parts, line = _broken(piece, width)
            yield from parts
        if line:
            yield _shown(line)


def _shown(line: str) -> str:
    """A soft hyphen shows at the end of a line only."""
    shown = line.replace(SOFT_HYPHEN, "")
    return f"{shown}-" if line.endswith(SOFT_HYPHEN) else shown


def _pieces(paragraph: str) -> Iterator[tuple[str, bool]]:
    """Words, and parts of words that a line may end after; each with whether it is joined to the one before."""
    for word in paragraph.split():
        is_joined = False
        for piece in filter(None, _PIECES.findall(word)):
            yield piece, is_joined
            is_joined = True


def _broken(word: str, width: int) -> list[str]:
    """A word that is too long for a line, in parts; with hyphens where that is how its letters are written."""
    parts = []
    while width_of(_shown(word)) > width:
        end = _longest(word, width - width_of("-"))
        if end >= len(word):
            break
        end = _syllable(word, end)
        parts.append(f"{_shown(word[:end])}{'-' if _takes_hyphen(word[end - 1]) else ''}")
        word = word[end:]
    return [*parts, word]


def _takes_hyphen(character: str) -> bool:
    return character.isalpha() and unicodedata.east_asian_width(character) not in ("W", "F")


def _syllable(word: str, end: int) -> int:
    """Where a syllable may begin, at `end` or shortly before: at a consonant with a vowel after it. A guess that is
    often right in the languages that have long words, and harmless in the others."""
    for place in range(end, max(end - SYLLABLE, 2), -1):
        following = word[place + 1 : place + 2]
        is_start = word[place].isalpha() and not _is_vowel(word[place]) and bool(following) and _is_vowel(following)
        if is_start and word[place - 1 : place + 1].lower() not in _CLUSTERS:
            return place
    return end


def _is_vowel(character: str) -> bool:
    return unicodedata.normalize("NFD", character)[0].lower() in "aeiouy"


def _longest(text: str, width: int) -> int:
    """How many characters fit, one at least; what belongs to the character before it stays with that."""
    room, end = width * 1000, 0
    while end < len(text) and room >= _units(text[end]) * FONT_SIZE:
        room -= _units(text[end]) * FONT_SIZE
        end += 1
    if end == len(text):
        return end
    while end and _clings(text, end):
        end -= 1
    return end or next((place for place in range(1, len(text)) if not _clings(text, place)), len(text))


def _clings(text: str, place: int) -> bool:
    """Whether a character belongs to the one before it: accents, tones of skin, and what is joined to one picture."""
    character = text[place]
    is_mark = unicodedata.category(character) in ("Mn", "Me", "Mc") or character in _SKIN_TONES
    return is_mark or _JOINER in text[place - 1 : place + 1]


def _cut(line: str, width: int) -> str:
    end = _longest(line, width - width_of(ELLIPSIS))
    found = line[:end].rstrip(" -,;:.") + ELLIPSIS
    # Beside what cannot be parted there may be no room for it.
    return found if width_of(found) <= width else ELLIPSIS
