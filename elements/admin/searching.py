"""Elements that a text finds in the back office, by relevance; the same as in the API and on reader pages (D111)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from elements.models import Element
from elements.reading.assembly.assembler import Reader
from elements.reading.rows import Audience
from elements.search.finding import ALL, MOST_CANDIDATES, MOST_LINKED, Found, HitFilter
from elements.search.ids import versions_with_id
from elements.search.in_files import MOST_USES
from elements.search.searching import Search, SearchRequest, SearchResult
from repository_site.core.database.statements import id_array
from repository_site.core.problems import Unreadable

BY_NAME = ("newest__sort_name", "id")
MOST_HITS = MOST_CANDIDATES + MOST_LINKED + MOST_USES
IS_HIT = f"{Element._meta.db_table}.newest_id = ANY(%s::uuid[])"


@dataclass(frozen=True, slots=True)
class FoundElements:
    ids: Sequence[UUID]
    is_complete: bool = True
    suggestion: str | None = None
    is_readable: bool = True


def elements_open_to(audience: Audience) -> QuerySet[Element]:
    """Return every element that the caller can open."""
    found = Element.objects.all()
    return found.exclude(type_id__in=sorted(audience.closed)) if audience.closed else found


def listed_elements(audience: Audience) -> QuerySet[Element]:
    """Return them with their newest versions. The condition on the name is always true. It makes Django join the
    versions under the name of their table, so that the index of names gives the order."""
    return elements_open_to(audience).filter(newest__sort_name__gte="")


def search(
    reader: Reader,
    elements: QuerySet[Element],
    text: str,
    types: Collection[str] | None = None,
    *,
    is_sorted: bool = False,
    most: int = MOST_HITS,
) -> FoundElements:
    """Return those of the elements that a text finds, in their own order or by relevance.

    `types` limits the hits to these ids of types. Pass `most` only if `elements` has no other filter. Otherwise, one
    statement tests all hits; the search bounds their number.
    """
    result = find(reader, text, HitFilter(types), most)
    if result is None:
        return FoundElements((), is_readable=False)
    versions, is_complete = result.found.versions, result.found.is_complete
    if not versions:
        return FoundElements((), is_complete, result.suggestion)
    found = elements.extra(where=[IS_HIT], params=[id_array(versions)])  # noqa: S610  constants
    if is_sorted:
        return FoundElements(list(found.values_list("id", flat=True)), is_complete)
    by_version = {str(version): element for element, version in found.order_by().values_list("id", "newest_id")}
    return FoundElements([by_version[each] for each in versions if each in by_version], is_complete)


def find(reader: Reader, text: str, only: HitFilter = ALL, limit: int = MOST_HITS) -> SearchResult | None:
    """Return the versions that a text finds, without reading them; None if the text cannot be searched."""
    if versions := versions_with_id(reader.audience, text):
        return SearchResult((), Found(versions, len(versions), ()))
    try:
        return Search(reader.configuration, reader.audience).find(
            SearchRequest(text, only=only, limit=limit, for_page=True)
        )
    except Unreadable:
        return None
