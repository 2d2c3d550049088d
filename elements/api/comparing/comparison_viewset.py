"""Comparison of an element in two versions or at two times, and of a storage at two times (D568 to D570)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from django.conf import settings
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from elements.api.comparing.comparison_serializers import (
    COMPARE_ADDRESS,
    ELEMENT,
    STORAGE,
    WORDS,
    ChangedElementsSerializer,
    ComparisonSerializer,
)
from elements.api.query import QueryParameters
from elements.api.reading_viewset import ElementReadingViewSet, view_names
from elements.comparing.comparison import FROM, TO, ElementComparison
from elements.comparing.sides import Side, read_sides
from elements.comparing.storage_changes import ChangedElement, ChangeKind, read_changed_elements
from elements.filters.conditions import Condition
from elements.reading.assembly.assembler import Wire
from elements.reading.bounds import BoundedWriter, checked, most_text
from elements.reading.lists import selection as selecting
from elements.reading.rows import VersionRow, read_identities, read_versions
from repository_site.core.database.statements import id_array, text_array
from repository_site.core.matching import Effort
from repository_site.core.problems import Invalid, NotFound, Unreadable, placed
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import JSON_TYPE, counted, to_json
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, printable
from storage.api.conditional_requests import Prepared
from storage.api.moments import AS_OF, read_moment, require_record
from storage.tenancy.scope import read_as_of

NUMBER = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})", re.ASCII)
VERSION_OR_TIME = "expected the id or the number of a version, such as 2.0, or a time, such as 2026-03-01T09:30:00"
ONLY_TIME = "expected a time, such as 2026-03-01T09:30:00"


class Point(NamedTuple):
    """A side of a comparison in a request: a version or a time. Without both, it is what the caller reads now."""

    version: str = ""
    time: datetime | None = None


class ComparisonViewSet(ElementReadingViewSet):
    @Operation(
        "compareElement",
        tag="elements",
        summary="Compare two versions of an element",
        versions=ApiVersions.up_to("1.0"),
        parameters=ELEMENT,
        is_conditional=True,
        responses=ComparisonSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return what differs between two versions of an element, or between an element at two times: state,
        attributes, references by context, shapes and flows; at two times also its parent and its children.

        At a time, the version that the caller would have read then is compared. All properties of the type are
        compared, or those in `$select`; values that the server sets are left out. Parts without a difference are left
        out, too. Elements that the diagram of each version has its own copy of count as the same element. Viewers and
        anonymous readers compare published versions only.
        """
        self.show_own(names["elementId"])
        view = self.view_of(names)
        query = self.query(request)
        select = query.select(view_names(self.configuration, view))
        points = self._point(query, FROM), self._point(query, TO)
        with_words = query.boolean(WORDS, query.text(WORDS))
        query.finish()
        self._require_records(*points)
        if points[1].time:
            # The element of today was read with the scope.
            self._asked_element = None
        with read_as_of(points[1].time):
            row = self.element_in(view, names["elementId"])
        versions = self._versions(row, points)

        def compare() -> HttpResponseBase:
            old, new = self._sides(points, versions, select)
            effort = Effort(settings.COMPARISON_EFFORT) if with_words else None
            # Comparing takes time and needs no database connection.
            comparison = ElementComparison(self.reader, old, new, select, effort)
            return LateResponse(lambda: checked(to_json(comparison.wire())), JSON_TYPE)

        return Prepared(compare)

    def _point(self, query: QueryParameters, name: str, *, with_versions: bool = True) -> Point:
        text, expected = query.text(name), VERSION_OR_TIME if with_versions else ONLY_TIME
        if text is None:
            if name == FROM and len(query.given.getlist(name)) < 2:
                query.problems.append(placed(name, f"{expected}."))
            return Point()
        if with_versions and (GUID.fullmatch(text) or NUMBER.fullmatch(text)):
            return Point(text.lower())
        try:
            return Point(time=read_moment(name, text, self.storage))
        except Unreadable:
            query.problems.append(placed(name, f"{expected}, not {printable(text, 40)!r}."))
            return Point()

    def _require_records(self, *points: Point) -> None:
        for name, point in zip((FROM, TO), points, strict=True):
            if point.time:
                require_record(name, point.time)

    def _versions(self, row: VersionRow, points: Sequence[Point]) -> list[str]:
        """Return the versions of an element that the caller sees at these points."""
        asked = [each.version for each in points if each.version]
        named = Condition(
            "v.id = ANY(%s::uuid[]) OR concat(v.major, '.', v.minor) = ANY(%s::text[])",
            (id_array(each for each in asked if GUID.fullmatch(each)), text_array(asked)),
        )
        selection = selecting.versions_of(self.reader.audience, row.element).matching(named)
        known: dict[str, str] = {}
        for each in selecting.read_page(selection, None) if asked else ():
            known |= {each.version: each.version, f"{each.major}.{each.minor}": each.version}
        return [known.get(point.version) or self._current(row, point) for point in points]

    def _current(self, row: VersionRow, point: Point) -> str:
        """Return the version that the caller reads at a time, or now."""
        if point.version not in ("", row.element):
            raise NotFound(f"The element {row.element} has no version {point.version}.")
        with read_as_of(point.time):
            found = read_identities(self.reader.audience, [row.element]).get(row.element)
        if found is None:
            when = f"at {point.time.isoformat()}" if point.time else "now"
            raise NotFound(f"The element {row.element} does not exist {when}.")
        return found.version

    def _sides(self, points: Sequence[Point], versions: Sequence[str], select: frozenset[str] | None) -> list[Side]:
        if not any(point.time for point in points):
            return self._read_sides(versions, select)
        found = []
        for point, version in zip(points, versions, strict=True):
            with read_as_of(point.time):
                found += self._read_sides([version], select, with_place=True)
        return found

    def _read_sides(
        self, versions: Sequence[str], select: frozenset[str] | None, *, with_place: bool = False
    ) -> list[Side]:
        rows = read_versions(set(versions), only=select, most=most_text(2))
        return read_sides(self.reader, [rows[each] for each in versions], with_names=True, with_place=with_place)

    @Operation(
        "compareStorage",
        tag="changes",
        summary="List the elements that differ between two times",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        parameters=STORAGE,
        is_conditional=True,
        responses=ChangedElementsSerializer,
    )
    def list(self, request: Request, **names: str) -> Prepared:
        """Return the elements that are new, changed or deleted between two times, those that were changed last first.

        A changed element has the address of its comparison. An element that was changed and changed back is in the
        list, too. A step that was added to a diagram or removed from it is a change of the diagram's element. Changes
        of users are shown to administrators only. If there are more than 20,000 changes between the times, the request
        gets 422 with a time up to which there are fewer.
        """
        query = self.query(request)
        old, new = (self._point(query, name, with_versions=False) for name in (FROM, TO))
        paging = query.page()
        query.finish()
        if old.time and new.time and old.time > new.time:
            raise Invalid(placed(TO, f"is before {FROM}; exchange them."))
        self._require_records(old, new)

        def compare() -> HttpResponseBase:
            since, write, offset = old.time or datetime.now(UTC), BoundedWriter(), (paging.page - 1) * paging.size
            found = read_changed_elements(self.reader, since, new.time, limit=paging.size, offset=offset)
            payload = counted("values", [write(self._changed(each, since, new.time)) for each in found.page])
            payload |= {"changes": {kind.value: found.counts.get(kind, 0) for kind in ChangeKind}}
            # More changes than can be read are refused.
            payload["isComplete"] = True
            response = self.answer_bounded(payload)
            self.add_page_headers(response, paging.page, paging.size, sum(found.counts.values()))
            return response

        return Prepared(compare)

    def _changed(self, element: ChangedElement, old: datetime, new: datetime | None) -> Wire:
        found: Wire = {
            "change": element.kind.value,
            **self.reader.named_reference(element.identity, element.names),
        }
        if element.kind is ChangeKind.DELETED:
            found["expandUri"] += f"?{AS_OF}={_written(old)}"
        elif element.kind is ChangeKind.CHANGED:
            prefix = self.reader.addresses.detail(self.reader.types[element.identity.type])
            points = f"{FROM}={_written(old)}" + (f"&{TO}={_written(new)}" if new else "")
            found[COMPARE_ADDRESS] = f"{prefix}{element.identity.element}/compare?{points}"
        return found


def _written(time: datetime) -> str:
    """Return a time as it stands in an address, where a plus sign would mean a blank."""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
