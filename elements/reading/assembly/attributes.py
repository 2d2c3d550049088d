"""Attributes of a version in wire form: stored ones, and those derived from columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from elements import derived
from elements.filters.syntax import BLANKS
from elements.reading.assembly.projection import TypeProjection
from elements.reading.assembly.response_addresses import Addresses
from elements.reading.rows import VersionRow
from elements.values.files import shown_file
from facets.blueprint.cycles import OPEN, Category
from repository_site.core.rest.datetimes import wire_datetime
from storage.localisation.cultures import INVARIANT_CULTURE

Values = Mapping[str, Any]
INVARIANT = str(INVARIANT_CULTURE)

Derive = Callable[[VersionRow], Values | None]
"""Returns the values of an attribute for a row."""
Steps = list[tuple[str, Derive | None]]
# Different date-times that a request keeps in wire form.
MOST_MOMENTS = 1_000


class AttributeWriter:
    """Writes attributes for one request, in which zone, cultures and addresses are the same for all elements."""

    def __init__(self, addresses: Addresses, zone: ZoneInfo, only: Sequence[int] = ()) -> None:
        self.addresses = addresses
        self._only = [str(lcid) for lcid in only]
        cultures = sorted(addresses.configuration.cultures.data)
        notes = ((str(lcid), derived.author_note(lcid)) for lcid in cultures)
        self.author_note = {lcid: note for lcid, note in notes if note}
        # Steps for each attribute that a type shows, decided once instead of for each row; by the identity of the
        # projection, which is kept here so that its id is not reused.
        self._steps: dict[int, tuple[TypeProjection, Steps]] = {}
        self._moments = MomentWriter(zone)

    def attributes(self, row: VersionRow, shown: TypeProjection, *, has_authors: bool) -> dict[str, Values]:
        found = self.with_author_note(row, shown)
        return found if has_authors else without_author_note(found)

    def with_author_note(self, row: VersionRow, shown: TypeProjection) -> dict[str, Values]:
        """Write attributes as if the version had authors, for callers that learn about authors later and use the time
        until then.

        Names ascend (D9). So do cultures: the database stores shorter keys first, and then in order.
        """
        stored: Mapping[str, Values] = {}
        if shown.stored:
            stored = read_exactly(row.attributes) if shown.is_exact else orjson.loads(row.attributes)
        found: dict[str, Values] = {}
        decided = self._steps.get(id(shown))
        for name, derive in decided[1] if decided else self._decide(shown):
            values = stored.get(name) if derive is None else derive(row)
            if values is not None:
                found[name] = values
        for name in shown.files:
            if name in found:
                found[name] = {lcid: self._files(files) for lcid, files in found[name].items()}
        return plain_values(found, self._only) if self._only else found

    def _files(self, files: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return files with their fields in order. The address of a file of the storage is not stored."""
        prefix = self.addresses.files
        return [dict(sorted(shown_file(each, prefix).items())) for each in files]

    def _decide(self, shown: TypeProjection) -> Steps:
        """Return the steps in the order of names; stored attributes need none."""
        steps = dict.fromkeys(shown.stored) | {name: self._derivation(name, shown) for name in shown.derived}
        found = sorted(steps.items(), key=lambda step: step[0])
        self._steps[id(shown)] = (shown, found)
        return found

    def _derivation(self, name: str, shown: TypeProjection) -> Derive:
        # None of these functions refers to this writer, which keeps them: that would be a reference cycle (D211).
        addresses, note, moments = self.addresses, self.author_note or None, self._moments
        if name == derived.PAGE_ADDRESS:
            return lambda row: _page_addresses(addresses, shown, row.version)
        if name == derived.AUTHOR_NOTE:
            return lambda row: note
        if name in MOMENTS:
            return moments.writer(MOMENTS[name])
        derivation = DERIVATIONS[name]

        def derive(row: VersionRow) -> Values | None:
            value = derivation(row, shown)
            return None if value is None else {INVARIANT: value}

        return derive

    def page_addresses(self, shown: TypeProjection, ending: str) -> Values:
        """Return the addresses of a page with this ending, by culture."""
        return _page_addresses(self.addresses, shown, ending)


