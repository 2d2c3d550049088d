"""What elements and callers are called on pages for people: in the language of who looks, where there is one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson

from elements.naming import NAME
from elements.reading.rows import fetch
from storage.cultures import CultureSet, preferred_culture
from storage.staff import staff_names


def chosen_name(names: Mapping[str, Any], culture: int, cultures: CultureSet) -> str:
    """In the culture that is asked for, else in the default one, else in any."""
    wanted = [names.get(str(culture)), names.get(str(cultures.default)), *(names[each] for each in sorted(names))]
    return str(next((text for text in wanted if text), ""))


def language_culture(language: str | None, cultures: CultureSet) -> int:
    """The data culture for somebody whose pages are in this language."""
    return preferred_culture(language or "", cultures.data, cultures.default)


@dataclass(frozen=True, slots=True)
class Names:
    """Of some elements by id, and of some staff accounts by the label that callers have in logs."""

    elements: Mapping[UUID, str] = field(default_factory=dict)
    staff: Mapping[str, str] = field(default_factory=dict)

    def element(self, element: UUID | None) -> str:
        """Empty when there is no such element."""
        return self.elements.get(element, "") if element else ""

    def caller(self, element: UUID | None, label: str) -> str:
        """Who has done something: the name of the element that stands for them, else of the account, else the label."""
        return self.element(element) or self.staff.get(label) or label


def read_names(elements: Collection[UUID], labels: Collection[str], culture: int, cultures: CultureSet) -> Names:
    """Two statements for any number. An element has the name of its newest version; without one, its id stands."""
    sql = f"""SELECT e.id, v.attributes->'{NAME}' FROM elements_element e
        JOIN elements_elementversion v ON v.id = e.newest_id WHERE e.id = ANY(%s)"""  # noqa: S608  constants of ours
    rows = fetch(sql, [list(elements)]) if elements else []
    named = {
        element: chosen_name(orjson.loads(names or "{}"), culture, cultures) or str(element) for element, names in rows
    }
    return Names(named, staff_names(labels))
