"""Times that a client names to read the past (D563): the parameter `$asOf`, and the bounds of every such time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.utils import timezone
from rest_framework.request import Request

from repository_site.core.problems import Invalid, Unreadable
from repository_site.core.rest.operation import Operation
from repository_site.core.wording import printable
from storage.models import Storage
from storage.tenancy.scope import recorded_since

AS_OF = "$asOf"
# Python accepts any character between date and time, so it would read an offset after a date as a time.
DATE, TIME = r"(\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d(-?\d)?)", r"([Tt ].+)?"
FORM = re.compile(DATE + TIME, re.ASCII)


def moment_of(request: Request, operation: Operation, storage: Storage) -> datetime | None:
    """Return the time of `$asOf`; None if the request reads the content of today."""
    given = request._request.GET.getlist(AS_OF)
    if not any(given):
        return None
    if operation.writes:
        raise Unreadable(f"{AS_OF}: the past can only be read; leave it out to change the content of today.")
    if AS_OF not in operation.query_names:
        raise Unreadable(f"{AS_OF}: this operation shows the present only; reads of elements take {AS_OF}.")
    if len(given) > 1:
        raise Unreadable(f"{AS_OF} is given more than once; send it once.")
    return read_moment(AS_OF, given[0], storage)


def read_moment(name: str, text: str, storage: Storage) -> datetime:
    """Return the time of a parameter: ISO 8601, without an offset local to the time zone of the storage (D13)."""
    # An unescaped plus sign of an address means a space.
    text = text[:11] + text[11:].replace(" ", "+")
    try:
        if not FORM.fullmatch(text):
            raise ValueError
        found = datetime.fromisoformat(text)
        moment = (found if found.tzinfo else found.replace(tzinfo=ZoneInfo(storage.time_zone))).astimezone(UTC)
    except (ValueError, OverflowError):
        example = f"{name}=2026-03-01T09:30:00"
        problem = f"{name}: expected a time in ISO 8601, such as {example}, not {printable(text, 40)!r}."
        raise Unreadable(problem) from None
    if moment > timezone.now():
        raise Invalid(f"{name}: {printable(text, 40)} is in the future.")
    return moment


def require_record(name: str, moment: datetime) -> None:
    """Refuse a time before the record of the scope's storage."""
    earliest = recorded_since()
    if moment < earliest:
        raise Invalid(f"{name}: the record of this storage begins at {earliest.astimezone(UTC).isoformat()}.")
