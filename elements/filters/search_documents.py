"""Searched words of versions that are imported (D560).

Pure; `elements_search_texts` does the same in the database. A value that is rare in texts is left to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from elements.filters.words import LONGEST_WORD

# Letters that are so frequent that a text with no others outside ASCII is read here.
FREQUENT = (("ä", "a"), ("ö", "o"), ("ü", "u"), ("ß", "ss"), ("Ä", "a"), ("Ö", "o"), ("Ü", "u"), ("é", "e"))
LONGEST = 200_000
FOLDED = {code: chr(code).lower() if chr(code).isalnum() or chr(code) == "\n" else " " for code in range(128)}
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+)?")
DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
MARKUP, WORD_IN_MARKUP = re.compile("<[^>]*>|&[a-z]+;"), re.compile("<[^>]{3}|&")
LONGEST_MARKUP = 2_000
COMMON = {
    "xml", "version", "encoding", "utf", "div", "span", "strong", "table", "thead", "tbody", "amp", "nbsp", "quot",
}  # fmt: skip


class _ForDatabase(Exception):
    """The value is one of those that only the database reads."""


def search_document(attributes: Mapping[str, Mapping[str, Any]]) -> tuple[str, str] | None:
    """Return the names and the other texts of a version; None for one that the database has to read."""
    names, texts, marked = list[str](), list[str](), list[str]()
    try:
        # The order of keys in the database.
        for key in sorted(attributes, key=_place):
            for culture in sorted(attributes[key], key=_place):
                for text in _texts_of(attributes[key][culture]):
                    if key == "name":
                        names.append(_line(text, marked))
                    elif not DATE.fullmatch(text):
                        texts.append(_line(text, marked))
        return _folded(names), _folded(texts) + _words_of_markup(marked)
    except _ForDatabase:
        return None


@lru_cache(1_000)
def _place(key: str) -> tuple[int, str]:
    if not key.isascii():
        raise _ForDatabase
    return len(key), key


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        raise _ForDatabase


def _line(text: str, marked: list[str]) -> str:
    """Return a text without its markup, and note it if words are part of that (D408)."""
    if "<?xml" in text:
        rest = text.removeprefix(DECLARATION)
        # Each tag that does not end would be searched to the end of the text.
        is_open = rest.rfind("<") > rest.rfind(">")
        if len(rest) == len(text) or "<?xml" in rest or "&#" in rest or is_open:
            raise _ForDatabase
        if WORD_IN_MARKUP.search(rest):
            marked.append(text)
        text = MARKUP.sub(" ", text)
    return text.replace("\n", " ")


def _words_of_markup(marked: list[str]) -> str:
    markup = " ".join(" ".join(MARKUP.findall(text)) for text in marked)
    if len(markup) > LONGEST_MARKUP:
        return " … \n"
    words = {word for word in _folded([markup]).split() if len(word) > 2} - COMMON
    return f" {' '.join(f'<{word}' for word in sorted(words))} \n" if words else ""


def _folded(lines: list[str]) -> str:
    if not lines:
        return ""
    text = " \n ".join(lines)
    if len(text) > LONGEST:
        raise _ForDatabase
    if not text.isascii():
        for letter, plain in FREQUENT:
            text = text.replace(letter, plain)
        if not text.isascii():
            raise _ForDatabase
    words = [word for word in text.translate(FOLDED).split(" ") if word]
    if max(map(len, words), default=0) > LONGEST_WORD:
        raise _ForDatabase
    return f"\n {' '.join(words)} \n"
