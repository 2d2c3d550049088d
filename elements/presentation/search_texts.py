"""The text of a search: both searches, in the back office and on the reader pages, look for all its words."""

from __future__ import annotations

MAX_LENGTH, MAX_WORDS = 200, 10


def clean_text(given: str) -> str:
    """Drop characters that cannot be part of a name or of a statement."""
    printable = "".join(character if character.isprintable() else " " for character in given[:MAX_LENGTH])
    return " ".join(printable.split())


def words_of(text: str) -> list[str]:
    return text.split()[:MAX_WORDS]
