"""The search of a storage, for API and pages: reads a text, finds a page of elements, and adds their excerpts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from elements.naming import NAME
from elements.reading import rows
from elements.reading.bounds import TooHeavy, halved, most_text
from elements.reading.rows import Audience, VersionRow
from elements.search.excerpts import Excerpt, best_excerpt
from elements.search.expanding import Expanded, expand
from elements.search.finding import ALL, Found, HitFilter, find, seen_words
from elements.search.ids import versions_with_id
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


@dataclass(frozen=True, slots=True)
class SearchHit:
    row: VersionRow
    names: Mapping[str, Any]
    excerpt: Excerpt | None


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
        return SearchResult(self._hits(found.versions, expanded, request.reading or request.culture), found)

    def find(self, request: SearchRequest) -> SearchResult:
        """Do the same without reading the hits; `found` has their versions."""
        expanded, found = self._find(request)
        return SearchResult((), found, None if found.counts else self._suggestion(request, expanded))

    def with_id(self, text: str) -> SearchResult | None:
        """Return the elements with an id, without excerpts; None if there are none."""
        versions = versions_with_id(self.audience, text)
        if not versions:
            return None
        read = rows.read_versions(versions, only=[NAME])
        names = {each: orjson.loads(row.attributes or "{}").get(NAME, {}) for each, row in read.items()}
        found = Found(versions, len(versions), ())
        return SearchResult([SearchHit(read[each], names[each], None) for each in versions], found)

    def _find(self, request: SearchRequest) -> tuple[Expanded, Found]:
        cultures: Collection[int] = self.configuration.cultures.data if request.culture is None else [request.culture]
        expanded = expand(read_text(request.text), cultures)
        found = find(expanded, self.audience, self.searchable, request.only, request.limit, request.offset)
        return expanded, found

    def _suggestion(self, request: SearchRequest, expanded: Expanded) -> str | None:
        text = similar_text(expanded, lambda words: seen_words(words, self.audience, self.searchable))
        if text is None:
            return None
        _, found = self._find(SearchRequest(text, request.culture, limit=0))
        return text if found.counts else None

    def _hits(self, versions: Sequence[str], expanded: Expanded, culture: int | None) -> list[SearchHit]:
        preferred = str(self.configuration.cultures.default if culture is None else culture)
        return [
            self._hit(found[version], expanded, preferred)
            for few, found in halved(versions, self._read)
            for version in few
            if version in found
        ]

    def _read(self, versions: Sequence[str]) -> tuple[Sequence[str], dict[str, VersionRow]]:
        """Read the attributes of a few hits; a version that is too heavy by itself has none."""
        only = {name for names in self.searchable.excerpts.values() for name in names}
        try:
            return versions, rows.read_versions(versions, only=sorted(only), most=most_text(len(versions)))
        except TooHeavy:
            if len(versions) > 1:
                raise
            return versions, rows.read_versions(versions, with_attributes=False)

    def _hit(self, row: VersionRow, expanded: Expanded, culture: str) -> SearchHit:
        attributes = orjson.loads(row.attributes or "{}")
        shown = self.searchable.excerpts[row.type]
        return SearchHit(row, attributes.get(NAME, {}), best_excerpt(attributes, shown, expanded.matches, culture))
