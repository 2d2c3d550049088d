"""Names of elements and callers for people, in the reader's language if possible."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson

from elements.naming import NAME
from elements.values.checking import is_empty
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, Reading, ask, id_array, read
from storage.access.staff import staff_names_of
from storage.localisation.cultures import INVARIANT_CULTURE, CultureSet, fallback_culture, preferred_culture

# Characters of a name that people get to see. A page can have thousands of names, and each may have a megabyte.
LONGEST = 1_000
# Almost all names are shorter than this many bytes in all cultures together.
SHORT = 4_000
SHOWN = f"""CASE WHEN octet_length((v.attributes -> '{NAME}')::text) <= {SHORT} THEN v.attributes -> '{NAME}'
    ELSE (SELECT jsonb_object_agg(n.key, left(n.value #>> '{{}}', {LONGEST}))
        FROM jsonb_each(v.attributes -> '{NAME}') n) END"""  # noqa: S608  constants
ByCulture = Mapping[str, Any]
"""Values by culture id, as in the wire form of an attribute."""


@dataclass(frozen=True, slots=True)
class Chosen:
    value: Any
    lcid: int


def choose(values: ByCulture, culture: int, cultures: CultureSet) -> Chosen | None:
    """Return the value of a culture or its fallback (D40, D97); None when all are empty."""
    known = {int(lcid): value for lcid, value in values.items() if not is_empty(value)}
    lcid = INVARIANT_CULTURE if INVARIANT_CULTURE in known else fallback_culture(culture, known, cultures)
    return None if lcid is None else Chosen(known[lcid], lcid)


def chosen_name(names: ByCulture, culture: int, cultures: CultureSet) -> str:
    found = choose(names, culture, cultures)
    return str(found.value) if found else ""


def language_culture(language: str | None, cultures: CultureSet) -> int:
    """Return the data culture for a reader whose pages are in this language."""
    return preferred_culture(language or "", cultures.data, cultures.default)


@dataclass(frozen=True, slots=True)
class ElementNames:
    """Names of elements by id, and of staff accounts by the label that callers have in logs."""

    elements: Mapping[UUID, str] = field(default_factory=dict)
    staff: Mapping[str, str] = field(default_factory=dict)

    def element(self, element: UUID | None) -> str:
        return self.elements.get(element, "") if element else ""

    def caller(self, element: UUID | None, label: str) -> str:
        """Return the name of a caller: that of the element or else of the account, or else the label."""
        return self.element(element) or self.staff.get(label) or label


def read_names(elements: Collection[UUID], labels: Collection[str], culture: int, cultures: CultureSet) -> ElementNames:
    """Read names in two statements. An element has the name of its newest version, or else its id."""
    return read(reading_names(elements, labels, culture, cultures))


def reading_names(
    elements: Collection[UUID], labels: Collection[str], culture: int, cultures: CultureSet
) -> Reading[ElementNames]:
    sql = f"""SELECT e.id, ({SHOWN})::text FROM elements_element e
        JOIN elements_elementversion v ON v.id = e.newest_id WHERE e.id = ANY(%s::uuid[])"""  # noqa: S608  constants

    def understand(rows: list[Row]) -> dict[UUID, str]:
        chosen = ((element, chosen_name(orjson.loads(names or "{}"), culture, cultures)) for element, names in rows)
        return {element: name or str(element) for element, name in chosen}

    question = Question(sql if elements else "", [id_array(map(str, elements))], understand)
    return ElementNames(*(yield [question, staff_names_of(labels)]))


def read_version_names(versions: Collection[str]) -> dict[str, ByCulture]:
    """Return names by version, for people, without unnamed versions. The caller has already checked visibility."""
    return ask(version_names_of(versions))


def version_names_of(versions: Collection[str]) -> Question[dict[str, ByCulture]]:
    sql = f"""SELECT v.id::text, ({SHOWN})::text FROM elements_elementversion v
        WHERE v.id = ANY(%s::uuid[]) AND v.attributes -> '{NAME}' IS NOT NULL"""  # noqa: S608  constants
    return Question(
        sql if versions else "", [id_array(versions)], lambda rows: {row[0]: orjson.loads(row[1]) for row in rows}
    )