class MomentWriter:
    """Writes date-times. A version is often changed, released and valid at the same time."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._written: dict[datetime, Values] = {}

    def writer(self, moment: Callable[[VersionRow], datetime | None]) -> Derive:
        written, zone = self._written, self._zone

        def write(row: VersionRow) -> Values | None:
            instant = moment(row)
            if instant is None:
                return None
            found = written.get(instant)
            if found is None:
                if len(written) >= MOST_MOMENTS:
                    written.clear()
                found = written[instant] = {INVARIANT: wire_datetime(instant, zone)}
            return found

        return write


def _page_addresses(addresses: Addresses, shown: TypeProjection, ending: str) -> Values:
    return {lcid: prefix + ending for lcid, prefix in addresses.pages(shown.type).items()}


def plain_values(attributes: Mapping[str, Values], cultures: Sequence[str]) -> dict[str, Any]:
    """Return values without their cultures (D482): those of all cultures, or the first of these cultures that has one.
    Blank values count as missing, as in filters, unless there is only one culture to look at."""
    found: dict[str, Any] = {}
    for name, values in attributes.items():
        if INVARIANT in values:
            found[name] = values[INVARIANT]
            continue
        known = (values[each] for each in cultures if each in values)
        value = next((each for each in known if len(cultures) == 1 or _is_filled(each)), None)
        if value is not None:
            found[name] = value
    return found


def _is_filled(value: Any) -> bool:
    return not (value is None or value == [] or (isinstance(value, str) and not value.strip(BLANKS)))


def without_author_note(attributes: dict[str, Values]) -> dict[str, Values]:
    attributes.pop(derived.AUTHOR_NOTE, None)
    return attributes


def read_exactly(text: str) -> dict[str, dict[str, Any]]:
    """Parse stored attributes with exact decimals, which floats would round."""
    found: dict[str, dict[str, Any]] = json.loads(text, parse_float=Decimal, parse_int=_integer)
    return found


def _integer(digits: str) -> int | Decimal:
    """Parse integers of any size; the JSON writer accepts up to 64 bits."""
    return int(digits) if len(digits) < 19 else Decimal(digits)


def _version(row: VersionRow, shown: TypeProjection) -> str | None:
    return None if row.major is None else f"{row.major}.{row.minor}"


def _is_released(row: VersionRow, shown: TypeProjection) -> bool | None:
    return row.category == Category.PUBLISHED if shown.type.is_versioned else None


def _released_or_open(row: VersionRow, shown: TypeProjection) -> bool:
    if row.published is not None:
        return row.version == row.published
    return row.version == row.newest and row.newest_category in OPEN


def _open_or_released(row: VersionRow, shown: TypeProjection) -> bool:
    return row.version == (row.newest if row.newest_category in OPEN else row.published)


# None means that the element has no such value, here and below.
MOMENTS: Mapping[str, Callable[[VersionRow], datetime | None]] = {
    "changedOn": attrgetter("changed_on"),
    "createdOn": attrgetter("created_on"),
    "relOn": attrgetter("released_on"),
    "validFrom": attrgetter("valid_from"),
    "validUntil": attrgetter("valid_until"),
}
DERIVATIONS: Mapping[str, Callable[[VersionRow, TypeProjection], Any]] = {
    derived.VERSION: _version,
    derived.STATE: lambda row, shown: derived.state1(shown.type, row.state),
    derived.IS_RELEASED: _is_released,
    derived.STEREOTYPE: lambda row, shown: row.stereotype or None,
    derived.MAJOR: lambda row, shown: row.major,
    derived.MINOR: lambda row, shown: row.minor,
    derived.RELEASED_OR_OPEN: _released_or_open,
    derived.OPEN_OR_RELEASED: _open_or_released,
}
