"""Search by name: names that begin with the text come first, then names that contain all its words.

Under row-level security only comparisons become conditions of an index, not LIKE. So the beginning of a name is
searched as a range. Words are searched in the index of names, and then in the names of other cultures, which are read
from the rows; neither search starts while the one before fills the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Lower

from elements.models import Element, ElementVersion
from elements.naming import NAME
from elements.presentation.search_texts import clean_text, words_of
from repository_site.core.wording import GUID
from storage.localisation.cultures import CultureSet

# Sorts after every character of a name.
LAST_CHARACTER = chr(0x10FFFF)
BY_NAME = ("newest__sort_name", "id")


def listed_elements() -> QuerySet[Element]:
    """Return every element with its newest version. The condition is always true: with it, PostgreSQL joins the
    versions so that the index of names gives the order."""
    return Element.objects.filter(newest__sort_name__gte="")


def search(elements: QuerySet[Element], text: str, cultures: CultureSet) -> list[QuerySet[Element]]:
    """Return queries to run one after another, without overlap. The id of an element or a version finds just that."""
    wanted = clean_text(text).casefold()
    if not wanted:
        return [elements]
    if GUID.fullmatch(wanted):
        owner = ElementVersion.objects.filter(id=UUID(wanted)).values_list("element_id", flat=True)
        return [elements.filter(id__in=[UUID(wanted), *owner])]
    begins = Q(newest__sort_name__gte=wanted, newest__sort_name__lt=wanted + LAST_CHARACTER)
    holds = reduce(and_, (Q(newest__sort_name__contains=word) for word in words_of(wanted)))
    found = [elements.filter(begins), elements.filter(holds).exclude(begins)]
    others = [str(lcid) for lcid in cultures.data if lcid != cultures.default]
    if others:
        found.append(_in_cultures(elements.exclude(holds), words_of(clean_text(text).lower()), others))
    return found


def _in_cultures(elements: QuerySet[Element], words: Sequence[str], cultures: Sequence[str]) -> QuerySet[Element]:
    names = KeyTransform(NAME, F("newest__attributes"))
    for lcid in cultures:
        elements = elements.alias(**{f"name_{lcid}": Lower(KeyTextTransform(lcid, names))})
    in_each = (reduce(and_, (Q(**{f"name_{lcid}__contains": word}) for word in words)) for lcid in cultures)
    return elements.filter(reduce(or_, in_each))


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
