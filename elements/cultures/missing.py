"""Elements without a value in a culture that they have in another one (D484)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elements.filters.compiling import FILLED, FIRST_FILLED
from elements.filters.conditions import Condition
from elements.reading.lists.portions import Portion
from elements.reading.rows import IDENTITY, Audience, Identity
from elements.writing.inputs import SERVER_ATTRIBUTES
from facets.configuration import Configuration
from repository_site.core.database.statements import fetch, id_array
from repository_site.core.rest.rendering import to_json

_FILLED = FILLED.json("x.value")
_PARAMETERS = (*FIRST_FILLED.parameters, *_FILLED.parameters)


@dataclass(frozen=True, slots=True)
class Untranslated:
    identity: Identity
    names: Sequence[str]
    """Attributes without a value in the culture."""


def read_untranslated(
    configuration: Configuration,
    audience: Audience,
    lcid: int,
    portion: Portion,
    *,
    facet: str | None,
    limit: int | None,
) -> list[Untranslated]:
    """Return elements of a facet, or of all, in the order of their names. Versions are those that the caller sees, in a
    portion of the storage; attributes that the caller does not see are not looked at. No limit means all."""
    names = _translatable(configuration, audience, facet)
    bounds = portion.condition("v")
    sql = f"""SELECT m.names, {IDENTITY} FROM elements_element e
            JOIN elements_elementversion v ON v.id = e.{audience.pointer}
            CROSS JOIN LATERAL (SELECT array_agg(p.name ORDER BY p.place) AS names
                {_missing("e", "v")}) m
        WHERE e.type_id = ANY(%s::uuid[]) AND m.names IS NOT NULL AND {bounds.sql}
        ORDER BY v.sort_name, v.id LIMIT %s"""  # noqa: S608  constants
    given = [to_json(names).decode(), str(lcid), *_PARAMETERS, id_array(names), *bounds.parameters, limit]
    return [Untranslated(Identity._make(row[1:]), row[0]) for row in fetch(sql, given)]


def has_at_most(configuration: Configuration, audience: Audience, facet: str | None, most: int) -> bool:
    """Whether a facet, or all, has at most so many elements with texts in cultures."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM elements_element e WHERE e.type_id = ANY(%s::uuid[]) LIMIT %s) found"
    [[number]] = fetch(sql, [id_array(_translatable(configuration, audience, facet)), most + 1])
    return int(number) <= most


def is_untranslated(
    configuration: Configuration, audience: Audience, lcid: int, *, element: str, version: str
) -> Condition:
    """Return the condition that an element lacks a value in a culture, for tables with these names."""
    given = to_json(_translatable(configuration, audience)).decode(), str(lcid), *_PARAMETERS
    return Condition(f"EXISTS (SELECT {_missing(element, version)})", given)


def _missing(element: str, version: str) -> str:
    """Return the source of the attributes `p` without a value in a culture that the version has in another one.

    The parameters are the attributes of each type, the culture, and those of `_PARAMETERS`.
    """
    return f"""FROM jsonb_array_elements_text(%s::jsonb -> {element}.type_id::text) WITH ORDINALITY AS p(name, place),
            LATERAL (SELECT CASE jsonb_typeof({version}.attributes -> p.name) WHEN 'object'
                THEN {version}.attributes -> p.name ELSE '{{}}' END AS stored) a,
            LATERAL (SELECT a.stored -> %s::text AS value) y
        WHERE ({FIRST_FILLED.sql}) IS NOT TRUE
            AND EXISTS (SELECT FROM jsonb_each(a.stored) AS x(culture, value) WHERE {_FILLED.sql})"""  # noqa: S608  constants


def _translatable(configuration: Configuration, audience: Audience, facet: str | None = None) -> dict[str, list[str]]:
    """Return the attributes of each type, by its id, whose values depend on the culture."""
    return {
        id: [
            each.key
            for each in type.properties
            if each.attribute and not each.attribute.is_invariant_culture and each.key not in SERVER_ATTRIBUTES
        ]
        for type in configuration.types.values()
        if facet in (None, type.facet) and (id := str(configuration.type_ids[type.key])) not in audience.closed
    }
