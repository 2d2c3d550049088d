"""The attributes of a version in wire form: those that are stored, and those that are derived from columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from elements import derived
from elements.reading.addresses import Addresses
from elements.reading.projection import TypeProjection
from elements.reading.rows import VersionRow
from facets.cycles import OPEN, Category
from repository_site.rest.datetimes import wire_datetime
from storage.cultures import INVARIANT_CULTURE

Values = Mapping[str, Any]
INVARIANT = str(INVARIANT_CULTURE)


class AttributeWriter:
    """For one request: the zone, the cultures and the addresses are the same for all of its elements."""

    def __init__(self, addresses: Addresses, zone: ZoneInfo) -> None:
        self.addresses = addresses
        self.zone = zone
        cultures = sorted(addresses.configuration.cultures.data)
        notes = ((str(lcid), derived.author_note(lcid)) for lcid in cultures)
        self.author_note = {lcid: note for lcid, note in notes if note}

    def attributes(self, row: VersionRow, shown: TypeProjection, *, has_authors: bool) -> dict[str, Values]:
        """Names ascend (D9). Cultures do, too: the database keeps shorter keys first, then in order."""
        found: dict[str, Values] = {}
        if shown.stored:
            stored = read_exactly(row.attributes) if shown.is_exact else orjson.loads(row.attributes)
            names = shown.stored
            found = {name: values for name, values in stored.items() if name in names}
            for name in shown.files:
                if name in found:
                    found[name] = {lcid: _in_order(files) for lcid, files in found[name].items()}
        for name in shown.derived:
            if (value := self.derived(name, row, shown, has_authors)) is not None:
                found[name] = value
        return dict(sorted(found.items()))

    def derived(self, name: str, row: VersionRow, shown: TypeProjection, has_authors: bool) -> Values | None:
        if name == derived.PAGE_ADDRESS:
            return self.page_addresses(row, shown)
        if name == derived.AUTHOR_NOTE:
            return self.author_note if has_authors and self.author_note else None
        value = DERIVATIONS[name](row, shown)
        if value is None:
            return None
        return {INVARIANT: wire_datetime(value, self.zone) if isinstance(value, datetime) else value}

    def page_addresses(self, row: VersionRow, shown: TypeProjection, ending: str | None = None) -> Values:
        """Of the version's own page, unless another ending is given."""
        last = row.version if ending is None else ending
        return {lcid: prefix + last for lcid, prefix in self.addresses.pages(shown.type).items()}


def _in_order(files: list[dict[str, str]]) -> list[dict[str, str]]:
    return [dict(sorted(file.items())) for file in files]


def read_exactly(text: str) -> dict[str, dict[str, Any]]:
    """Stored attributes with decimals of any length, which floats would cut."""
    found: dict[str, dict[str, Any]] = json.loads(text, parse_float=Decimal, parse_int=_integer)
    return found


def _integer(digits: str) -> int | Decimal:
    """Of any length, too: JSON is written from integers of up to 64 bits."""
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


# None means that the element has no such value.
DERIVATIONS: Mapping[str, Callable[[VersionRow, TypeProjection], Any]] = {
    "changedOn": lambda row, shown: row.changed_on,
    "createdOn": lambda row, shown: row.created_on,
    "relOn": lambda row, shown: row.released_on,
    "validFrom": lambda row, shown: row.valid_from,
    "validUntil": lambda row, shown: row.valid_until,
    derived.VERSION: _version,
    derived.STATE: lambda row, shown: derived.state1(shown.type, row.state),
    derived.IS_RELEASED: _is_released,
    derived.STEREOTYPE: lambda row, shown: row.stereotype or None,
    derived.MAJOR: lambda row, shown: row.major,
    derived.MINOR: lambda row, shown: row.minor,
    derived.RELEASED_OR_OPEN: _released_or_open,
    derived.OPEN_OR_RELEASED: _open_or_released,
}
