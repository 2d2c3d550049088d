"""Search texts (D382). Pure: reads words, phrases, exclusions and the unfinished last word."""

from __future__ import annotations

import re
from dataclasses import dataclass

from elements.filters.words import runs_of, words_at_start, words_inside, words_of
from repository_site.core.problems import Unreadable

MAX_LENGTH, MAX_WORDS = 200, 10
PART = re.compile(r'(-?)(?:"([^"]*)("?)|([^\s"]+))')


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A word, or a phrase of several. The last word of the text may be unfinished."""

    words: tuple[str, ...]
    is_prefix: bool = False
    is_excluded: bool = False

    @property
    def is_phrase(self) -> bool:
        return len(self.words) > 1


@dataclass(frozen=True, slots=True)
class SearchText:
    parts: tuple[SearchPart, ...]
    typed: str = ""
    """The text itself, without blanks around it."""

    @property
    def wanted(self) -> tuple[SearchPart, ...]:
        return tuple(each for each in self.parts if not each.is_excluded)

    @property
    def words(self) -> list[str]:
        """All wanted words in their order."""
        return [word for each in self.wanted for word in each.words]

    @property
    def names(self) -> tuple[str, str]:
        """The lines of a document for a name that is the text, and for names that begin with it."""
        plain = self.typed if len(self.wanted) == len(self.parts) else " ".join(self.words)
        return f"\n {' '.join(words_of(plain))} \n", f"\n {' '.join(words_at_start(plain))}"


def read_text(given: str) -> SearchText:
    """Return the parts of a search text. Raise Unreadable if it is too long or only excludes."""
    # The database has no NUL, which separates words like any other sign.
    given = given.replace("\0", " ")
    if len(given) > MAX_LENGTH:
        raise Unreadable(f"q: expected at most {MAX_LENGTH} characters, not {len(given)}.")
    parts = [_part(found, is_last=found.end() == len(given)) for found in PART.finditer(given)]
    # Signs alone are not words.
    kept = tuple(dict.fromkeys(each for each in parts if each.words))
    # Pairs of characters are words of the index, but not of people.
    if (count := len({*runs_of(given)})) > MAX_WORDS:
        raise Unreadable(f"q: expected at most {MAX_WORDS} words, not {count}.")
    if kept and all(each.is_excluded for each in kept):
        raise Unreadable("q: expected at least one word to find, besides the excluded ones.")
    return SearchText(kept, given.strip())


def _part(found: re.Match[str], *, is_last: bool) -> SearchPart:
    minus, quoted, _, plain = found.groups()
    # A word with signs in it, such as ISO-9001, is a phrase; so is a run of pairs.
    words = tuple(words_inside(plain if quoted is None else quoted))
    return SearchPart(words, is_prefix=is_last and quoted is None and not minus, is_excluded=bool(minus))
