"""What elements are called, for pages that show many of them: read for all of them at once, chosen by culture."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from elements.naming import NAME
from elements.reading.rows import fetch
from elements.values import is_empty
from storage.cultures import INVARIANT_CULTURE, CultureSet

Names = Mapping[str, Any]
"""By culture id, as in the wire form of an attribute."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A value, and the culture it was found in."""

    value: Any
    lcid: int


def choose(values: Names, culture: int, cultures: CultureSet) -> Chosen | None:
    """The value of a culture, else the default culture's, else any, as in pictures (D97); None when all are empty."""
    known = {int(lcid): value for lcid, value in values.items() if not is_empty(value)}
    for lcid in (culture, INVARIANT_CULTURE, cultures.default, *sorted(known)):
        if lcid in known:
            return Chosen(known[lcid], lcid)
    return None


def read_names(versions: Collection[str]) -> dict[str, Names]:
    """By version; who may see these was decided when their ids were found. A version without a name is missing."""
    if not versions:
        return {}
    sql = """SELECT v.id::text, v.attributes -> %s::text FROM elements_elementversion v
        WHERE v.id = ANY(%s::uuid[]) AND v.attributes -> %s::text IS NOT NULL"""
    return {version: orjson.loads(names) for version, names in fetch(sql, [NAME, list(versions), NAME])}
