"""Finds and ranks versions (D383): one statement for the candidates of the rarest word, their test, rank and counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from elements.reading.rows import Audience
from elements.search.expanding import Expanded
from elements.search.in_files import MOST_FILES, MOST_USES, Sql, file_search
from elements.search.queries import SearchPart
from elements.search.visibility import Searchable
from facets.clearance import scope_limits
from repository_site.core.database.statements import fetch, id_array, text_array

# Versions of a word that are read, and those of them that the caller sees, which are tested (D383).
MOST_READ, MOST_CANDIDATES = 50_000, 10_000
# Elements by name whose references are followed, references to each, and all of them; also those of old versions.
MOST_NAMED, MOST_REFERENCES, MOST_LINKED = 200, 2_000, 20_000
# The same bounds for a page, which has to be there at once (D650).
PAGE_READ, PAGE_CANDIDATES, PAGE_REFERENCES, PAGE_LINKED = 15_000, 2_000, 500, 2_000
# Versions without some of the words, and the references, shapes and lanes of each in whose names these are looked for.
MOST_AROUND = 200
# Weights of a part: the word itself in a name, another form of it in a name, and anywhere else; and of a whole name.
WORD_IN_NAME, FORM_IN_NAME, IN_TEXT = 8, 5, 1
WHOLE_NAME, BEGINNING_OF_NAME = 20, 10
# Each LATERAL with a limit is one index look-up for each candidate, regardless of the planner's estimate.
ELEMENT = """CROSS JOIN LATERAL (
        SELECT e.id, e.type_id FROM elements_element e WHERE e.{pointer} = c.version LIMIT 1) e"""
DOCUMENT = """CROSS JOIN LATERAL (
        SELECT d.names, d.texts, {drawn} FROM elements_searchdocument d WHERE d.id = c.version LIMIT 1) d"""
# Texts of the lanes and flows of a version.
DRAWN = """(SELECT coalesce(elements_search_fold(string_agg(DISTINCT replace(x.text, E'\n', ' '), E' \n ')), '') FROM (
            SELECT c.value AS text FROM elements_lane l CROSS JOIN LATERAL jsonb_each_text(l.name) c
                WHERE l.version_id = {version}
            UNION ALL SELECT c.value FROM elements_shape s JOIN elements_shapeflow f ON f.shape_id = s.id
                CROSS JOIN LATERAL jsonb_each_text(f.label) c WHERE s.version_id = {version}) x)"""
VERSION = """CROSS JOIN LATERAL (
        SELECT v.state, v.sort_name FROM elements_elementversion v WHERE v.id = c.version LIMIT 1) v"""
# Names first. Two limits instead of an order: a frequent word can have a million rows. Old versions and drafts are left
# out before the limit of candidates, so that they do not take the places of others.
FIND = """WITH posted AS MATERIALIZED (SELECT u.version FROM (
            (SELECT p.versions FROM elements_searchposting p WHERE p.word = ANY(%s::text[]) AND p.in_name LIMIT {read})
            UNION ALL (SELECT p.versions FROM elements_searchposting p WHERE p.word = ANY(%s::text[]) AND NOT p.in_name
                LIMIT {read})) q CROSS JOIN LATERAL unnest(q.versions) AS u(version) LIMIT {read}),
    reached AS MATERIALIZED (SELECT c.version, e.id, e.type_id FROM posted c {element}
        WHERE e.type_id = ANY(%s::uuid[]) LIMIT {candidates}),
    candidates AS MATERIALIZED (SELECT DISTINCT r.version, r.id, r.type_id FROM reached r),
    tested AS MATERIALIZED (SELECT c.id AS element, c.type_id AS type, c.version, v.state, v.sort_name, t.is_hit,
            t.is_named, CASE WHEN t.is_hit THEN {rank} ELSE 0 END AS rank,
            CASE WHEN t.is_named THEN d.names END AS names
        FROM candidates c CROSS JOIN LATERAL (SELECT c.type_id) e {document}
        CROSS JOIN LATERAL (SELECT ({wanted}) AS is_hit, ({in_name}) AS is_named OFFSET 0) t {version}
        WHERE (t.is_hit OR t.is_named){excluded}),
    seen AS MATERIALIZED (SELECT t.element, t.type, t.version, t.state, t.sort_name, t.rank FROM tested t
        WHERE t.is_hit),
    named AS MATERIALIZED (SELECT t.element, t.names FROM tested t WHERE t.is_named
        ORDER BY t.rank DESC, t.sort_name, t.element LIMIT {named}),
    links AS MATERIALIZED (SELECT 'r' AS kind, n.element, r.version_id AS version FROM named n CROSS JOIN LATERAL (
                SELECT r.version_id FROM elements_reference r WHERE r.target_id = n.element LIMIT {references}) r
            UNION ALL SELECT 's', n.element, s.version_id FROM named n CROSS JOIN LATERAL (SELECT s.version_id
                FROM elements_shape s WHERE s.element_id = n.element LIMIT {references}) s
            UNION ALL SELECT 'p', n.element, p.version_id FROM named n CROSS JOIN LATERAL (SELECT p.version_id
                FROM elements_lane p WHERE p.element_id = n.element LIMIT {references}) p LIMIT {linked}),
{files}
    linked AS MATERIALIZED (SELECT p.version, bool_or(p.is_file) AS is_file, {flags} FROM (
            SELECT l.version, FALSE AS is_file, {name_parts} FROM links l JOIN named n ON n.element = l.element{uses}) p
        GROUP BY p.version),
    followed AS MATERIALIZED (SELECT e.id AS element, e.type_id AS type, c.version, v.state, v.sort_name, c.is_file
        FROM linked c {element} {document} {version}
        WHERE e.type_id = ANY(%s::uuid[]) AND NOT EXISTS (SELECT FROM seen s WHERE s.version = c.version)
            AND {partly}{excluded}),
    hits AS MATERIALIZED (SELECT s.element, s.type, s.version, s.state, s.sort_name, s.rank, FALSE AS is_file
            FROM seen s
        UNION ALL SELECT f.element, f.type, f.version, f.state, f.sort_name, 0, f.is_file FROM followed f{around})
    SELECT 0, h.type::text, h.state, count(*) FROM hits h GROUP BY h.type, h.state
    UNION ALL SELECT 1, '', '', count(*) FROM hits h WHERE {only}
    UNION ALL SELECT 3, '', '', count(*) FROM posted
    UNION ALL SELECT 4, '', '', count(*) FROM reached
    UNION ALL SELECT 5, '', '', count(*) FROM links
    UNION ALL (SELECT 6, '', '', count(*) FROM links l GROUP BY l.kind, l.element ORDER BY 4 DESC LIMIT 1)
    {counted_files}
    UNION ALL (SELECT 2, h.version::text, CASE WHEN h.is_file THEN h.type::text ELSE '' END,
            row_number() OVER (ORDER BY h.rank DESC, h.sort_name, h.element)
        FROM hits h WHERE {only} ORDER BY h.rank DESC, h.sort_name, h.element LIMIT %s OFFSET %s)"""


# Hits with some words in their own text and the others in names around them. `links` finds those that are around a name
# with the rarest word; these have the rarest word themselves.
AROUND = """
        UNION ALL SELECT e.id, e.type_id, c.version, v.state, v.sort_name, 0, c.is_file
        FROM (SELECT c.version, c.id, c.type_id FROM candidates c WHERE NOT EXISTS (
                SELECT FROM seen s WHERE s.version = c.version) LIMIT {most}) o
            CROSS JOIN LATERAL (SELECT o.version, coalesce(bool_or(p.is_file), FALSE) AS is_file, {flags} FROM (
                SELECT FALSE AS is_file, {name_parts} FROM (
                    (SELECT r.target_id AS id FROM elements_reference r WHERE r.version_id = o.version LIMIT {most})
                    UNION ALL (SELECT s.element_id FROM elements_shape s WHERE s.version_id = o.version LIMIT {most})
                    UNION ALL (SELECT p.element_id FROM elements_lane p WHERE p.version_id = o.version LIMIT {most})) i
                CROSS JOIN LATERAL (SELECT e.{pointer} AS version FROM elements_element e
                    WHERE e.id = i.id AND e.type_id = ANY(%s::uuid[]) LIMIT 1) e
                CROSS JOIN LATERAL (SELECT d.names FROM elements_searchdocument d WHERE d.id = e.version LIMIT 1) n
                {files}) p) c
            CROSS JOIN LATERAL (SELECT o.id, o.type_id) e {document} {version}
        WHERE NOT EXISTS (SELECT FROM followed f WHERE f.version = c.version) AND {partly}{excluded}"""


@dataclass(frozen=True, slots=True)
class HitFilter:
    """Types by the ids of their rows, and states; None means all. `static_types` always have one of the states."""

    types: Collection[str] | None = None
    states: Collection[str] | None = None
    static_types: Collection[str] = ()

    def condition(self) -> tuple[str, list[Any]]:
        conditions, values = ["TRUE"], list[Any]()
        if self.types is not None:
            conditions.append("h.type = ANY(%s::uuid[])")
            values.append(id_array(self.types))
        if self.states is not None:
            conditions.append("(h.state = ANY(%s::text[]) OR h.type = ANY(%s::uuid[]))")
            values += [text_array(self.states), id_array(self.static_types)]
        return " AND ".join(conditions), values


ALL = HitFilter()


@dataclass(frozen=True, slots=True)
class Found:
    """A page of hits, best first. The counts are of all hits, regardless of the filter."""

    versions: Sequence[str]
    total: int
    counts: Sequence[tuple[str, str, int]]
    """Type, state and number."""
    is_complete: bool = True
    by_files: Mapping[str, str] = field(default_factory=dict)
    """Types of the versions on the page that texts of files have led to."""


NOTHING = Found((), 0, ())


def find(
    expanded: Expanded,
    audience: Audience,
    searchable: Searchable,
    only: HitFilter,
    limit: int,
    offset: int,
    *,
    for_page: bool = False,
) -> Found:
    usual = MOST_READ, MOST_CANDIDATES, MOST_REFERENCES, MOST_LINKED
    quick = PAGE_READ, PAGE_CANDIDATES, PAGE_REFERENCES, PAGE_LINKED
    most_read, most_tested, most_references, most_linked = map(min, usual, quick) if for_page else usual
    parts = expanded.parts
    candidates = {part: (expanded.candidates(part), expanded.candidates_in_files(part)) for part in parts}
    if not parts or not all(own or filed for own, filed in candidates.values()):
        return NOTHING
    # If too many words begin with an unfinished word, some of them are missing here. A phrase has other words.
    complete = [part for part in parts if part.is_phrase or not expanded.of(part).is_cut]
    rarest = min(complete or parts, key=lambda part: sum(sum(each.values()) for each in candidates[part]))
    own = candidates[rarest][0]
    tests, document = _Tests(expanded, searchable), _document()
    rank, in_name = tests.rank(parts), tests.in_name(rarest)
    wanted, partly, excluded = tests.wanted(parts), tests.partly(parts), tests.excluded()
    in_names, element = tests.in_names(parts), ELEMENT.format(pointer=audience.pointer)
    files = file_search(expanded, rarest, parts, searchable, element)
    flags = ", ".join(f"bool_or(p.part{place}) AS part{place}" for place in range(len(parts)))
    filtered, values = only.condition()
    types = id_array(searchable.types)
    around: Sql = ("", [])
    if len(parts) > 1:
        sql = AROUND.format(
            most=MOST_AROUND, flags=flags, name_parts=in_names[0], pointer=audience.pointer, document=document,
            version=VERSION, partly=partly[0], excluded=excluded[0], files=files.around[0].format(most=MOST_AROUND),
        )  # fmt: skip
        around = sql, [*in_names[1], types, *files.around[1], *partly[1], *excluded[1]]
    sql = FIND.format(
        read=most_read, candidates=most_tested, named=MOST_NAMED, references=most_references, linked=most_linked,
        element=element, document=document, version=VERSION, rank=rank[0], wanted=wanted[0], in_name=in_name[0],
        files=files.files[0], uses=files.linked[0], counted_files=files.counts,
        flags=flags, name_parts=in_names[0], partly=partly[0], excluded=excluded[0], around=around[0], only=filtered,
    )  # fmt: skip
    parameters = [
        text_array(own), text_array(own), types, *rank[1], *wanted[1], *in_name[1], *excluded[1], *files.files[1],
        *in_names[1], *files.linked[1], types, *partly[1], *excluded[1], *around[1], *values, *values, limit,
        offset,
    ]  # fmt: skip
    counts, numbers, hits, by_files = [], dict[int, int](), [], dict[str, str]()
    for kind, name, state, number in fetch(sql, parameters):
        if kind == 0:
            counts.append((name, state, number))
        elif kind == 2:
            hits.append((number, name))
            if state:
                by_files[name] = state
        else:
            numbers[kind] = number
    is_followed = numbers[5] < most_linked and numbers.get(6, 0) < most_references
    is_followed = is_followed and numbers.get(7, 0) < MOST_FILES and numbers.get(8, 0) < MOST_USES
    is_followed = is_followed and all(sum(filed.values()) < MOST_USES for _, filed in candidates.values())
    is_complete = bool(complete) and numbers[3] < most_read and numbers[4] < most_tested and is_followed
    return Found([version for _, version in sorted(hits)], numbers[1], counts, is_complete, by_files)


# Words of which a caller sees a version. Few versions are tested: most words that are looked for are visible at once.
SEEN = """SELECT w.word FROM unnest(%s::text[]) AS w(word) CROSS JOIN LATERAL (SELECT 1 AS one FROM (
        SELECT u.version FROM (SELECT p.versions FROM elements_searchposting p WHERE p.word = w.word LIMIT {tested}) q
        CROSS JOIN LATERAL unnest(q.versions) AS u(version) LIMIT {tested}) c {element} {document}
    WHERE e.type_id = ANY(%s::uuid[]) AND (d.names LIKE '%% ' || w.word || ' %%'
        OR d.texts || d.drawn LIKE '%% ' || w.word || ' %%' AND e.type_id <> ALL(%s::uuid[])) LIMIT 1) s"""
MOST_TESTED = 200


def seen_words(words: Collection[str], audience: Audience, searchable: Searchable) -> set[str]:
    """Return those of the words that a caller can find."""
    if not words:
        return set()
    sql = SEEN.format(tested=MOST_TESTED, element=ELEMENT.format(pointer=audience.pointer), document=_document())
    values = [text_array(words), id_array(searchable.types), id_array(searchable.names_only)]
    return {word for (word,) in fetch(sql, values)}


def _document() -> str:
    """Return the join with the document of a version. Lanes and flows of hidden elements must not lead to its diagram,
    so their texts are read again for callers from whom something is hidden (D491)."""
    limits = scope_limits()
    drawn = f"CASE WHEN d.drawn <> '' THEN {DRAWN.format(version='d.id')} ELSE '' END AS drawn"
    return DOCUMENT.format(drawn=drawn if limits and limits.hidden else "d.drawn")


class _Tests:
    """Conditions on a document, as SQL with parameters."""

    def __init__(self, expanded: Expanded, searchable: Searchable) -> None:
        self.expanded = expanded
        self.names_only = id_array(searchable.names_only)

    def _matches(self, part: SearchPart) -> Sql:
        patterns = text_array(self.expanded.patterns(part))
        sql = """(d.names LIKE ANY(%s::text[]) OR d.drawn LIKE ANY(%s::text[])
            OR d.texts LIKE ANY(%s::text[]) AND e.type_id <> ALL(%s::uuid[]))"""
        return sql, [patterns, patterns, patterns, self.names_only]

    def wanted(self, parts: Sequence[SearchPart]) -> Sql:
        found = [self._matches(part) for part in parts]
        return " AND ".join(sql for sql, _ in found), [value for _, values in found for value in values]

    def excluded(self) -> Sql:
        found = [self._matches(part) for part in self.expanded.text.parts if part.is_excluded]
        return "".join(f" AND NOT {sql}" for sql, _ in found), [value for _, values in found for value in values]

    def in_name(self, part: SearchPart) -> Sql:
        return "d.names LIKE ANY(%s::text[])", [text_array(self.expanded.patterns(part))]

    def in_names(self, parts: Sequence[SearchPart]) -> Sql:
        """Columns that say of each part whether a name has it."""
        columns = [f"n.names LIKE ANY(%s::text[]) AS part{place}" for place in range(len(parts))]
        return ", ".join(columns), [text_array(self.expanded.patterns(part)) for part in parts]

    def partly(self, parts: Sequence[SearchPart]) -> Sql:
        """Each part is in the document, in one of the names around it, or in one of its files."""
        found = [self._matches(part) for part in parts]
        conditions = [f"(coalesce(c.part{place}, FALSE) OR {sql})" for place, (sql, _) in enumerate(found)]
        return " AND ".join(conditions), [value for _, values in found for value in values]

    def rank(self, parts: Sequence[SearchPart]) -> Sql:
        terms, values = [], list[Any]()
        for part in parts:
            terms.append(
                f"CASE WHEN d.names LIKE %s::text THEN {WORD_IN_NAME}"
                f" WHEN d.names LIKE ANY(%s::text[]) THEN {FORM_IN_NAME} ELSE {IN_TEXT} END"
            )
            values += [f"% {' '.join(part.words)} %", text_array(self.expanded.patterns(part))]
        terms.append(
            f"CASE WHEN strpos(d.names, %s::text) > 0 THEN {WHOLE_NAME}"
            f" WHEN strpos(d.names, %s::text) > 0 THEN {BEGINNING_OF_NAME} ELSE 0 END"
        )
        return " + ".join(terms), [*values, *self.expanded.text.names]
