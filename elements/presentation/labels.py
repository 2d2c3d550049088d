"""Names, types, states and references in one culture. Back office and reader pages each derive from `Labels`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from elements.reading.assembly.assembler import Reader
from elements.reading.names import ByCulture, choose, read_version_names
from elements.reading.rows import Identity, VersionRow
from facets.blueprint.cycles import Category, Transition
from facets.blueprint.definitions import ElementType, Property
from facets.blueprint.texts import Texts
from facets.configuration import Configuration
from facets.rendering import display_names, other_texts
from storage.localisation.culture_names import language_tag

CAMEL_CASE = re.compile(r"[a-z]+[0-9]*(?:[A-Z][A-Za-z0-9]*)+")
# Characters of a name in a link.
LONGEST_LINK = 300


class Text(str):
    """A text of the storage. `lang` is its language tag if it is not in the language of the page."""

    __slots__ = ("lang",)
    lang: str

    def __new__(cls, text: str, lang: str = "") -> Text:
        made = super().__new__(cls, text)
        made.lang = lang
        return made

    @property
    def for_link(self) -> Text:
        """The beginning of a long text. A page may name one element many times, so a long name would make it
        very large."""
        return self if len(self) <= LONGEST_LINK else Text(f"{self[:LONGEST_LINK]}…", self.lang)

    @property
    def lines(self) -> list[str]:
        return [line for line in self.splitlines() if line.strip()]

    @property
    def in_one_line(self) -> str:
        return " ".join(self.lines)


@dataclass(frozen=True, slots=True)
class Badge:
    """A state: its name in the release cycle, and the category that decides its colour."""

    text: str
    category: Category


@dataclass(frozen=True, slots=True)
class Kind:
    text: str
    color: str


@dataclass(frozen=True, slots=True)
class Named:
    """An element, or one of its versions, as pages name it and link to it. The address is empty if the reader sees
    nothing but the name (D206)."""

    element: str
    version: str
    address: str
    name: Text
    type: ElementType
    kind: Kind
    state: Badge | None
    number: str = ""

    @property
    def type_name(self) -> str:
        return self.kind.text


@dataclass(frozen=True, slots=True)
class Fact:
    """A read-only fact about a version, with the people it names."""

    label: str
    text: str
    links: Sequence[Named] = ()


def key_words(key: str) -> str:
    """Return the words of a key without a title: `readyForRelease` is shown as "Ready for release" (D420)."""
    if not CAMEL_CASE.fullmatch(key):
        return key
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).split()
    return " ".join([words[0].capitalize(), *(each if each.isupper() else each.lower() for each in words[1:])])


def version_number(major: int | None, minor: int | None) -> str:
    return "" if major is None else f"{major}.{minor}"


class Labels:
    """Texts of one storage in one culture, with the fallbacks of the storage (D40, D97)."""

    def __init__(self, reader: Reader, lcid: int) -> None:
        self.reader = reader
        self.lcid = lcid

    @property
    def configuration(self) -> Configuration:
        return self.reader.configuration

    def address(self, of: Identity | VersionRow) -> str:
        """Return the address of the page of an element."""
        raise NotImplementedError

    def text(self, texts: Texts, fallback: str) -> str:
        return display_names(texts, self.configuration.cultures, key_words(fallback))[self.lcid]

    def help(self, property: Property) -> str:
        cultures = self.configuration.cultures
        tooltip = other_texts(property.tooltips, cultures)[self.lcid]
        return tooltip or other_texts(property.descriptions, cultures)[self.lcid]

    def facet(self, name: str) -> str:
        facet = self.configuration.facet(name).facet
        return self.text(facet.display_names, facet.name)

    def property(self, property: Property) -> str:
        return self.text(property.display_names, property.key)

    def transition(self, transition: Transition) -> str:
        return self.text(transition.display_names, transition.key)

    def kind(self, type: ElementType) -> Kind:
        return self._kinds[type.key]

    def type(self, type: ElementType) -> str:
        return self.kind(type).text

    def state(self, type: ElementType, state: str) -> str:
        badge = self._badges.get((type.key, state))
        return badge.text if badge else key_words(state)

    def badge(self, type: ElementType, state: str) -> Badge | None:
        """Return None for types without versions, whose state tells nothing."""
        if not type.is_versioned or not state:
            return None
        return self._badges.get((type.key, state)) or Badge(key_words(state), Category.STATIC)

    def chosen(self, values: ByCulture) -> Text:
        """Return the value of the culture or its fallback; empty if there is none."""
        found = choose(values, self.lcid, self.configuration.cultures)
        if found is None:
            return Text("")
        return Text(str(found.value), "" if found.lcid == self.lcid else language_tag(found.lcid))

    def name(self, names: ByCulture, fallback: str | None = None) -> Text:
        """Return the name of an element from the values of its attribute `name`."""
        return self.chosen(names) or Text(_("(without a name)") if fallback is None else fallback)

    def link(self, to: Identity | VersionRow, names: ByCulture) -> Named:
        type = self.reader.types[to.type]
        badge = self.badge(type, to.state)
        address = "" if to.type in self.reader.audience.closed else self.address(to)
        return Named(to.element, to.version, address, self.name(names).for_link, type, self.kind(type), badge)

    def links(self, targets: Iterable[Identity | VersionRow], names: Mapping[str, ByCulture]) -> list[Named]:
        return [self.link(target, names.get(target.version, {})) for target in targets]

    def read_links(self, targets: Iterable[Identity]) -> dict[str, Named]:
        """Read the names of any number of elements in one statement; return the links by element id."""
        found = list(targets)
        names = read_version_names({each.version for each in found})
        return {each.element: each for each in self.links(found, names)}

    @cached_property
    def _kinds(self) -> Mapping[str, Kind]:
        types = self.configuration.types_by_id.values()
        return self.configuration.keep(
            ("kinds", self.lcid),
            lambda: {each.key: Kind(self.text(each.display_names, each.key), each.color) for each in types},
        )

    @cached_property
    def _badges(self) -> Mapping[tuple[str, str], Badge]:
        cycles = self.configuration.cycles
        return self.configuration.keep(
            ("badges", self.lcid),
            lambda: {
                (type, state.key): Badge(self.text(state.display_names, state.key), state.category)
                for type, compiled in cycles.items()
                for state in compiled.cycle.states
            },
        )
