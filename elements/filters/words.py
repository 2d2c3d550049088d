"""Words of a text as the search sees them (D380, D388). Pure; the database does the same in `elements_search_fold`."""

from __future__ import annotations

import re
from unicodedata import normalize

from elements.filters.syntax import fold_case

LONGEST_WORD = 40
# Characters between words.
SEPARATORS = (
    r"\u0000-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3"
    r"\u05f3\u05f4\u060c\u061b-\u061f\u066a-\u066d\u06d4\u0964\u0965\u0e3f\u0e4f\u0e5a\u0e5b\u0f08-\u0f14\u104a-\u104f"
    r"\u1360-\u1368\u1680\u17d4-\u17da\u1800-\u180a\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u2e00-\u2e7f\u3000-\u3004"
    r"\u3008-\u3020\u3030\u30a0\u30fb\ue000-\uf8ff\ufff9-\uffff\U0001f000-\U0001faff"
)
# Combining marks, vowel points, soft hyphens and joiners.
DROPPED = re.compile(
    r"[\u0300-\u036f\u00ad\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    r"\u064b-\u065f\u0670\u06d6-\u06dc\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
    r"\ufeff]+"
)
# Scripts without blanks between words: Thai, Lao, Burmese, Khmer, Japanese and Chinese.
UNSPACED = (
    r"\u0e01-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc-\u17ff"
    r"\u3005-\u3007\u3031-\u3035\u303b\u3040-\u309f\u30a1-\u30fa\u30fc-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\U00020000-\U0003ffff"
)
WORD = re.compile(f"[^{SEPARATORS}]+")
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_RUN, _EACH, _ONE = re.compile(f"([{UNSPACED}]+)"), re.compile(f"([{UNSPACED}])"), re.compile(f"[{UNSPACED}]")


def fold(text: str) -> str:
    """Return the text without accents and in one letter case; ß becomes ss."""
    if not text.isascii():
        text = DROPPED.sub("", normalize("NFKD", text)).replace("ß", "ss").replace("ẞ", "ss")
    return fold_case(text)


def runs_of(text: str) -> list[str]:
    """Return the runs of letters and digits of a text in their order, folded."""
    return WORD.findall(fold(text))


def words_of(text: str) -> list[str]:
    """Return the words of a plain text in their order, folded and cut.

    In a script without blanks, each pair of neighbours is a word, so that every part of a run can be found; and so are
    the first and the last character. ABC has the words A, AB, BC and C.
    """
    return [word[:LONGEST_WORD] for run in runs_of(text) for word in _words_of_run(run)]


def _words_of_run(run: str) -> list[str]:
    if run.isascii() or not _ONE.search(run):
        return [run]
    return _EACH.sub(r"\1 \1", _RUN.sub(r" \1 ", run)).split()


def words_at_start(text: str) -> list[str]:
    """Return the words of all texts that begin with a text: its last character may have a neighbour there."""
    words = words_of(text)
    return words[:-1] if len(words) > 1 and _ONE.fullmatch(words[-1]) else words


def words_inside(text: str) -> list[str]:
    """Return the words of all texts that contain a text, also inside a longer run."""
    words = words_at_start(text)
    return words[1:] if len(words) > 1 and _ONE.fullmatch(words[0]) else words
