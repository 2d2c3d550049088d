"""Validation of attribute values (D16). Pure: returns the problem in words, or None."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from elements.values.files import FILE_FIELDS, is_stored_file, stored_file_problem
from elements.values.html import html_problem, runs_code
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute
from repository_site.core.rest.datetimes import wire_datetime

LOCAL_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,7})?")
LINE_BREAK = re.compile(r"[\r\n\x0b\x0c\x85\u2028\u2029]")
MAX_INTEGER = 2**63 - 1
# Keys of a selection that a message names. A request can be wrong about many values.
NAMED_KEYS = 100
RUNS_CODE = gettext_noop("must not be an address that runs code")

Check = Callable[[Attribute, Any], str | None]


def value_problem(attribute: Attribute, value: Any) -> str | None:
    return value_check(attribute)(attribute, value)


def value_check(attribute: Attribute) -> Check:
    """Return the check of an attribute, for callers with many values of one attribute."""
    return _CHECKS[attribute.data_type]


def is_empty(value: Any) -> bool:
    """Whether IsNull of the filter language matches: missing, blank, or an empty list."""
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def read_date_time(text: Any) -> datetime | None:
    """Return a local date-time in the format of the API, or None; a seventh digit of the fraction is dropped."""
    if not isinstance(text, str) or not LOCAL_DATE_TIME.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text[:26])
    except ValueError:
        return None


def no_date_time() -> str:
    return _("must be a date-time such as 2026-12-31T13:45:00")


class NoInstant(ValueError):
    """A local time that does not exist, or that cannot be stored; the text continues a sentence after the name."""


def instant_of(local: datetime, zone: ZoneInfo) -> datetime:
    """Return a local time in UTC; the earlier one for an hour that occurs twice."""
    try:
        instant = local.replace(tzinfo=zone).astimezone(UTC)
    except OverflowError:
        words = {"first": _bound(datetime.min, zone), "last": _bound(datetime.max, zone)}
        raise NoInstant(_("must be between %(first)s and %(last)s") % words) from None
    if instant.astimezone(zone).replace(tzinfo=None) != local:
        text = _("does not exist in %(zone)s: clocks are set forward past %(time)s there")
        raise NoInstant(text % {"zone": zone.key, "time": local.isoformat()})
    return instant


def _bound(extreme: datetime, zone: ZoneInfo) -> str:
    """Return the first or last time of UTC as local time, as far as its year exists."""
    try:
        return wire_datetime(extreme.replace(tzinfo=UTC), zone)
    except OverflowError:
        return extreme.isoformat()


def _text(attribute: Attribute, value: Any) -> str | None:
    if not isinstance(value, str):
        return _("must be text")
    return _("must not contain a NUL character") if "\x00" in value else None


def _single_line(attribute: Attribute, value: Any) -> str | None:
    problem = _text(attribute, value)
    return problem or (_("must be a single line") if LINE_BREAK.search(value) else None)


def _html(attribute: Attribute, value: Any) -> str | None:
    return _text(attribute, value) or html_problem(value)


def _selection(attribute: Attribute, value: Any) -> str | None:
    return _selections(attribute, [value])


def _selections(attribute: Attribute, value: Any) -> str | None:
    if not isinstance(value, list) or len(set(map(str, value))) != len(value):
        return _("must be a list of different keys")
    keys = dict.fromkeys(each.key for each in attribute.selectable_values if each.key is not None)
    if all(isinstance(each, str) and each in keys for each in value):
        return None
    more = ", …" if len(keys) > NAMED_KEYS else ""
    return _("must be one of %(known)s") % {"known": ", ".join(islice(keys, NAMED_KEYS)) + more}


def _boolean(attribute: Attribute, value: Any) -> str | None:
    return None if isinstance(value, bool) else _("must be true or false")


def _integer(attribute: Attribute, value: Any) -> str | None:
    good = isinstance(value, int) and not isinstance(value, bool) and -MAX_INTEGER - 1 <= value <= MAX_INTEGER
    return None if good else _("must be a whole number of up to 64 bits")


def _decimal(attribute: Attribute, value: Any) -> str | None:
    return None if isinstance(value, int | Decimal) and not isinstance(value, bool) else _("must be a number")


def _date(attribute: Attribute, value: Any) -> str | None:
    try:
        good = isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        good = False
    return None if good else _("must be a date such as 2026-12-31")


def _date_time(attribute: Attribute, value: Any) -> str | None:
    return None if read_date_time(value) is not None else no_date_time()


def _url(attribute: Attribute, value: Any) -> str | None:
    problem = _single_line(attribute, value)
    return problem or (_(RUNS_CODE) if runs_code(value) else None)


def _files(attribute: Attribute, value: Any) -> str | None:
    if not isinstance(value, list):
        return _("must be a list of files")
    for item in value:
        if is_stored_file(item):
            if problem := stored_file_problem(item):
                return problem
            continue
        if not isinstance(item, dict) or set(item) - set(FILE_FIELDS):
            return _("must contain objects with %(names)s") % {"names": ", ".join(FILE_FIELDS)}
        if not all(isinstance(text, str) for text in item.values()) or "address" not in item:
            return _("must contain files with an address; all fields must be text")
        if any(runs_code(item.get(name, "")) for name in ("address", "fullAddress")):
            return _(RUNS_CODE)
    return None


_CHECKS: dict[DataType, Check] = {
    DataType.SINGLE_LINE_TEXT: _single_line,
    DataType.MULTI_LINE_TEXT: _text,
    DataType.HTML: _html,
    DataType.SELECTION_VALUE: _selection,
    DataType.MULTI_SELECTION_VALUE: _selections,
    DataType.BOOLEAN: _boolean,
    DataType.INTEGER: _integer,
    DataType.DECIMAL: _decimal,
    DataType.DATE: _date,
    DataType.DATE_TIME: _date_time,
    DataType.URL: _url,
    DataType.FILES: _files,
}
