"""Full-text search in a storage, and suggestions while a user types (D380 to D387)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from elements.api.finding.search_serializers import (
    CULTURE,
    FACET,
    SEARCH,
    STATE,
    SUGGESTIONS,
    TEXT,
    TYPE,
    SearchResultSerializer,
    SearchSuggestionsSerializer,
)
from elements.api.query import QueryParameters
from elements.api.reading_viewset import ElementReadingViewSet
from elements.reading.bounds import checked
from elements.search.finding import Found, HitFilter
from elements.search.narrowing import hit_filter, hit_groups
from elements.search.queries import SearchText, read_text
from elements.search.searching import Search, SearchHit, SearchRequest, SearchResult
from elements.search.suggesting import suggest
from facets.event_filters import names_in
from repository_site.core.problems import placed
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import JSON_TYPE, counted, to_json
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import listed, printable
from storage.api.conditional_requests import Prepared

Wire = dict[str, Any]
NO_TEXT = "expected the words to search for, such as q=order."


class SearchViewSet(ElementReadingViewSet):
    @Operation(
        "searchElements",
        tag="search",
        summary="Search for elements",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        parameters=SEARCH,
        is_conditional=True,
        responses=SearchResultSerializer,
    )
    def list(self, request: Request, **names: str) -> Prepared:
        """Return elements whose texts contain all words, best matches first, with counts by facet, type and state.

        The search reads names and all other texts in all cultures, the texts of lanes and flows in the diagram, the
        names of elements that an element refers to or shows in its diagram, and the texts of its files. It ignores
        accents and letter case, and finds inflected forms of German and English words. Viewers and anonymous readers
        find published versions only. The text of a new file is found a few seconds after its upload.
        """
        search, query = Search(self.configuration, self.reader.audience), self.query(request)
        self._text(query)
        culture = self._culture(query)
        only = self._filter(query, search)
        paging = query.page()
        query.finish()
        offset = (paging.page - 1) * paging.size
        wanted = SearchRequest(query.text(TEXT) or "", culture, only, paging.size, offset)

        def answer() -> HttpResponseBase:
            result = search.run(wanted)
            # Excerpts take time and need no database connection.
            response = LateResponse(lambda: checked(to_json(self._wire(result))), JSON_TYPE)
            self.add_page_headers(response, paging.page, paging.size, result.found.total)
            return response

        return Prepared(answer)

    @Operation(
        "suggestElements",
        tag="search",
        summary="Suggest elements while a user types",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        parameters=SUGGESTIONS,
        is_conditional=True,
        responses=SearchSuggestionsSerializer,
    )
    def suggest_elements(self, request: Request, **names: str) -> Prepared:
        """Return at most ten elements with a name that has all the words; the last word may be unfinished.

        Names that begin with the text come first.
        """
        search, query = Search(self.configuration, self.reader.audience), self.query(request)
        text = self._text(query)
        query.finish()

        def answer() -> HttpResponseBase:
            found = suggest(text, search.audience, search.searchable) if text else []
            return self.answer_bounded(counted("values", [self.reader.named_reference(*each) for each in found]))

        return Prepared(answer)

    def _text(self, query: QueryParameters) -> SearchText | None:
        text = query.text(TEXT)
        if text is None:
            if len(query.given.getlist(TEXT)) < 2:
                query.problems.append(placed(TEXT, NO_TEXT))
            return None
        return query.attempt(lambda: read_text(text))

    def _culture(self, query: QueryParameters) -> int | None:
        text, known = query.text(CULTURE), self.configuration.cultures.data
        if text is None:
            return None
        if text not in map(str, known):
            problem = f"{printable(text, 40)!r} is not a data culture of this storage; use {listed(known, 'or')}."
            query.problems.append(placed(CULTURE, problem))
            return None
        return int(text)

    def _filter(self, query: QueryParameters, search: Search) -> HitFilter:
        types = search.searchable.types
        facets = query.names_among(FACET, {each.facet for each in types.values()}, "a facet")
        keys = query.names_among(TYPE, {each.key for each in types.values()}, "an element type")
        states = query.names_among(STATE, names_in(self.configuration)[STATE], "a state")
        return hit_filter(types, facets, keys, states)

    def _wire(self, result: SearchResult) -> Wire:
        payload: Wire = counted("values", [self._hit(each) for each in result.hits])
        payload |= self._counts(result.found)
        payload["isComplete"] = result.found.is_complete
        if result.suggestion:
            payload["suggestion"] = result.suggestion
        return payload

    def _counts(self, found: Found) -> Wire:
        facets, keys, states = Counter[str](), Counter[str](), Counter[str]()
        for group in hit_groups(self.reader.types, found):
            facets[group.type.facet] += group.number
            keys[group.type.key] += group.number
            if group.state:
                states[group.state] += group.number
        counts = {"facets": facets, "types": keys, "states": states}
        return {name: dict(sorted(each.items())) for name, each in counts.items()}

    def _hit(self, hit: SearchHit) -> Wire:
        found = self.reader.named_reference(hit.row.identity, hit.names)
        if hit.excerpt is not None:
            excerpt = hit.excerpt
            found["excerpt"] = {
                "attribute": excerpt.attribute,
                "culture": int(excerpt.culture),
                "text": excerpt.text,
            }
            if excerpt.file:
                found["excerpt"]["file"] = {"id": excerpt.file, "name": excerpt.file_name}
        return found
