"""Similar words of a storage, for a text that finds nothing (D386)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import islice

from elements.search.expanding import Expanded
from repository_site.core.database.statements import fetch

# Words with the same first letter and a similar length that are compared.
MOST_COMPARED = 5_000
ALIKE = f"""SELECT x.word FROM elements_searchword x WHERE x.word >= %s::text AND x.word < %s::text
    AND x.stem = x.word AND length(x.word) BETWEEN %s::int AND %s::int LIMIT {MOST_COMPARED}"""  # noqa: S608  constants
LAST = "\U0010ffff"
# Words of a text that are replaced, words that are tried for each, and other forms of a word that are tested.
MOST_REPLACED, MOST_TRIED, MOST_FORMS = 3, 20, 30
Seen = Callable[[Collection[str]], Collection[str]]
"""Returns those of some words that the caller can find."""


def similar_text(expanded: Expanded, seen: Seen) -> str | None:
    """Return the text with each unknown word replaced by the most similar one; None if one has none. It excludes the
    same words.

    The words of a storage include those of drafts and of private content. Here they are as unknown as words that nobody
    has written: otherwise a missing suggestion would tell that there are any (D389).
    """
    words = expanded.text.words
    forms = {word: [word, *islice(expanded.forms[word].sizes, MOST_FORMS)] for word in words}
    known = seen({each for found in forms.values() for each in found})
    unknown = [word for word, found in forms.items() if not any(each in known for each in found)]
    if not unknown or len(unknown) > MOST_REPLACED:
        return None
    near = {word: _near(word) for word in unknown}
    known = seen({each for found in near.values() for each in found})
    replaced = {word: next((each for each in near[word] if each in known), None) for word in unknown}
    chosen = [replaced.get(word, word) for word in words]
    excluded = [_exclusion(each.words) for each in expanded.text.parts if each.is_excluded]
    return None if None in chosen else " ".join([*map(str, chosen), *excluded])


def _exclusion(words: Sequence[str]) -> str:
    return f'-"{" ".join(words)}"' if len(words) > 1 else f"-{words[0]}"


def _near(word: str) -> list[str]:
    """Return words of the storage with few differences, the most similar first."""
    most = allowed(word)
    if not most:
        return []
    known = fetch(ALIKE, [word[0], word[0] + LAST, len(word) - most, len(word) + most])
    near = sorted({(distance(word, each, most), each) for (each,) in known if each != word})
    return [each for errors, each in near if errors <= most][:MOST_TRIED]


def allowed(word: str) -> int:
    """Return how many errors a word may have: none in short words, in which one error leads to another word."""
    return 0 if len(word) < 4 else 1 if len(word) < 7 else 2


def distance(one: str, other: str, most: int) -> int:
    """Return the number of letters to insert, drop, replace or swap; more than `most` is not counted exactly.

    Letters whose places differ by more than `most` cannot belong together, so only a few of each row are compared.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    size, far = len(other) + 1, most + 1
    before: Sequence[int] = ()
    row: Sequence[int] = [min(index, far) for index in range(size)]
    for place, letter in enumerate(one, 1):
        first, last = max(1, place - most), min(size - 1, place + most)
        earlier, before, row = before, row, [far] * size
        row[0] = min(place, far)
        for index in range(first, last + 1):
            opposite = other[index - 1]
            cost = min(before[index] + 1, row[index - 1] + 1, before[index - 1] + (letter != opposite))
            if place > 1 and index > 1 and letter == other[index - 2] and one[place - 2] == opposite:
                cost = min(cost, earlier[index - 2] + 1)
            row[index] = min(cost, far)
        if min(row[first - 1 : last + 1]) > most:
            return far
    return row[-1]
