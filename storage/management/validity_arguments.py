"""The argument `--valid-until` of commands that issue and rotate tokens (D485)."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

if TYPE_CHECKING:
    from storage.models import Storage

NO_END = date(9999, 12, 31)
NEVER = "never"
EXPECTED = "expected a date such as 2027-12-31, a date-time, a number of days such as 30d, or never"


@dataclass(frozen=True, slots=True)
class ValidityEnd:
    """The end of a token as a command line names it. None means never."""

    moment: datetime | None

    def in_zone_of(self, storage: Storage | None) -> datetime | None:
        """Return the end; a moment without a zone is in the time zone of the storage."""
        if self.moment is None or self.moment.tzinfo is not None:
            return self.moment
        return self.moment.replace(tzinfo=ZoneInfo(storage.time_zone if storage else settings.DEFAULT_TIME_ZONE))


def validity_end(text: str) -> ValidityEnd:
    """Return the end of a day, a date-time, the moment after a number of days, or never."""
    if text.lower() == NEVER:
        return ValidityEnd(None)
    try:
        if days := re.fullmatch(r"(\d{1,6})d", text):
            return ValidityEnd(timezone.now() + timedelta(days=int(days[1])))
        try:
            day = date.fromisoformat(text)
        except ValueError:
            return ValidityEnd(datetime.fromisoformat(text))
        return ValidityEnd(None if day == NO_END else datetime.combine(day + timedelta(days=1), time()))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r}: {EXPECTED}") from None


def add_validity_argument(parser: CommandParser, default: str) -> None:
    parser.add_argument(
        "--valid-until",
        type=validity_end,
        metavar="END",
        help="last day, such as 2027-12-31, or date-time, in the time zone of the storage; a number of days, such as"
        f" 30d; or never; default: {default}",
    )
