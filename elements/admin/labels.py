"""Names of elements, types and states in the back office, in the language of the account, and the pages to link to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import orjson
from babel import Locale
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import get_script_prefix, reverse
from django.utils import formats
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from elements.naming import NAME
from elements.presentation.labels import Badge, Labels, Named, Text, version_number
from elements.presentation.page_requests import reader_of, reader_of_self
from elements.presentation.values import is_no_end
from elements.reading.assembly.assembler import Reader
from elements.reading.names import language_culture
from elements.reading.rows import VERSION_AND_ELEMENT, Identity, VersionRow
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, ask, id_array
from storage.localisation.cultures import language_of, locale_name

SQL = f"""SELECT e.id::text, v.id::text, e.type_id::text, v.state, (v.attributes->'name')::text, v.major, v.minor
    FROM {VERSION_AND_ELEMENT} WHERE """  # noqa: S608  constants of ours

DAY = "SHORT_DATE_FORMAT"
NIL = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class CultureLabel:
    lcid: int
    name: str
    is_mandatory: bool
    is_default: bool


def element_address(element: str, **parameters: str | None) -> str:
    return page_address("elements_element_change", element, **parameters)


def page_address(name: str, element: str, **parameters: str | None) -> str:
    """Return the address of a page about an element, without the parameters that are None."""
    given = urlencode({key: value for key, value in parameters.items() if value})
    before, after = _parts_of_address(get_script_prefix(), name)
    address = f"{before}{element}{after}"
    return f"{address}?{given}" if given else address


@lru_cache(1_000)
def _parts_of_address(prefix: str, name: str) -> tuple[str, str]:
    """Return the parts of the address before and after the id. They are cached, because resolving them is slow."""
    before, _id, after = reverse(f"admin:{name}", args=[NIL]).rpartition(NIL)
    return before, after


class OfficeLabels(Labels):
    """Labels for one request, in the data culture that fits the language of the page."""

    def __init__(self, reader: Reader, language: str) -> None:
        super().__init__(reader, language_culture(language, reader.configuration.cultures))
        self.language = language.replace("-", "_")

    def address(self, of: Identity | VersionRow) -> str:
        return element_address(of.element)

    def elements(self, ids: Iterable[str]) -> dict[str, Named]:
        """Read any number of elements in one statement; return them by id, without those that do not exist."""
        return ask(self.elements_of(ids))

    def elements_of(self, ids: Iterable[str]) -> Question[dict[str, Named]]:
        wanted = sorted(set(ids))
        sql = f"{SQL} e.id = ANY(%s::uuid[]) AND v.id = e.{self.reader.audience.pointer}"
        return Question(
            sql if wanted else "",
            [id_array(wanted)],
            lambda rows: {row[0]: self._named(row, element_address(row[0])) for row in rows},
        )

    def versions(self, ids: Collection[str]) -> dict[str, Named]:
        """Read exactly these versions; each links to itself, not to the newest version of its element."""
        return ask(self.versions_of(ids))

    def versions_of(self, ids: Collection[str]) -> Question[dict[str, Named]]:
        def understand(rows: list[Row]) -> dict[str, Named]:
            exact = {row[1]: row[1] if self.reader.types[row[2]].is_versioned else None for row in rows}
            return {row[1]: self._named(row, element_address(row[0], version=exact[row[1]])) for row in rows}

        return Question(f"{SQL} v.id = ANY(%s::uuid[])" if ids else "", [id_array(sorted(ids))], understand)

    def _named(self, row: tuple[Any, ...], address: str) -> Named:
        element, version, type_id, state, names, major, minor = row
        type = self.reader.types[type_id]
        name = self.name(orjson.loads(names) if names else {}).for_link
        badge, number = self.badge(type, state), version_number(major, minor)
        address = "" if type_id in self.reader.audience.closed else address
        return Named(element, version, address, name, type, self.kind(type), badge, number)

    def own(self, attributes: Mapping[str, Mapping[str, Any]]) -> Text:
        return self.name(attributes.get(NAME, {}))

    def moment(self, moment: datetime | None) -> str:
        """Format in the time zone of the storage; empty for None and for the end of a version without end."""
        return self._date(moment, "SHORT_DATETIME_FORMAT")

    def end(self, moment: datetime | None) -> str:
        """Format the end of a version."""
        return self.moment(moment) or _("no end")

    def day(self, moment: datetime | None) -> str:
        return self._date(moment, DAY)

    def _date(self, moment: datetime | None, form: str) -> str:
        if moment is None or is_no_end(moment):
            return ""
        # Many rows of a page have the same times, and formatting one takes 60 µs.
        local = moment.astimezone(self.reader.zone)
        shown = local.date() if form == DAY else local
        known = self._dates.get((shown, form))
        if known is None:
            known = self._dates[shown, form] = formats.date_format(shown, form)
        return known

    @cached_property
    def _dates(self) -> dict[tuple[date, str], str]:
        return {}

    def state_markup(self, badge: Badge | None) -> SafeString:
        """Return the markup of a state. It is rendered once, because many rows share a state."""
        if badge not in self._states:
            self._states[badge] = render_to_string("presentation/state.html", {"state": badge})
        return self._states[badge]

    @cached_property
    def _states(self) -> dict[Badge | None, SafeString]:
        return {}

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Titles of properties, types, states and transitions by key; those of properties win. If types call a property
        differently, most of them decide."""
        types = self.configuration.types.values()
        cycles = [each.cycle for each in self.configuration.cycles.values()]
        return self.configuration.keep(
            ("titles", self.lcid),
            lambda: {
                **{each.key: self.text(each.display_names, each.key) for cycle in cycles for each in cycle.transitions},
                **{each.key: self.text(each.display_names, each.key) for cycle in cycles for each in cycle.states},
                **{each.key: self.type(each) for each in types},
                **{key: Counter(each).most_common(1)[0][0] for key, each in self._property_titles().items()},
            },
        )

    def _property_titles(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for type in self.configuration.types.values():
            for each in type.properties:
                found.setdefault(each.key, []).append(self.property(each))
        return found

    @cached_property
    def cultures(self) -> list[CultureLabel]:
        cultures = self.configuration.cultures
        languages = [language_of(lcid) for lcid in cultures.data]
        return [
            CultureLabel(lcid, self._culture(lcid, languages), lcid in cultures.mandatory, lcid == cultures.default)
            for lcid in cultures.data
        ]

    def _culture(self, lcid: int, languages: Sequence[str]) -> str:
        """Name the language alone if no other culture has the same language."""
        locale = Locale.parse(locale_name(lcid) or "en")
        full = locale.get_display_name(self.language)
        short = locale.get_language_name(self.language)
        return str((short if languages.count(language_of(lcid)) == 1 else full) or lcid)


def labels_of(request: HttpRequest, row: VersionRow | None = None) -> OfficeLabels:
    """Return labels for a page, or for the page of one element."""
    reader = reader_of(request)
    return OfficeLabels(reader if row is None else reader_of_self(request, reader, row), get_language() or "en")
