"""The page of search results, and the suggestions of the search box (D401, D402)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.utils.functional import cached_property
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from elements.naming import NAME
from elements.pages.visits import Visit
from elements.presentation.labels import Named
from elements.search.excerpts import Excerpt
from elements.search.finding import NOTHING
from elements.search.narrowing import HitGroup, hit_filter, hit_groups
from elements.search.queries import read_text
from elements.search.searching import Search, SearchHit, SearchRequest, SearchResult
from elements.search.suggesting import suggest
from repository_site.core.problems import Unreadable
from repository_site.core.search_options import SearchOption
from storage.localisation.culture_names import language_tag

PAGE = 25


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Facet, type and state narrow the search; empty ones do not."""

    text: str
    facet: str = ""
    type: str = ""
    state: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class PageHit:
    """`facet` is a title. The excerpt is HTML with marks; `lang` is its language, if it is not that of the page.
    `file` is the name of the file that has it."""

    link: Named
    facet: str
    excerpt: SafeString | None = None
    lang: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A link that narrows the search; if it is chosen, the link takes that back."""

    text: str
    number: int
    address: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Choices:
    title: str
    choices: Sequence[Choice]


class SearchPage:
    def __init__(self, visit: Visit, query: SearchQuery) -> None:
        self.visit = visit
        self.query = query
        self.search = Search(visit.configuration, visit.reader.audience)
        self.is_unreadable = False
        self.result = self._run() if query.text else SearchResult((), NOTHING)

    def _run(self) -> SearchResult:
        query = self.query
        if found := self.search.with_id(query.text):
            return found
        names = ((name,) if name else () for name in (query.facet, query.type, query.state))
        only = hit_filter(self.search.searchable.types, *names)
        offset = (query.page - 1) * PAGE
        given = SearchRequest(query.text, only=only, limit=PAGE, offset=offset)
        request = replace(given, reading=self.visit.lcid, for_page=True)
        try:
            return self.search.run(request)
        except Unreadable:
            self.is_unreadable = True
            return SearchResult((), NOTHING)

    @cached_property
    def hits(self) -> list[PageHit]:
        return [self._hit(each) for each in self.result.hits]

    @property
    def total(self) -> int:
        return self.result.found.total

    @property
    def is_complete(self) -> bool:
        return self.result.found.is_complete

    @cached_property
    def narrowing(self) -> list[Choices]:
        """Facets, types and states of the hits. Each number is that of the hits after following the link."""
        query, groups = self.query, hit_groups(self.search.searchable.types, self.result.found)

        def in_facet(group: HitGroup) -> bool:
            return query.facet in ("", group.type.facet)

        def in_type(group: HitGroup) -> bool:
            return query.type in ("", group.type.key)

        def in_state(group: HitGroup) -> bool:
            return query.state in ("", group.state)

        facets = self._counted(groups, lambda group: group.type.facet, in_state)
        types = self._counted(groups, lambda group: group.type.key, in_facet, in_state)
        # The state of types without versions tells readers nothing.
        changing = [group for group in groups if group.type.is_versioned]
        states = self._counted(changing, lambda group: group.state, in_facet, in_type)
        known = self.visit.configuration.types
        names = {group.state: self.visit.state(group.type, group.state) for group in groups if group.state}
        found = [
            self._choices(_("Facet"), "facet", facets, self.visit.facet),
            self._choices(_("Type"), "type", types, lambda key: self.visit.type(known[key])),
            self._choices(_("State"), "state", states, lambda state: names.get(state, state)),
        ]
        return [each for each in found if each.choices]

    @property
    def suggestion(self) -> str | None:
        return self.result.suggestion

    @property
    def suggestion_address(self) -> str:
        return f"{self.visit.search}?{urlencode({'q': self.suggestion or ''})}"

    @property
    def pages(self) -> int:
        return max(-(-self.total // PAGE), 1)

    @property
    def previous_address(self) -> str:
        return self._address(page=min(self.query.page - 1, self.pages)) if self.query.page > 1 else ""

    @property
    def next_address(self) -> str:
        return self._address(page=self.query.page + 1) if self.query.page < self.pages else ""

    def _counted(
        self, groups: Sequence[HitGroup], key: Callable[[HitGroup], str | None], *tests: Callable[[HitGroup], bool]
    ) -> Counter[str]:
        counted = Counter[str]()
        for group in groups:
            if (name := key(group)) and all(test(group) for test in tests):
                counted[name] += group.number
        return counted

    def _choices(self, title: str, name: str, counted: Counter[str], text: Callable[[str], str]) -> Choices:
        """One choice alone tells nothing, unless it has to be taken back."""
        chosen: str = getattr(self.query, name)
        if chosen and chosen not in counted:
            counted[chosen] = 0
        if len(counted) < 2 and not chosen:
            return Choices(title, ())
        # Another facet has other types.
        reset = {"type": ""} if name == "facet" else {}
        ordered = sorted(counted.items(), key=lambda each: (-each[1], text(each[0])))
        return Choices(
            title,
            [
                Choice(text(key), number, self._address({name: "" if key == chosen else key, **reset}), key == chosen)
                for key, number in ordered
            ],
        )

    def _address(self, changed: Mapping[str, str] | None = None, page: int = 1) -> str:
        query = self.query
        given = {"q": query.text, "facet": query.facet, "type": query.type, "state": query.state}
        given |= changed or {}
        if page > 1:
            given["page"] = str(page)
        return f"{self.visit.search}?{urlencode({name: value for name, value in given.items() if value})}"

    def _hit(self, hit: SearchHit) -> PageHit:
        link = self.visit.link(hit.row, hit.names)
        facet = self.visit.facet(link.type.facet)
        if hit.excerpt is None or self._is_shown(hit.excerpt, link):
            return PageHit(link, facet)
        lcid = int(hit.excerpt.culture)
        # Excerpts are escaped, except for the marks (D385).
        text = mark_safe(hit.excerpt.text)  # noqa: S308  the search escapes all but its marks
        if hit.excerpt.file:
            return PageHit(link, facet, text, file=hit.excerpt.file_name)
        return PageHit(link, facet, text, "" if lcid == self.visit.lcid else language_tag(lcid))

    def _is_shown(self, excerpt: Excerpt, link: Named) -> bool:
        """Tell whether an excerpt only repeats the name in the link."""
        lang = "" if int(excerpt.culture) == self.visit.lcid else language_tag(int(excerpt.culture))
        return excerpt.attribute == NAME and lang == link.name.lang


def suggestions(visit: Visit, text: str) -> list[SearchOption]:
    """Return elements by name for a text that may be unfinished; none for a text that cannot be searched."""
    search = Search(visit.configuration, visit.reader.audience)
    try:
        found = suggest(read_text(text), search.audience, search.searchable)
    except Unreadable:
        return []
    links = [visit.link(identity, names) for identity, names in found]
    return [SearchOption(each.name.in_one_line, each.address, each.type_name, each.name.lang) for each in links]
