"""Numbers of elements by type and state category, for the overview of the back office.

Elements count as in the list of the back office: by their newest version, without those that live only in diagrams.
Counting reads the table of elements once, which takes longer the more there are. If it is slow, the numbers are kept
for a minute and shown with the time of the count (D118).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from facets.blueprint.cycles import OPEN, Category
from facets.blueprint.definitions import ElementType
from facets.configuration import Configuration
from repository_site.core.database.statements import engine, id_array, read_together, rows_of
from storage.models import Storage

OWNER = "owner"
# Seconds from which a count is kept instead of repeated with every view.
SLOW = 0.05
KEEP = timedelta(minutes=1)

# The table of versions is wide, and most elements are published; their pointers show that without reading it.
COUNTS = """SELECT e.type_id::text, count(*), count(*) FILTER (WHERE e.newest_id = e.published_id)
    FROM elements_element e WHERE e.type_id <> ALL(%s::uuid[]) GROUP BY 1"""
# An open version is always the newest of its element, and the unique index for "one open version" covers all of them.
# The categories are in the text: a plan for all values could not use that index.
_OPEN = ",".join(sorted(OPEN))
OPEN_COUNTS = f"""SELECT e.type_id::text, v.category, count(*) FROM elements_elementversion v
    JOIN elements_element e ON e.id = v.element_id
    WHERE v.category = ANY('{{{_OPEN}}}'::text[]) GROUP BY 1, 2"""  # noqa: S608  constants
OWNERLESS = f"""SELECT count(*) FROM elements_elementversion v JOIN elements_element e ON e.newest_id = v.id
    WHERE v.category = '{Category.DRAFT.value}' AND e.type_id = ANY(%s::uuid[]) AND NOT EXISTS
        (SELECT 1 FROM elements_reference r WHERE r.version_id = v.id AND r.context = %s)"""  # noqa: S608  constants


@dataclass(frozen=True, slots=True)
class ElementCounts:
    by_facet: Mapping[str, Mapping[Category, int]]
    """Counts by facet, in the order of the facets and including empty ones."""
    ownerless_drafts: int
    counted_on: datetime
    is_kept: bool = False
    """Whether the numbers come from an earlier count."""

    @property
    def total(self) -> int:
        return sum(sum(each.values()) for each in self.by_facet.values())

    def of(self, category: Category) -> int:
        return sum(each.get(category, 0) for each in self.by_facet.values())


CountKey = tuple[UUID, frozenset[str], str]
_kept: dict[CountKey, tuple[int, ElementCounts]] = {}
"""By storage, and the types and permission sets that hide elements from the caller."""


def count_elements(storage: Storage, configuration: Configuration) -> ElementCounts:
    now = timezone.now()
    key = storage.id, configuration.closed, engine().hidden
    revision, kept = _kept.get(key, (None, None))
    if kept is not None and revision == configuration.revision and now - kept.counted_on < KEEP:
        return kept
    started = time.perf_counter()
    counted = _count(configuration, now)
    if time.perf_counter() - started > SLOW:
        _keep(key, configuration.revision, counted, now)
    return counted


def _keep(key: CountKey, revision: int, counted: ElementCounts, now: datetime) -> None:
    kept = ElementCounts(counted.by_facet, counted.ownerless_drafts, counted.counted_on, is_kept=True)
    _kept[key] = (revision, kept)
    for other, (_, each) in list(_kept.items()):
        if now - each.counted_on >= KEEP:
            _kept.pop(other, None)


def _count(configuration: Configuration, now: datetime) -> ElementCounts:
    """Versions that are neither published nor open are retired; elements without versions are static."""
    by_facet: dict[str, dict[Category, int]] = {each.name: {} for each in configuration.blueprint.facets}

    def add(type: str, category: Category, count: int) -> None:
        counts = by_facet[configuration.types_by_id[type].facet]
        counts[category] = counts.get(category, 0) + count

    owned = [row for row, type in configuration.types_by_id.items() if has_owner(type) and not type.lives_in_diagrams]
    uncounted = id_array([*configuration.living_in_diagrams, *configuration.closed])
    in_process, totals, [(ownerless,)] = read_together(
        rows_of(OPEN_COUNTS, []),
        rows_of(COUNTS, [uncounted]),
        rows_of(OWNERLESS, [id_array(owned), OWNER]),
    )
    opened: dict[str, int] = {}
    for type, category, count in in_process:
        add(type, Category(category), count)
        opened[type] = opened.get(type, 0) + count
    for type, total, published in totals:
        if configuration.types_by_id[type].is_versioned:
            add(type, Category.PUBLISHED, published)
            add(type, Category.RETIRED, total - published - opened.get(type, 0))
        else:
            add(type, Category.STATIC, total)
    return ElementCounts(by_facet, ownerless, now)


def has_owner(type: ElementType) -> bool:
    return any(each.key == OWNER and each.related for each in type.properties)
