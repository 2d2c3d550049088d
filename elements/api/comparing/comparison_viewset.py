"""Comparison of two versions of an element (D568)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.conf import settings
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from elements.api.comparing.comparison_serializers import ELEMENT, WORDS, ComparisonSerializer
from elements.api.query import QueryParameters
from elements.api.reading_viewset import ElementReadingViewSet, view_names
from elements.comparing.comparison import FROM, TO, ElementComparison
from elements.comparing.sides import read_sides
from elements.filters.conditions import Condition
from elements.reading.bounds import checked, most_text
from elements.reading.lists import selection as selecting
from elements.reading.rows import VersionRow, read_versions
from repository_site.core.database.statements import id_array, text_array
from repository_site.core.matching import Effort
from repository_site.core.problems import NotFound, placed
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import JSON_TYPE, to_json
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, printable
from storage.api.conditional_requests import Prepared

NUMBER = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})", re.ASCII)
EXPECTED = "expected the id or the number of a version, such as 2.0"


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
        """Return what differs between two versions: state, attributes, references by context, shapes and flows.

        All properties of the type are compared, or those in `$select`; values that the server sets are left out. Parts
        without a difference are left out, too. Elements that the diagram of each version has its own copy of count as
        the same element. Viewers and anonymous readers compare published versions only.
        """
        self.show_own(names["elementId"])
        view = self.view_of(names)
        query = self.query(request)
        select = query.select(view_names(self.configuration, view))
        old, new = self._point(query, FROM), self._point(query, TO)
        with_words = query.boolean(WORDS, query.text(WORDS))
        query.finish()
        row = self.element_in(view, names["elementId"])
        versions = self._versions(row, old, new)

        def compare() -> HttpResponseBase:
            sides = read_sides(self.reader, self._read(versions, select), with_names=True)
            effort = Effort(settings.COMPARISON_EFFORT) if with_words else None
            # Comparing takes time and needs no database connection.
            comparison = ElementComparison(self.reader, sides[0], sides[1], select, effort)
            return LateResponse(lambda: checked(to_json(comparison.wire())), JSON_TYPE)

        return Prepared(compare)

    def _point(self, query: QueryParameters, name: str) -> str:
        """Return a side of the comparison: the id or the number of a version; empty for the current one."""
        text = query.text(name)
        if text is None:
            if name == FROM and len(query.given.getlist(name)) < 2:
                query.problems.append(placed(name, f"{EXPECTED}."))
            return ""
        if not GUID.fullmatch(text) and not NUMBER.fullmatch(text):
            query.problems.append(placed(name, f"{EXPECTED}, not {printable(text, 40)!r}."))
        return text.lower()

    def _versions(self, row: VersionRow, *points: str) -> list[str]:
        """Return the versions of an element that the caller sees at these points."""
        asked = [each for each in points if each]
        named = Condition(
            "v.id = ANY(%s::uuid[]) OR concat(v.major, '.', v.minor) = ANY(%s::text[])",
            (id_array(each for each in asked if GUID.fullmatch(each)), text_array(asked)),
        )
        selection = selecting.versions_of(self.reader.audience, row.element).matching(named)
        known: dict[str, str] = {}
        for each in selecting.read_page(selection, None):
            known |= {each.version: each.version, f"{each.major}.{each.minor}": each.version}
        current = row.newest if self.reader.audience.sees_drafts else row.published
        known[""] = known[row.element] = current or row.version
        for point in asked:
            if point not in known:
                raise NotFound(f"The element {row.element} has no version {point}.")
        return [known[each] for each in points]

    def _read(self, versions: Sequence[str], select: frozenset[str] | None) -> list[VersionRow]:
        found = read_versions(set(versions), only=select, most=most_text(2))
        return [found[each] for each in versions]
