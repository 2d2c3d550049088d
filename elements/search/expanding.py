"""Words of a storage that a word of a search text finds (D382): inflected forms, and words that begin with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.functional import cached_property

from elements.search.queries import SearchPart, SearchText
from repository_site.core.database.statements import fetch
from storage.localisation.cultures import language_of

STEMMERS = {"de": "pg_catalog.german_stem", "en": "pg_catalog.english_stem"}
# Limits: forms of a word, words that begin with a text, and rows of postings that are counted for a word.
MOST_FORMS, MOST_BEGINNINGS, MOST_COUNTED = 100, 200, 1_000
# Words of texts of files begin with this sign in the index (D447).
IN_FILE = "@"
# Stems are found separately: row-level security keeps a condition that computes them from using the index.
BEGINNING = f"""(SELECT x.word FROM elements_searchword x
            WHERE starts_with(x.word, %s::text) AND x.stem = x.word ORDER BY x.word LIMIT {MOST_BEGINNINGS})"""  # noqa: S608  constants
EXPAND = f"""WITH given AS MATERIALIZED (
        SELECT g.term, g.place FROM unnest(%s::text[]) WITH ORDINALITY AS g(term, place)),
    lexemes AS MATERIALIZED (SELECT g.place, ts_lexize(c.name::regdictionary, g.term) AS found
        FROM given g CROSS JOIN unnest(%s::text[]) AS c(name)),
    stems AS MATERIALIZED (SELECT g.place, g.term AS stem FROM given g
        UNION SELECT l.place, s.stem FROM lexemes l CROSS JOIN LATERAL unnest(l.found) AS s(stem)),
    signed AS MATERIALIZED (SELECT s.place, g.sign || s.stem AS stem FROM stems s
        CROSS JOIN unnest(ARRAY['', '{IN_FILE}']) AS g(sign)),
    words AS MATERIALIZED (SELECT s.place, f.word FROM signed s CROSS JOIN LATERAL (
            SELECT x.word FROM elements_searchword x WHERE x.stem = s.stem LIMIT {MOST_FORMS}) f
        UNION SELECT %s::bigint, b.word FROM ({BEGINNING} UNION ALL {BEGINNING}) b WHERE %s::bigint > 0)
    SELECT w.place, w.word, n.size FROM words w CROSS JOIN LATERAL (
        SELECT coalesce(sum(q.size), 0)::bigint AS size FROM (SELECT p.size
            FROM elements_searchposting p WHERE p.word = w.word LIMIT {MOST_COUNTED}) q) n
    UNION ALL SELECT l.place, '', 0 FROM lexemes l WHERE l.found = '{{}}'"""  # noqa: S608  constants


@dataclass(slots=True)
class Forms:
    """Words of the storage for one word of a search text, with the number of versions that have had them. Rows of very
    frequent words are not counted to the end, which is enough to find the rarest word."""

    sizes: dict[str, int] = field(default_factory=dict)
    in_files: dict[str, int] = field(default_factory=dict)
    """The same for texts of files, without the sign."""
    is_stop_word: bool = False

    def add(self, word: str, size: int) -> None:
        if word.startswith(IN_FILE):
            self.in_files[word.removeprefix(IN_FILE)] = size
        else:
            self.sizes[word] = size

    @property
    def is_cut(self) -> bool:
        return max(len(self.sizes), len(self.in_files)) >= MOST_BEGINNINGS


@dataclass(frozen=True)
class Expanded:
    """A search text with the forms of its words, by their places."""

    text: SearchText
    forms: Mapping[str, Forms]
    beginning: str
    """The unfinished last word, or empty."""

    def of(self, part: SearchPart) -> Forms:
        return self.forms[part.words[-1]]

    @property
    def parts(self) -> Sequence[SearchPart]:
        """Wanted parts, without stop words unless there is nothing else."""
        wanted = self.text.wanted
        return [each for each in wanted if each.is_phrase or not self.of(each).is_stop_word] or wanted

    def candidates(self, part: SearchPart) -> Mapping[str, int]:
        """Return words, with their sizes, of which every match of a part has at least one."""
        return self._candidates(part, {word: each.sizes for word, each in self.forms.items()})

    def candidates_in_files(self, part: SearchPart) -> Mapping[str, int]:
        """Return the same for texts of files."""
        return self._candidates(part, {word: each.in_files for word, each in self.forms.items()})

    def _candidates(self, part: SearchPart, sizes: Mapping[str, Mapping[str, int]]) -> Mapping[str, int]:
        if not part.is_phrase:
            return sizes[part.words[0]]
        whole = part.words[:-1] if part.is_prefix else part.words
        rarest = min(whole, key=lambda word: sizes[word].get(word, 0))
        return {word: size for word, size in sizes[rarest].items() if word == rarest}

    def patterns(self, part: SearchPart) -> list[str]:
        """Return the LIKE patterns of a part. Words have no characters that are special in LIKE."""
        end = "" if part.is_prefix else " "
        if part.is_phrase:
            return [f"% {' '.join(part.words)}{end}%"]
        word = part.words[0]
        forms = [f"% {each} %" for each in self.of(part).sizes if not (part.is_prefix and each.startswith(word))]
        return [f"% {word}{end}%", *(each for each in forms if each != f"% {word} %")]

    def matches(self, word: str) -> bool:
        """Return whether a word of a text is to be marked."""
        return word in self.marked or bool(self.beginning and word.startswith(self.beginning))

    @cached_property
    def marked(self) -> Collection[str]:
        found: set[str] = set()
        for part in self.parts:
            forms = self.of(part)
            found.update(part.words if part.is_phrase else {*part.words, *forms.sizes, *forms.in_files})
        return found


def expand(text: SearchText, cultures: Collection[int]) -> Expanded:
    words = list(dict.fromkeys(word for part in text.parts for word in part.words))
    last = next((part for part in text.parts if part.is_prefix), None)
    beginning = last.words[-1] if last else ""
    stemmers = sorted({STEMMERS[name] for name in map(language_of, cultures) if name in STEMMERS})
    place = words.index(beginning) + 1 if beginning else 0
    forms = {word: Forms() for word in words}
    values = [words, stemmers, place, beginning, IN_FILE + beginning, place]
    for number, word, size in fetch(EXPAND, values) if words else ():
        found = forms[words[number - 1]]
        if word:
            found.add(word, size)
        else:
            found.is_stop_word = True
    return Expanded(text, forms, beginning)
