"""Lists of elements by name, in pages with numbers; the same texts find the same elements as on reader pages (D104)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from elements.models import Element, ElementVersion
from elements.presentation.searching import clean_text, search_conditions
from elements.reading.rows import Audience

BY_NAME = ("newest__sort_name", "id")
ELEMENT, NEWEST = Element._meta.db_table, ElementVersion._meta.db_table


def listed_elements() -> QuerySet[Element]:
    """Return every element with its newest version. The condition is always true: with it, PostgreSQL joins the
    versions so that the index of names gives the order, and the join has the name of the table."""
    return Element.objects.filter(newest__sort_name__gte="")


def search(elements: QuerySet[Element], text: str) -> list[QuerySet[Element]]:
    """Return queries to run one after another, without overlap."""
    if not (wanted := clean_text(text)):
        return [elements]
    conditions = search_conditions(Audience(sees_drafts=True), wanted, ELEMENT, NEWEST)
    return [elements.extra(where=[each.sql], params=each.parameters) for each in conditions]  # noqa: S610  constants


def take(parts: Sequence[QuerySet[Element]], start: int, size: int) -> list[UUID]:
    """Return ids from `start` on, over all parts, without counting a whole part."""
    found: list[UUID] = []
    for part in parts:
        ids = part.values_list("id", flat=True)
        here = list(ids[start : start + size - len(found)])
        found += here
        if len(found) == size:
            break
        if here or not start:
            start = 0
        elif len(parts) > 1:
            # The page begins after this part, so this part has at most `start` rows.
            start -= len(ids[:start])
    return found
