"""Search by name: names that begin with the text come first, then names that contain all its words, in any language.

The beginning of a name in the default culture is found in the index of names. Words are searched in all names of the
storage, with the filter language; that takes half a second for 100,000 elements and is cut off after `PATIENCE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import OperationalError
from psycopg.errors import QueryCanceled

from elements.filters import read_filter
from elements.filters.binding import Vocabulary
from elements.filters.compiling import FilterCompiler
from elements.filters.conditions import NEVER, Condition, negation
from elements.filters.syntax import fold_case
from elements.naming import NAME
from elements.pages.lists import begins_with, cursor_of, read_by_name
from elements.pages.visits import Visit
from elements.presentation.labels import Named, Text
from elements.presentation.search_texts import words_of
from elements.reading import selection as selecting
from elements.reading.names import ByCulture, read_version_names
from elements.reading.rows import VersionRow
from storage.localisation.culture_names import language_tag
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

PAGE = 25
# Time limit in seconds for searching all names.
PATIENCE = 4


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """`facet` is a name, or empty for all facets; `after` is the last version of the previous page."""

    text: str
    facet: str = ""
    after: str = ""

    @property
    def words(self) -> list[str]:
        return words_of(self.text)


@dataclass(frozen=True, slots=True)
class Hit:
    """`facet` is a title; `otherwise` is the name that matched, if another one is shown."""

    link: Named
    facet: str
    otherwise: Text | None


@dataclass(frozen=True, slots=True)
class Results:
    hits: Sequence[Hit]
    next: str = ""
    is_later: bool = False
    """Not the first page."""
    is_cut_off: bool = False
    """The search for words ran into the time limit."""


def search(visit: Visit, storage: Storage, query: SearchQuery) -> Results:
    types = [row for row, type in visit.reader.types.items() if not query.facet or type.facet == query.facet]
    scope = selecting.of_types(visit.reader.audience, types)
    cursor = cursor_of(visit.reader.audience, query.after)
    begins, is_later = begins_with(query.text), cursor is not None
    first: Sequence[VersionRow] = ()
    if cursor is None or cursor.sort_name.startswith(query.text.casefold()):
        page = read_by_name(scope.matching(begins), cursor, PAGE)
        if page.has_more:
            return Results(_hits(visit, query, page.rows), page.next, is_later)
        first, cursor = page.rows, None
    others = scope.matching(negation(begins)).matching(_has_words(visit, query.words))
    try:
        with tenant_scope(storage, timeout=PATIENCE):
            page = read_by_name(others, cursor, PAGE - len(first))
    except OperationalError as problem:
        if not isinstance(problem.__cause__, QueryCanceled):
            raise
        return Results(_hits(visit, query, first), is_later=is_later, is_cut_off=True)
    found = [*first, *page.rows]
    return Results(_hits(visit, query, found), found[-1].version if page.has_more else "", is_later)


def _has_words(visit: Visit, words: Sequence[str]) -> Condition:
    """Compile a `$filter` for the words: ignoring case, in the name of any culture."""
    reader, configuration = visit.reader, visit.configuration
    named = [type for type in configuration.types.values() if any(each.key == NAME for each in type.properties)]
    if not named:
        return NEVER
    vocabulary = configuration.keep("names only", lambda: Vocabulary.of(named, configuration.cultures.data))
    quoted = (word.replace("'", "''") for word in words)
    text = " AND ".join(f"Contains({NAME}, '{word}')" for word in quoted)
    compiler = FilterCompiler(
        configuration, reader.zone, reader.storage_address, sees_drafts=reader.audience.sees_drafts
    )
    return compiler.compile(read_filter(text, vocabulary))


def _hits(visit: Visit, query: SearchQuery, found: Sequence[VersionRow]) -> list[Hit]:
    names = read_version_names([row.version for row in found])
    links = visit.links(found, names)
    return [
        Hit(each, visit.facet(each.type.facet), _otherwise(query, each, names.get(each.version, {}))) for each in links
    ]


def _otherwise(query: SearchQuery, link: Named, names: ByCulture) -> Text | None:
    if _matches(query, link.name):
        return None
    others = (Text(str(name), language_tag(int(lcid))) for lcid, name in names.items() if name)
    return next((other for other in others if _matches(query, other)), None)


def _matches(query: SearchQuery, name: str) -> bool:
    folded = fold_case(name)
    return all(fold_case(word) in folded for word in query.words)
