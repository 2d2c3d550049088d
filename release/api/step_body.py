"""The optional body of a transition or a decision, and its fields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from rest_framework.request import Request

from elements.api.query import QueryParameters
from elements.values.checking import NoInstant, instant_of, read_date_time
from release.api import release_serializers
from release.steps.log import MAX_COMMENT
from repository_site.core.problems import Invalid, Unreadable, Warned
from repository_site.core.wording import GUID, listed, printable
from storage.api.viewset import has_no_body

COMMENT, VALID_UNTIL, ASSIGNEE = "comment", "validUntil", "assignee"
IGNORE_WARNINGS = release_serializers.IGNORE_WARNINGS.name


def ignores_warnings(query: QueryParameters, segment: str | None = None) -> bool:
    """Read `ignoreWarnings` from the query string and the last segment of the path."""
    given = query.given.getlist(IGNORE_WARNINGS)
    found = {query.boolean(IGNORE_WARNINGS, text) for text in (*given[:1], segment)} - {None}
    if len(found) > 1:
        query.problems.append(f"{IGNORE_WARNINGS}: the path and the query string contradict each other.")
    return True in found


@contextmanager
def hinting_at_warnings() -> Iterator[None]:
    """Add to warnings how to ignore them."""
    try:
        yield
    except Warned as problem:
        hint = f"To apply the transition anyway, send {IGNORE_WARNINGS}=true."
        raise Warned(f"{problem.message} {hint}", problem.details) from problem


class StepBody:
    """An optional JSON object with a few known fields. `finish` raises all problems at once."""

    def __init__(self, request: Request, *known: str) -> None:
        self.problems: list[str] = []
        self.invalid: list[str] = []
        document: Any = {} if has_no_body(request) else request.data
        if not isinstance(document, dict):
            raise Unreadable(f"The body must be empty or an object with {listed(known)}.")
        for key in document:
            if key not in known:
                self.problems.append(f"{printable(key, 40)}: unknown field; use {listed(known, 'or')}.")
        self.document = document

    def comment(self) -> str:
        value = self.document.get(COMMENT)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > MAX_COMMENT:
            self.problems.append(f"{COMMENT}: expected a text of at most {MAX_COMMENT} characters.")
            return ""
        return value

    def guid(self, name: str) -> UUID:
        value = self.document.get(name)
        if isinstance(value, str) and GUID.fullmatch(value):
            return UUID(value)
        self.problems.append(f"{name}: expected the id of a user.")
        return UUID(int=0)

    def moment(self, name: str, zone: ZoneInfo) -> datetime | None:
        value = self.document.get(name)
        if value is None:
            return None
        local = read_date_time(value)
        if local is None:
            self.problems.append(f"{name}: expected a date-time such as 2026-12-31T00:00:00.")
            return None
        try:
            return instant_of(local, zone)
        except NoInstant as problem:
            self.invalid.append(f"{name}: {problem}.")
            return None

    def finish(self) -> None:
        """Raise malformed fields first, then times that do not exist in the time zone of the storage (D70)."""
        if len(self.problems) == 1:
            raise Unreadable(self.problems[0])
        if self.problems:
            raise Unreadable(f"The body has {len(self.problems)} problems.", self.problems)
        if self.invalid:
            raise Invalid(self.invalid[0], self.invalid)
