"""Pages of search results, each hit with the name that matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import OperationalError
from psycopg.errors import QueryCanceled

from elements.filters.syntax import fold_case
from elements.pages.lists import cursor_of, read_by_name
from elements.pages.visits import Visit
from elements.presentation.labels import Named, Text
from elements.presentation.searching import search_conditions, words_of
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
    begins, *others = search_conditions(visit.reader.audience, query.text)
    is_later, first = cursor is not None, list[VersionRow]()
    if not others or cursor is None or cursor.sort_name.startswith(query.text.casefold()):
        page = read_by_name(scope.matching(begins), cursor, PAGE)
        if page.has_more or not others:
            return Results(_hits(visit, query, page.rows), page.next, is_later)
        first, cursor = list(page.rows), None
    try:
        with tenant_scope(storage, timeout=PATIENCE):
            page = read_by_name(scope.matching(others[0]), cursor, PAGE - len(first))
    except OperationalError as problem:
        if not isinstance(problem.__cause__, QueryCanceled):
            raise
        return Results(_hits(visit, query, first), is_later=is_later, is_cut_off=True)
    found = [*first, *page.rows]
    return Results(_hits(visit, query, found), found[-1].version if page.has_more else "", is_later)


def _hits(visit: Visit, query: SearchQuery, found: Sequence[VersionRow]) -> list[Hit]:
    names = read_version_names([row.version for row in found])
    return [
        Hit(each, visit.facet(each.type.facet), _otherwise(visit, query, each, names.get(each.version, {})))
        for each in visit.links(found, names)
    ]


def _otherwise(visit: Visit, query: SearchQuery, link: Named, names: ByCulture) -> Text | None:
    words = [fold_case(word) for word in words_of(query.text)]
    others = (Text(names.get(str(lcid)) or "", language_tag(lcid)) for lcid in visit.configuration.cultures.data)
    matching = (name for name in (link.name, *others) if all(word in fold_case(name) for word in words))
    found = next(matching, link.name)
    return None if found is link.name else found
