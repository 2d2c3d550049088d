"""The search of a storage, for API and pages: reads a text, finds a page of elements, and adds their excerpts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.functional import cached_property

from elements.naming import NAME
from elements.reading import rows
from elements.reading.bounds import TooHeavy, most_text
from elements.reading.rows import Audience, VersionRow
from elements.search.excerpts import Excerpt, best_excerpt, marked_text
from elements.search.expanding import Expanded, expand
from elements.search.finding import ALL, Found, HitFilter, find, seen_words
from elements.search.ids import versions_with_id
from elements.search.in_files import FileLine, read_file_lines
from elements.search.queries import read_text
from elements.search.spelling import similar_text
from elements.search.visibility import Searchable, searchable
from facets.configuration import Configuration


@dataclass(frozen=True, slots=True)
class SearchRequest:
    text: str
    culture: int | None = None
    """Language of the text, and culture of excerpts if possible."""
    only: HitFilter = ALL
    limit: int = 25
    offset: int = 0
    reading: int | None = None
    """Culture of excerpts if possible, for a text in any language."""
    for_page: bool = False
    """Whether a page shows the result: it tests fewer elements than the API."""


@dataclass(frozen=True)
class SearchHit:
    row: VersionRow
    names: Mapping[str, Any]
    find_excerpt: Callable[[], Excerpt | None]

    @cached_property
    def excerpt(self) -> Excerpt | None:
        """Found when it is shown: that takes time and needs no database connection (D183)."""
        return self.find_excerpt()


@dataclass(frozen=True, slots=True)
class SearchResult:
    hits: Sequence[SearchHit]
    found: Found
    suggestion: str | None = None
    """Another text that finds something, if this one finds nothing."""


class Search:
    """Searches for one audience of a storage, in the scope of the caller."""

    def __init__(self, configuration: Configuration, audience: Audience) -> None:
        self.configuration = configuration
        self.audience = audience
        self.searchable: Searchable = searchable(configuration)

    def run(self, request: SearchRequest) -> SearchResult:
        expanded, found = self._find(request)
        if not found.counts:
            return SearchResult((), found, self._suggestion(request, expanded))
        return SearchResult(self._hits(found, expanded, request.reading or request.culture), found)

    def find(self, request: SearchRequest) -> SearchResult:
        """Do the same without reading the hits; `found` has their versions."""
        expanded, found = self._find(request)
        return SearchResult((), found, None if found.counts else self._suggestion(request, expanded))

    def with_id(self, text: str) -> SearchResult | None:
        """Return the elements with an id, without excerpts; None if there are none."""
        versions = versions_with_id(self.audience, text)
        if not versions:
            return None
        read = self._read(versions, [NAME])
        found = Found(versions, len(versions), ())
        return SearchResult([SearchHit(read[each], _names(read[each]), lambda: None) for each in versions], found)

    def _find(self, request: SearchRequest) -> tuple[Expanded, Found]:
        cultures: Collection[int] = self.configuration.cultures.data if request.culture is None else [request.culture]
        expanded = expand(read_text(request.text), cultures)
        wanted = request.only, request.limit, request.offset
        found = find(expanded, self.audience, self.searchable, *wanted, for_page=request.for_page)
        return expanded, found

    def _suggestion(self, request: SearchRequest, expanded: Expanded) -> str | None:
        text = similar_text(expanded, lambda words: seen_words(words, self.audience, self.searchable))
        if text is None:
            return None
        _, found = self._find(SearchRequest(text, request.culture, limit=0, for_page=request.for_page))
        return text if found.counts else None

    def _hits(self, found: Found, expanded: Expanded, culture: int | None) -> list[SearchHit]:
        preferred = str(self.configuration.cultures.default if culture is None else culture)
        read = self._read(found.versions, {name for names in self.searchable.excerpts.values() for name in names})
        lines = read_file_lines(expanded, self.searchable, list(found.by_files.items()))
        shown = [read[version] for version in found.versions if version in read]
        return [self._hit(row, expanded, preferred, lines.get(row.version)) for row in shown]

    def _read(self, versions: Sequence[str], only: Collection[str]) -> dict[str, VersionRow]:
        """Read the texts of hits. If they take too much memory, some hits have only their name, or not even that."""
        try:
            return rows.read_versions(versions, only=only, most=most_text(len(versions)))
        except TooHeavy:
            return rows.read_some(versions, only, [NAME])

    def _hit(self, row: VersionRow, expanded: Expanded, culture: str, line: FileLine | None) -> SearchHit:
        shown = self.searchable.excerpts[row.type]

        def find_excerpt() -> Excerpt | None:
            if line is not None:
                text = marked_text(line.text, expanded.matches)
                return Excerpt(line.attribute, line.culture, text, line.id, line.name)
            return best_excerpt(orjson.loads(row.attributes or "{}"), shown, expanded.matches, culture)

        return SearchHit(row, _names(row), find_excerpt)


def _names(row: VersionRow) -> Mapping[str, Any]:
    found: Mapping[str, Any] = orjson.loads(row.attributes or "{}").get(NAME, {})
    return found
