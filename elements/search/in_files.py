"""Texts of files in a search (D447, D448): the files with a word, the versions that have them, and excerpts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from elements.search.expanding import IN_FILE, Expanded
from elements.search.queries import SearchPart
from elements.search.visibility import Searchable
from repository_site.core.database.statements import fetch, id_array, text_array
from storage.localisation.cultures import INVARIANT_CULTURE

# Files with the rarest word that are followed; uses of all of them, also by old versions, and files of other words.
MOST_FILES, MOST_USES = 2_000, 20_000
# Texts of a version that are looked at for its excerpt, of those that have one of the words.
MOST_TEXTS = 5
# The text of a content never changes, so postings decide. A content that was removed has no text any more.
POSTED = """SELECT u.file FROM (SELECT p.versions FROM elements_searchposting p
        WHERE p.word = ANY(%s::text[]) LIMIT {most}) q
    CROSS JOIN LATERAL unnest(q.versions) AS u(file) LIMIT {most}"""
RAREST, HAS_WORD = POSTED.format(most=MOST_FILES), f"c.file IN ({POSTED.format(most=MOST_USES)})"
HAS_PHRASE = "(SELECT strpos(w.words, %s::text) > 0 FROM elements_searchfile w WHERE w.id = c.file LIMIT 1)"
# Parts of the statement that finds versions. Each LATERAL with a limit is one index look-up.
FILES = f"""
    filed AS MATERIALIZED (SELECT c.file, {{parts}} FROM (SELECT DISTINCT o.file FROM ({RAREST}) o) c),
    uses AS MATERIALIZED (SELECT u.version_id AS version, u.attribute, {{flags}} FROM filed c
        CROSS JOIN LATERAL (SELECT t.digest FROM storage_filetext t WHERE t.id = c.file LIMIT 1) t
        CROSS JOIN LATERAL (SELECT f.id FROM storage_storedfile f WHERE f.digest = t.digest LIMIT {MOST_USES}) f
        CROSS JOIN LATERAL (SELECT u.version_id, u.attribute FROM elements_versionfile u
            WHERE u.file_id = f.id LIMIT {MOST_USES}) u LIMIT {MOST_USES}),"""  # noqa: S608  constants
# The attribute must be one that the caller sees.
LINKED = """
            UNION ALL SELECT c.version, TRUE, {flags} FROM uses c {element}
                JOIN unnest(%s::uuid[], %s::text[]) AS a(type, attribute)
                    ON a.type = e.type_id AND a.attribute = c.attribute"""
AROUND = """
                UNION ALL SELECT TRUE, {parts} FROM (SELECT t.id AS file FROM elements_versionfile u
                    JOIN storage_storedfile f ON f.id = u.file_id JOIN storage_filetext t ON t.digest = f.digest
                    JOIN unnest(%s::uuid[], %s::text[]) AS a(type, attribute)
                        ON a.type = o.type_id AND a.attribute = u.attribute
                    WHERE u.version_id = o.version LIMIT {{most}}) c"""
COUNTS = """
    UNION ALL SELECT 7, '', '', count(*) FROM filed
    UNION ALL SELECT 8, '', '', count(*) FROM uses"""
Sql = tuple[str, list[Any]]
EXCERPTS = f"""SELECT h.version::text, x.attribute, x.culture, x.id, x.name, x.line
    FROM unnest(%s::uuid[], %s::uuid[]) AS h(version, type) CROSS JOIN LATERAL (
        SELECT w.attribute, w.id::text AS id, w.name, split_part(w.text, E'\\n', (l.place - 1)::int) AS line,
            (SELECT b.key FROM elements_elementversion v CROSS JOIN LATERAL jsonb_each(v.attributes -> w.attribute) b
                WHERE v.id = h.version AND b.value @> jsonb_build_array(jsonb_build_object('address', w.id::text))
                LIMIT 1) AS culture
        FROM (SELECT u.attribute, f.id, f.name, t.text, s.words
            FROM elements_versionfile u JOIN storage_storedfile f ON f.id = u.file_id
            JOIN storage_filetext t ON t.digest = f.digest JOIN elements_searchfile s ON s.id = t.id
            JOIN unnest(%s::uuid[], %s::text[]) AS a(type, attribute)
                ON a.type = h.type AND a.attribute = u.attribute
            WHERE u.version_id = h.version AND t.id IN ({POSTED.format(most=MOST_USES)})
            ORDER BY u.attribute, f.name, f.id LIMIT {MOST_TEXTS}) w
        CROSS JOIN LATERAL unnest(string_to_array(w.words, E'\\n')) WITH ORDINALITY AS l(line, place)
        WHERE l.line LIKE ANY(%s::text[])
        ORDER BY {{found}} DESC, w.attribute, w.name, w.id, l.place LIMIT 1) x"""  # noqa: S608  constants


@dataclass(frozen=True, slots=True)
class FileLine:
    """The paragraph of a file with most of the searched words."""

    attribute: str
    culture: str
    id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class FileSearch:
    """The part of the statement that finds versions by their files; empty if no file has one of the words."""

    files: Sql = ("", [])
    """Files with the rarest word, and their uses."""
    linked: Sql = ("", [])
    """Versions with these files."""
    around: Sql = ("", [])
    """Files of a version that lacks a word."""
    counts: str = ""


def file_search(
    expanded: Expanded, rarest: SearchPart, parts: Sequence[SearchPart], searchable: Searchable, element: str
) -> FileSearch:
    if not any(expanded.candidates_in_files(part) for part in parts):
        return FileSearch()
    sql, values = _in_files(expanded, parts)
    flags = ", ".join(f"c.part{place}" for place in range(len(parts)))
    words = signed(expanded.candidates_in_files(rarest))
    seen = list(searchable.file_arrays)
    return FileSearch(
        (FILES.format(parts=sql, flags=flags), [*values, words]),
        (LINKED.format(flags=flags, element=element), seen),
        (AROUND.format(parts=sql), [*values, *seen]),
        COUNTS,
    )


def _in_files(expanded: Expanded, parts: Sequence[SearchPart]) -> Sql:
    """Return columns that say of each part whether the file `c.file` has it."""
    columns, values = [], list[Any]()
    for place, part in enumerate(parts):
        if part.is_phrase:
            columns.append(f"coalesce({HAS_PHRASE}, FALSE) AS part{place}")
            values.append(f" {' '.join(part.words)}{'' if part.is_prefix else ' '}")
        else:
            columns.append(f"{HAS_WORD} AS part{place}")
            values.append(signed(expanded.candidates_in_files(part)))
    return ", ".join(columns), values


def signed(words: Collection[str]) -> str:
    return text_array(IN_FILE + word for word in words)


def read_file_lines(
    expanded: Expanded, searchable: Searchable, versions: Sequence[tuple[str, str]]
) -> dict[str, FileLine]:
    """Return the best line of a file for each version that has one. `versions` are those of hits, with their types."""
    if not versions:
        return {}
    patterns = [_patterns(expanded, part) for part in expanded.parts]
    every = text_array(dict.fromkeys(each for some in patterns for each in some))
    words = signed({word for part in expanded.parts for word in expanded.candidates_in_files(part)})
    found = " + ".join("(l.line LIKE ANY(%s::text[]))::int" for _ in patterns)
    values = [
        id_array(version for version, _ in versions), id_array(type for _, type in versions),
        *searchable.file_arrays, words, every, *map(text_array, patterns),
    ]  # fmt: skip
    rows = fetch(EXCERPTS.format(found=found), values)
    return {row[0]: FileLine(row[1], row[2] or str(INVARIANT_CULTURE), *row[3:]) for row in rows}


def _patterns(expanded: Expanded, part: SearchPart) -> list[str]:
    forms = () if part.is_phrase else expanded.candidates_in_files(part)
    return [*expanded.patterns(part), *(f"% {word} %" for word in forms)]
