"""Texts in pictures: their width, their line breaks, and the removal of characters that XML does not allow.

SVG does not wrap text, and the server has no fonts: widths are those of Arial and metric-compatible fonts, in
thousandths of the font size, with estimates for other characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

FONT_SIZE, LINE_HEIGHT = 13, 16
ELLIPSIS = "…"
SOFT_HYPHEN = "\u00ad"
# A shape shows about 200 characters; processing more of each would take long.
LOOKED_AT = 400

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
# XML 1.0 does not allow these characters, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_PIECES = re.compile(f"[^-/{SOFT_HYPHEN}]*(?:[-/{SOFT_HYPHEN}]+|$)")
_JOINER = "\u200d"
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
# Letters that form one sound, and the distance that a break may move for the sake of a syllable.
_CLUSTERS = frozenset({"ch", "ck", "ph", "th", "qu", "st", "sp"})
SYLLABLE = 7


def xml_text(text: str) -> str:
    """Return the text without characters that XML does not allow."""
    return _FORBIDDEN.sub(" ", text)


def clean(text: str) -> str:
    """Return the text with uniform line breaks and without characters that XML does not allow."""
    return xml_text(_LINE_BREAKS.sub("\n", text))


def width_of(text: str) -> int:
    """Return the width in pixels, rounded up."""
    return _pixels(sum(map(_units, text)))


def _pixels(units: int) -> int:
    return -(-units * FONT_SIZE // 1000)


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
    """Break a text into lines of similar length, none wider than `width`; text beyond `most` lines is cut with …"""
    looked_at = clean(text[:LOOKED_AT])
    lines = list(_fill(looked_at, width))
    if len(lines) > most:
        return [*lines[: most - 1], _cut(f"{lines[most - 1]} {lines[most]}", width)]
    if len(text) > LOOKED_AT and lines:
        return [*lines[:-1], _cut(lines[-1] + ELLIPSIS, width)]
    return _evened(looked_at, lines, width)


def _evened(text: str, lines: list[str], width: int) -> list[str]:
    """Keep the number of lines, but avoid a nearly empty one after a full one."""
    least = max(map(width_of, lines), default=0) * 6 // 10
    # A text without any visible character fits into any width.
    for narrower in range(least, width, 6) if least else ():
        tried = list(_fill(text, narrower))
        # Not at the cost of another hyphen.
        if len(tried) == len(lines) and _letters(tried) == _letters(lines):
            return tried
    return lines


def _letters(lines: Sequence[str]) -> int:
    return len("".join(lines).replace(" ", ""))


def _fill(text: str, width: int) -> Iterator[str]:
    for paragraph in text.split("\n"):
        line, units = "", 0
        for piece, is_joined in _pieces(paragraph):
            added = piece if is_joined or not line else f" {piece}"
            longer = units + sum(map(_units, added))
            # A soft hyphen has no width, except at the end of a line.
            if _pixels(longer + (_units("-") if piece.endswith(SOFT_HYPHEN) else 0)) <= width:
                line, units = line + added, longer
                continue
            if line:
                yield _shown(line)
            *parts, line = _broken(piece, width)
            units = sum(map(_units, line))
            yield from parts
        if line:
            yield _shown(line)


def _shown(line: str) -> str:
    """A soft hyphen is visible only at the end of a line."""
    shown = line.replace(SOFT_HYPHEN, "")
    return f"{shown}-" if line.endswith(SOFT_HYPHEN) else shown


def _pieces(paragraph: str) -> Iterator[tuple[str, bool]]:
    """Return words and parts of words after which a line may end, each with whether it is joined to the one before."""
    for word in paragraph.split():
        is_joined = False
        for piece in filter(None, _PIECES.findall(word)):
            yield piece, is_joined
            is_joined = True


def _broken(word: str, width: int) -> list[str]:
    """Split a word that is too long for a line, with hyphens if its script uses them."""
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
    """Only scripts with capital letters hyphenate: Latin, Greek, Cyrillic, Armenian and the like."""
    return character.upper() != character.lower()


def _syllable(word: str, end: int) -> int:
    """Return where a syllable may begin, at `end` or shortly before: at a consonant before a vowel. The guess is often
    right in languages with long words, and harmless in others."""
    for place in range(end, max(end - SYLLABLE, 2), -1):
        following = word[place + 1 : place + 2]
        is_start = word[place].isalpha() and not _is_vowel(word[place]) and bool(following) and _is_vowel(following)
        if is_start and word[place - 1 : place + 1].lower() not in _CLUSTERS:
            return place
    return end


def _is_vowel(character: str) -> bool:
    return unicodedata.normalize("NFD", character)[0].lower() in "aeiouy"


def _longest(text: str, width: int) -> int:
    """Return the number of characters that fit, at least one; combining characters stay with the one before."""
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
    """Whether a character belongs to the one before: accents, skin tones, and joined emoji."""
    character = text[place]
    is_mark = unicodedata.category(character) in ("Mn", "Me", "Mc") or character in _SKIN_TONES
    return is_mark or _JOINER in text[place - 1 : place + 1]


def _cut(line: str, width: int) -> str:
    end = _longest(line, width - width_of(ELLIPSIS))
    found = line[:end].rstrip(" -,;:.") + ELLIPSIS
    # There may be no room for a hyphen beside an indivisible part.
    return found if width_of(found) <= width else ELLIPSIS
