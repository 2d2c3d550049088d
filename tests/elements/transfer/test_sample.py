"""Generated elements: always the same, with frequent words and with rare ones (D405)."""

from __future__ import annotations

from collections import Counter

import orjson
import pytest

from elements.demo.sample import sample_lines
from elements.demo.sample_vocabulary import ACTIVITIES, DOCUMENTS, OBJECTS, RARE, RISKS, UNITS, Term
from elements.filters.words import words_of

TERMS = {
    "objects": OBJECTS,
    "activities": ACTIVITIES,
    "documents": DOCUMENTS,
    "units": UNITS,
    "risks": RISKS,
    "rare": RARE,
}
COUNT = 1_000


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_each_term_has_one_translation(terms: tuple[Term, ...]) -> None:
    for words in ([each.english for each in terms], [each.german for each in terms]):
        assert "" not in words
        assert len(set(words)) == len(words)


@pytest.mark.long
def test_words_are_frequent_and_rare() -> None:
    lines = list(sample_lines(COUNT))
    assert lines == list(sample_lines(COUNT))
    assert lines != list(sample_lines(COUNT, seed=1))
    texts = [orjson.loads(line)["attributes"] for line in lines[-COUNT:]]
    for lcid in ("1031", "1033"):
        found = Counter(word for each in texts for word in set(words_of(each["purp"][lcid])))
        assert len(found) > 300
        known = {word for each in RARE for word in words_of(each.german if lcid == "1031" else each.english)}
        rare = {word: found[word] for word in known if word in found}
        assert rare
        # One of 4,000 elements has it; in so few it is at most a coincidence.
        assert max(rare.values()) < 6
    names = Counter(each["name"]["1031"].partition(" ")[0] for each in texts)
    assert names.most_common(1)[0][0] == "Auftragsprüfung"
