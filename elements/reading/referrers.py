"""Elements that refer to an element, context by context, in the order of the diagrams that show them (D417 to D419).

The API, the reader pages and the back office call `reading_referrers`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elements.naming import NAME
from elements.reading import rows
from elements.reading.assembly.assembler import Reader
from elements.reading.assembly.attributes import read_exactly
from elements.reading.assembly.projection import NOT_STORED
from elements.reading.bounds import most_text
from elements.reading.names import ByCulture
from elements.reading.rows import Audience, Identity, VersionRow
from facets.blueprint.definitions import ElementType, Property
from facets.configuration import Configuration
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, Reading, ask_for, id_array, read, rows_of, text_array

# Most references to an element that are read, including those of old versions (D419). At most as many lanes, and steps
# in lanes. Pages read fewer, because people wait for them (D650).
MOST_READ, PAGE_READ = 5_000, 2_000
# Diagrams that are named for a referrer.
MOST_DIAGRAMS = 10
COUNT, READ, USE = range(3)
# Each LATERAL with a limit is one index look-up for each row, regardless of the planner's estimate.
DIAGRAMS = """SELECT {columns} FROM elements_shape s
    CROSS JOIN LATERAL (SELECT o.id, o.type_id FROM elements_element o WHERE o.{pointer} = s.version_id LIMIT 1) o
    CROSS JOIN LATERAL (SELECT v.sort_name FROM elements_elementversion v WHERE v.id = s.version_id LIMIT 1) v
    WHERE s.element_id = {element} AND o.type_id <> ALL(%s::uuid[])
    ORDER BY v.sort_name, o.id, s.position LIMIT {limit}"""
FIND = """WITH named AS MATERIALIZED (SELECT r.version_id, r.context FROM elements_reference r
        WHERE r.target_id = %s::uuid LIMIT {read}),
    lanes AS MATERIALIZED (SELECT l.id, l.version_id FROM elements_lane l WHERE l.element_id = %s::uuid LIMIT {read}),
    laned AS MATERIALIZED (SELECT s.element_id FROM lanes l
        CROSS JOIN LATERAL (SELECT o.id FROM elements_element o WHERE o.{pointer} = l.version_id LIMIT 1) o
        CROSS JOIN LATERAL (SELECT s.element_id FROM elements_shape s WHERE s.lane_id = l.id LIMIT {read}) s
        LIMIT {read}),
    seen AS MATERIALIZED (SELECT n.context, n.version_id, e.id, e.type_id FROM named n
        CROSS JOIN LATERAL (SELECT e.id, e.type_id FROM elements_element e WHERE e.{pointer} = n.version_id LIMIT 1) e
        UNION SELECT c.context, e.shown, e.id, e.type_id FROM laned n
        CROSS JOIN LATERAL (SELECT e.id, e.type_id, e.{pointer} AS shown FROM elements_element e
            WHERE e.id = n.element_id LIMIT 1) e
        JOIN unnest(%s::uuid[], %s::text[]) AS c(type_id, context) ON c.type_id = e.type_id
        WHERE e.shown IS NOT NULL),
    shown AS MATERIALIZED (SELECT c.rank, c.is_drawn, n.context, n.version_id, n.id FROM seen n
        JOIN unnest(%s::uuid[], %s::text[], %s::int[], %s::bool[]) AS c(type_id, context, rank, is_drawn)
            ON c.type_id = n.type_id AND c.context = n.context),
    uses AS MATERIALIZED (SELECT n.rank, n.context, n.id, d.process, d.owner, d.position, CASE WHEN d.owner IS NULL THEN
            (SELECT v.sort_name FROM elements_elementversion v WHERE v.id = n.version_id) END AS sort_name
        FROM shown n LEFT JOIN LATERAL ({diagram}) d ON TRUE WHERE d.owner IS NOT NULL OR NOT n.is_drawn)
    SELECT {count}, u.context, '', count(*) FROM uses u GROUP BY u.context
    UNION ALL SELECT {read_rows}, '', '', greatest((SELECT count(*) FROM named), (SELECT count(*) FROM lanes),
        (SELECT count(*) FROM laned))
    UNION ALL (SELECT {use}, u.context, u.id::text, row_number() OVER (ORDER BY {order}) FROM uses u
        WHERE u.context = ANY(%s::text[]) ORDER BY {order} LIMIT %s::bigint OFFSET %s::bigint)"""
ORDER = "u.rank, u.context, u.process, u.owner, u.position, u.sort_name, u.id"


class ContextOfType(NamedTuple):
    """A context that can refer to elements. `is_drawn`: elements of the type exist only in diagrams."""

    type: str
    definition: Property
    rank: int
    is_drawn: bool

    @property
    def context(self) -> str:
        return self.definition.key


@dataclass(frozen=True, slots=True)
class DiagramOfReferrer:
    """A diagram that shows a referrer."""

    shape: str
    owner: Identity
    names: ByCulture


@dataclass(frozen=True, slots=True)
class Referrer:
    """An element and one of the contexts in which it refers to another one."""

    context: str
    identity: Identity
    names: ByCulture
    diagrams: Sequence[DiagramOfReferrer]


@dataclass(frozen=True, slots=True)
class Referrers:
    """A page of referrers. `counts` has the referrers on all pages, by context, in order."""

    page: Sequence[Referrer]
    counts: Mapping[str, int]
    is_complete: bool

    def total(self, contexts: Collection[str] = ()) -> int:
        """Return the number of referrers in these contexts; without contexts, in all."""
        return sum(count for context, count in self.counts.items() if not contexts or context in contexts)


def referring_contexts(configuration: Configuration) -> list[ContextOfType]:
    """Return the contexts of the caller's part of the configuration. Those of elements in diagrams come first, because
    they say what somebody does, and all others in the order of their types."""

    def make() -> list[ContextOfType]:
        types = [(row, type) for row, type in configuration.types_by_id.items() if row not in configuration.closed]
        ordered = sorted(types, key=lambda each: not each[1].lives_in_diagrams)
        pairs = [
            (row, type, each)
            for row, type in ordered
            for each in type.properties
            if each.related and each.key not in NOT_STORED
        ]
        ranks = {key: rank for rank, key in enumerate(dict.fromkeys(each.key for _, _, each in pairs))}
        return [ContextOfType(row, each, ranks[each.key], type.lives_in_diagrams) for row, type, each in pairs]

    return configuration.keep("referring contexts", make)


def laning_contexts(configuration: Configuration, type: ElementType) -> dict[str, str]:
    """Return the context in which a step in the lane of an element refers to it, by the type of the step: the first one
    that can name elements of this type (D417)."""
    found: dict[str, str] = {}
    for each in referring_contexts(configuration):
        related = each.definition.related
        if each.is_drawn and related and related.facet == type.facet and type.key in (related.types or (type.key,)):
            found.setdefault(each.type, each.context)
    return found


def context_names(configuration: Configuration) -> list[str]:
    return list(dict.fromkeys(each.context for each in referring_contexts(configuration)))


def reading_referrers(
    reader: Reader,
    of: VersionRow,
    contexts: Collection[str] = (),
    *,
    limit: int,
    offset: int = 0,
    for_page: bool = False,
) -> Reading[Referrers]:
    """Return the elements that refer to an element in these contexts, or in any. The caller has already checked that
    the reader sees the element. Raise TooHeavy if the names of the page are too long together."""
    most = PAGE_READ if for_page else MOST_READ
    answer = yield from rows_of(_find(reader.audience, most), _parameters(reader, of, contexts, limit, offset))
    counts = {context: number for kind, context, _, number in answer if kind == COUNT}
    read = sum(number for kind, _, _, number in answer if kind == READ)
    found = sorted((number, context, id) for kind, context, id, number in answer if kind == USE)
    places = yield from ask_for(_diagrams_of(reader.audience, {id for _, _, id in found}))
    owners = {owner for each in places.values() for _, owner in each}
    identities = yield from reader.identities.reading({id for _, _, id in found} | owners)
    names = yield from reading_whole_names({each.version for each in identities.values()})

    def diagrams(id: str) -> list[DiagramOfReferrer]:
        shown = ((shape, identities[owner]) for shape, owner in places.get(id, ()) if owner in identities)
        return [DiagramOfReferrer(shape, owner, names.get(owner.version, {})) for shape, owner in shown]

    page = [
        Referrer(context, identities[id], names.get(identities[id].version, {}), diagrams(id))
        for _, context, id in found
        if id in identities
    ]
    ordered = {context: counts[context] for context in context_names(reader.nested) if context in counts}
    return Referrers(page, ordered, read <= most)


def read_whole_names(versions: Collection[str]) -> dict[str, ByCulture]:
    """Return names by version; raise TooHeavy if they are too long together (D188)."""
    return read(reading_whole_names(versions))


def reading_whole_names(versions: Collection[str]) -> Reading[dict[str, ByCulture]]:
    found = yield from rows.reading_versions(versions, only=(NAME,), most=most_text(len(versions)))
    return {version: read_exactly(row.attributes).get(NAME, {}) for version, row in found.items()}


def _find(audience: Audience, most: int) -> str:
    columns = "v.sort_name AS process, o.id AS owner, s.position"
    diagram = DIAGRAMS.format(columns=columns, pointer=audience.pointer, element="n.id", limit=1)
    return FIND.format(
        read=most + 1,
        pointer=audience.pointer,
        diagram=diagram,
        order=ORDER,
        count=COUNT,
        read_rows=READ,
        use=USE,
    )


def _parameters(reader: Reader, of: VersionRow, contexts: Collection[str], limit: int, offset: int) -> list[object]:
    known = referring_contexts(reader.nested)
    laning = laning_contexts(reader.nested, reader.types[of.type])
    return [
        of.element,
        of.element,
        id_array(laning),
        text_array(laning.values()),
        id_array(each.type for each in known),
        text_array(each.context for each in known),
        id_array(str(each.rank) for each in known),
        id_array(str(each.is_drawn) for each in known),
        id_array(sorted(reader.audience.closed)),
        text_array(contexts or context_names(reader.nested)),
        limit,
        offset,
    ]


def _diagrams_of(audience: Audience, elements: Collection[str]) -> Question[dict[str, list[tuple[str, str]]]]:
    """Return shapes and the elements whose diagrams have them, by the element that they show."""
    columns = "s.id::text AS shape, o.id::text AS owner, s.position, v.sort_name AS name"
    diagrams = DIAGRAMS.format(columns=columns, pointer=audience.pointer, element="e.id", limit=MOST_DIAGRAMS)
    sql = f"""SELECT e.id::text, d.shape, d.owner FROM unnest(%s::uuid[]) AS e(id)
        CROSS JOIN LATERAL ({diagrams}) d ORDER BY e.id, d.name, d.owner, d.position"""  # noqa: S608  constants

    def understand(rows: list[Row]) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for id, shape, owner in rows:
            found.setdefault(id, []).append((shape, owner))
        return found

    parameters = [id_array(sorted(elements)), id_array(sorted(audience.closed))]
    return Question(sql if elements else "", parameters, understand)
