"""One look at a page: who looks, in which culture, and how the page names and addresses what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix
from django.utils import translation
from django.views.decorators.http import require_safe

from elements import derived
from elements.page_requests import reader_of
from elements.reading.assembly.assembler import Reader
from elements.reading.names import ByCulture, choose
from elements.reading.rows import Identity, VersionRow
from facets.blueprint.cycles import Category
from facets.blueprint.definitions import ElementType
from facets.blueprint.texts import Texts
from facets.configuration import Configuration
from facets.rendering import display_names, segment
from repository_site.core.problems import NotFound, Unauthenticated
from storage.api.throttling import throttle_address, throttle_caller
from storage.localisation.culture_names import interface_language, language_tag
from storage.pages import View, caller_of, in_scope, page_caller

ReaderView = Callable[..., HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the storage. `lang` is set where it is not in the language of the page."""

    text: str
    lang: str = ""

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]

    @property
    def in_one_line(self) -> str:
        return " ".join(self.lines)


@dataclass(frozen=True, slots=True)
class Badge:
    """A state, in the words of its release cycle."""

    text: str
    category: Category


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of an element, in words and with its colour."""

    text: str
    color: str


@dataclass(frozen=True, slots=True)
class Link:
    """An element as a page refers to it. Without a name the text is empty."""

    address: str
    name: Text
    kind: Kind
    state: Badge | None


@dataclass(frozen=True)
class Visit:
    """The culture is that of the address; what has no text in it is shown in another, and marked."""

    reader: Reader
    lcid: int

    @property
    def configuration(self) -> Configuration:
        return self.reader.configuration

    @cached_property
    def storage_path(self) -> str:
        return get_script_prefix().rstrip("/")

    @cached_property
    def start(self) -> str:
        return f"{self.storage_path}/{self.lcid}/"

    @property
    def search(self) -> str:
        return f"{self.start}search"

    def facet(self, name: str) -> str:
        return f"{self.start}{segment(name)}/"

    def page(self, of: Identity | VersionRow) -> str:
        """The page of an element, as `gotoUrl` names it (D59)."""
        type = self.reader.types[of.type]
        return derived.page_prefix(self.storage_path, self.lcid, type.facet) + of.version

    def word(self, texts: Texts, key: str) -> str:
        """A name of the configuration in the culture of the page (D40)."""
        return display_names(texts, self.configuration.cultures, key)[self.lcid]

    def kind(self, type: ElementType) -> Kind:
        make = self._kind
        return self.configuration.keep(("kind", self.lcid, type.key), lambda: make(type))

    def state(self, type: ElementType, state: str) -> Badge | None:
        """Elements without versions have no state that would tell a reader anything."""
        if not type.is_versioned:
            return None
        make = self._state
        return self.configuration.keep(("badge", self.lcid, type.key, state), lambda: make(type, state))

    def name(self, names: ByCulture) -> Text:
        chosen = choose(names, self.lcid, self.configuration.cultures)
        if chosen is None:
            return Text("")
        return Text(str(chosen.value), "" if chosen.lcid == self.lcid else language_tag(chosen.lcid))

    def link(self, to: Identity | VersionRow, names: ByCulture) -> Link:
        type = self.reader.types[to.type]
        return Link(self.page(to), self.name(names), self.kind(type), self.state(type, to.state))

    def links(self, targets: Iterable[Identity], names: dict[str, ByCulture]) -> list[Link]:
        return [self.link(target, names.get(target.version, {})) for target in targets]

    def _kind(self, type: ElementType) -> Kind:
        return Kind(self.word(type.display_names, type.key), type.color)

    def _state(self, type: ElementType, key: str) -> Badge:
        cycle = self.configuration.cycles[type.key]
        state = next(each for each in cycle.cycle.states if each.key == key)
        return Badge(self.word(state.display_names, key), state.category)


def reader_page(view: ReaderView) -> View:
    """A page for readers: in the language of its culture, for whom the storage lets read, from one snapshot.

    The language comes first, so that a page which says what is wrong speaks it as well.
    """

    def visited(request: HttpRequest, lcid: int, **names: Any) -> HttpResponseBase:
        if page_caller(request) is None:
            throttle_address(request)
            raise Unauthenticated("Sign in to see this page.")
        throttle_caller(caller_of(request))
        reader = reader_of(request)
        if lcid not in reader.configuration.cultures.data:
            raise NotFound(translation.gettext("There is no such page."))
        return view(request, Visit(reader, lcid), **names)

    scoped = in_scope(visited, snapshot=True)

    @require_safe
    @wraps(view)
    def inner(request: HttpRequest, lcid: int, **names: Any) -> HttpResponseBase:
        with translation.override(interface_language(lcid)):
            response = scoped(request, lcid, **names)
        response.headers.setdefault("Content-Language", language_tag(lcid) or interface_language(lcid))
        return response

    return inner
