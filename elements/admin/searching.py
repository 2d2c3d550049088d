"""Finding elements by name: what begins with the text comes first, which an index finds, then what has it somewhere.

Under row-level security only comparisons become conditions of an index, not LIKE. So what begins with a text is asked
for as a range of names. What has it somewhere is looked for in the index of names, and then in names of other cultures,
which are read from the rows; neither is begun while what came before fills the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Lower

from elements.models import Element, ElementVersion
from elements.naming import NAME
from repository_site.core.wording import GUID
from storage.localisation.cultures import CultureSet

# Greater than every character that a name can go on with.
LAST_CHARACTER = chr(0x10FFFF)
BY_NAME = ("newest__sort_name", "id")


def listed_elements() -> QuerySet[Element]:
    """Every element with the version that who works here sees. The condition always holds: with it, the table of the
    versions is joined in a way that lets the index of names give the order."""
    return Element.objects.filter(newest__sort_name__gte="")


def search(elements: QuerySet[Element], text: str, cultures: CultureSet) -> list[QuerySet[Element]]:
    """One query after another; nothing is in two of them. An id, of an element or a version, finds just that."""
    wanted = text.strip().casefold()
    if not wanted:
        return [elements]
    if GUID.fullmatch(wanted):
        owner = ElementVersion.objects.filter(id=UUID(wanted)).values_list("element_id", flat=True)
        return [elements.filter(id__in=[UUID(wanted), *owner])]
    begins = Q(newest__sort_name__gte=wanted, newest__sort_name__lt=wanted + LAST_CHARACTER)
    holds = Q(newest__sort_name__contains=wanted)
    found = [elements.filter(begins), elements.filter(holds).exclude(begins)]
    others = [str(lcid) for lcid in cultures.data if lcid != cultures.default]
    if others:
        found.append(_in_cultures(elements.exclude(holds), text.strip().lower(), others))
    return found


def _in_cultures(elements: QuerySet[Element], text: str, cultures: Sequence[str]) -> QuerySet[Element]:
    names = KeyTransform(NAME, F("newest__attributes"))
    for lcid in cultures:
        elements = elements.alias(**{f"name_{lcid}": Lower(KeyTextTransform(lcid, names))})
    return elements.filter(reduce(or_, (Q(**{f"name_{lcid}__contains": text}) for lcid in cultures)))


def take(parts: Sequence[QuerySet[Element]], start: int, size: int) -> list[UUID]:
    """The ids from one place on, over all parts, without counting any of them as a whole."""
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
            # The page begins behind this part, which so has fewer rows than are left out.
            start -= len(ids[:start])
    return found
