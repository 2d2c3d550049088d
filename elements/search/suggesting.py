"""Names that match an unfinished text (D387), found in one statement."""

from __future__ import annotations

import orjson

from elements.naming import NAME
from elements.reading.bounds import most_text
from elements.reading.names import ByCulture
from elements.reading.rows import IDENTITY, Audience, Identity
from elements.search.queries import SearchPart, SearchText
from elements.search.visibility import Searchable
from repository_site.core.database.statements import fetch, id_array

MOST = 10
# Words, rows of postings of each, and versions that are looked at: old versions and drafts are among them.
MOST_WORDS, MOST_ROWS, MOST_LOOKED_AT = 50, 50, 1_000
# Versions that the caller sees, found by their whole name and by a word.
MOST_NAMES, MOST_POSTED = 50, 200
SEEN = """CROSS JOIN LATERAL (SELECT e.id FROM elements_element e
            WHERE e.{pointer} = c.version AND e.type_id = ANY(%s::uuid[]) LIMIT 1) e"""
SUGGEST = f"""WITH words AS MATERIALIZED (SELECT x.word FROM elements_searchword x
        WHERE starts_with(x.word, %s::text) AND x.stem = x.word ORDER BY x.word LIMIT {MOST_WORDS}),
    begun AS MATERIALIZED (SELECT c.version FROM (SELECT v.id AS version FROM elements_elementversion v
            WHERE starts_with(v.sort_name, %s::text) ORDER BY v.sort_name, v.id LIMIT {MOST_LOOKED_AT}) c
        {SEEN} LIMIT {MOST_NAMES}),
    posted AS MATERIALIZED (SELECT c.version FROM (SELECT u.version FROM words w CROSS JOIN LATERAL (
                SELECT p.versions FROM elements_searchposting p WHERE p.word = w.word AND p.in_name
                LIMIT {MOST_ROWS}) q
            CROSS JOIN LATERAL unnest(q.versions) AS u(version) LIMIT {MOST_LOOKED_AT}) c
        {SEEN} LIMIT {MOST_POSTED}),
    near AS MATERIALIZED (SELECT b.version FROM begun b UNION SELECT p.version FROM posted p),
    shown AS MATERIALIZED (SELECT c.version, strpos(d.names, %s::text) > 0 AS is_first
        FROM near c CROSS JOIN LATERAL (SELECT d.names FROM elements_searchdocument d
            WHERE d.id = c.version LIMIT 1) d
        WHERE d.names LIKE ALL(%s::text[]) AND NOT d.names LIKE ANY(%s::text[]))
    SELECT {IDENTITY}, CASE WHEN octet_length((v.attributes -> '{NAME}')::text) <= %s::int
        THEN v.attributes -> '{NAME}' END FROM shown c
    CROSS JOIN LATERAL (SELECT e.id, e.creation_id, e.type_id FROM elements_element e
        WHERE e.{{pointer}} = c.version LIMIT 1) e
    CROSS JOIN LATERAL (SELECT v.id, v.state, v.stereotype, v.sort_name, v.attributes FROM elements_elementversion v
        WHERE v.id = c.version LIMIT 1) v
    ORDER BY c.is_first DESC, v.sort_name, e.id LIMIT {MOST}"""  # noqa: S608  constants


def suggest(text: SearchText, audience: Audience, searchable: Searchable) -> list[tuple[Identity, ByCulture]]:
    """Return elements with a name that has all the words and no excluded one; the last word may be unfinished. Very
    long names are left out."""
    if not text.words:
        return []
    *whole, last = text.wanted
    patterns = [*map(_pattern, whole), f"% {' '.join(last.words)}%"]
    excluded = [_pattern(each) for each in text.parts if each.is_excluded]
    types, (_, beginning) = id_array(searchable.types), text.names
    rows = fetch(
        SUGGEST.format(pointer=audience.pointer),
        [last.words[-1], text.typed.casefold(), types, types, beginning, patterns, excluded, most_text(MOST) // MOST],
    )
    return [(Identity(*row[:6]), orjson.loads(row[6] or "{}")) for row in rows]


def _pattern(part: SearchPart) -> str:
    return f"% {' '.join(part.words)} %"
