"""What the pages of the back office call elements, types, states and properties, in the language of who looks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import orjson
from babel import Locale
from django.http import HttpRequest
from django.urls import reverse
from django.utils import formats
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from elements.naming import NAME
from elements.page_requests import reader_of
from elements.reading.assembly.assembler import Reader
from elements.reading.names import chosen_name, language_culture
from elements.reading.rows import VERSION_AND_ELEMENT
from elements.writing.updating import NO_END
from facets.blueprint.cycles import Category, Transition
from facets.blueprint.definitions import ElementType, Property
from facets.blueprint.texts import Texts
from facets.rendering import display_names
from repository_site.core.database.statements import fetch
from storage.localisation.cultures import language_of, locale_name

# How a badge looks for what a state means.
BADGES = {
    Category.DRAFT: "warning",
    Category.REVIEW: "info",
    Category.PUBLISHED: "success",
    Category.RETIRED: "muted",
    Category.STATIC: "muted",
}
NAMES_OF_CATEGORIES = {
    Category.DRAFT: lambda: _("Draft"),
    Category.REVIEW: lambda: _("In review"),
    Category.PUBLISHED: lambda: _("Published"),
    Category.RETIRED: lambda: _("Retired"),
    Category.STATIC: lambda: _("Without versions"),
}
SQL = f"""SELECT e.id::text, v.id::text, e.type_id::text, v.state, v.category, v.attributes->'name', v.major, v.minor
    FROM {VERSION_AND_ELEMENT} WHERE """  # noqa: S608  constants of ours


@dataclass(frozen=True, slots=True)
class Badge:
    text: str
    look: str


@dataclass(frozen=True, slots=True)
class CultureLabel:
    lcid: int
    name: str
    is_mandatory: bool
    is_default: bool


@dataclass(frozen=True, slots=True)
class Named:
    """An element, or one version of it, as pages name it and lead to it."""

    element: str
    version: str
    name: str
    type: ElementType
    type_name: str
    state: Badge | None
    number: str
    is_exact: bool = False
    """That very version is meant, not the element as it is now."""

    @property
    def address(self) -> str:
        return element_address(self.element, version=self.version if self.is_exact else None)


def element_address(element: str, **parameters: str | None) -> str:
    return page_address("elements_element_change", element, **parameters)


def page_address(name: str, element: str, **parameters: str | None) -> str:
    """A page about an element; what is None is left out."""
    given = urlencode({key: value for key, value in parameters.items() if value})
    return reverse(f"admin:{name}", args=[element]) + (f"?{given}" if given else "")


class Labels:
    """For one request: texts in the culture that fits the language of the page, else the default one, else any."""

    def __init__(self, reader: Reader, language: str) -> None:
        self.reader = reader
        self.configuration = reader.configuration
        cultures = self.configuration.cultures
        self.language = language.replace("-", "_")
        self.culture = language_culture(language, cultures)

    def name(self, names: Mapping[str, Any], fallback: str | None = None) -> str:
        """Of an element, from the values of its attribute `name`."""
        found = chosen_name(names, self.culture, self.configuration.cultures)
        return found or (_("(without a name)") if fallback is None else fallback)

    def text(self, texts: Texts, fallback: str) -> str:
        return display_names(texts, self.configuration.cultures, fallback)[self.culture]

    def type(self, type: ElementType) -> str:
        return self._types[type.key]

    def facet(self, name: str) -> str:
        facet = self.configuration.facet(name).facet
        return self.text(facet.display_names, facet.name)

    def property(self, property: Property) -> str:
        return self.text(property.display_names, property.key)

    def transition(self, transition: Transition) -> str:
        return self.text(transition.display_names, transition.key)

    def state(self, type: ElementType, state: str) -> str:
        return self._states.get((type.key, state), state)

    def badge(self, type: ElementType, state: str, category: str | None = None) -> Badge | None:
        """None for elements without states."""
        if not type.is_versioned or not state:
            return None
        found = Category(category) if category else self.configuration.cycles[type.key].categories.get(state)
        return Badge(self.state(type, state), BADGES.get(found or Category.STATIC, "muted"))

    @cached_property
    def _types(self) -> Mapping[str, str]:
        types = self.configuration.types
        return self.configuration.keep(
            ("type labels", self.culture),
            lambda: {key: self.text(type.display_names, key) for key, type in types.items()},
        )

    @cached_property
    def _states(self) -> Mapping[tuple[str, str], str]:
        """By type and state."""
        cycles = self.configuration.cycles
        return self.configuration.keep(
            ("state labels", self.culture),
            lambda: {
                (type, state.key): self.text(state.display_names, state.key)
                for type, cycle in cycles.items()
                for state in cycle.cycle.states
            },
        )

    def elements(self, ids: Iterable[str]) -> dict[str, Named]:
        """One statement for any number, by id; what is gone is missing."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        rows = fetch(f"{SQL} e.id = ANY(%s::uuid[]) AND v.id = e.{self.reader.audience.pointer}", [wanted])
        return {row[0]: self._named(row, is_exact=False) for row in rows}

    def versions(self, ids: Collection[str]) -> dict[str, Named]:
        """The same of exact versions."""
        rows = fetch(f"{SQL} v.id = ANY(%s::uuid[])", [sorted(ids)]) if ids else []
        return {row[1]: self._named(row, is_exact=True) for row in rows}

    def _named(self, row: tuple[Any, ...], *, is_exact: bool) -> Named:
        element, version, type_id, state, category, names, major, minor = row
        type = self.reader.types[type_id]
        return Named(
            element,
            version,
            self.name(orjson.loads(names) if names else {}),
            type,
            self.type(type),
            self.badge(type, state, category),
            "" if major is None else f"{major}.{minor}",
            is_exact and type.is_versioned,
        )

    def own(self, attributes: Mapping[str, Mapping[str, Any]]) -> str:
        """The name of a version whose attributes were read."""
        return self.name(attributes.get(NAME, {}))

    def moment(self, moment: datetime | None) -> str:
        """Local to the storage; empty when there is none, and so is the end of what has none."""
        return self._date(moment, "SHORT_DATETIME_FORMAT")

    def day(self, moment: datetime | None) -> str:
        return self._date(moment, "SHORT_DATE_FORMAT")

    def _date(self, moment: datetime | None, form: str) -> str:
        if moment is None or moment.year >= NO_END.year:
            return ""
        return formats.date_format(moment.astimezone(self.reader.zone), form)

    @cached_property
    def cultures(self) -> list[CultureLabel]:
        """The data cultures, in their order."""
        cultures = self.configuration.cultures
        languages = [language_of(lcid) for lcid in cultures.data]
        return [
            CultureLabel(lcid, self._culture(lcid, languages), lcid in cultures.mandatory, lcid == cultures.default)
            for lcid in cultures.data
        ]

    def _culture(self, lcid: int, languages: Sequence[str]) -> str:
        """The language is enough where no other culture has it."""
        locale = Locale.parse(locale_name(lcid) or "en")
        full = locale.get_display_name(self.language)
        short = locale.get_language_name(self.language)
        return str((short if languages.count(language_of(lcid)) == 1 else full) or lcid)


def labels_of(request: HttpRequest) -> Labels:
    return Labels(reader_of(request), get_language() or "en")
