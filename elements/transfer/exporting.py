"""Export of a storage as transfer lines, in batches in the order of one server-side cursor: memory stays constant.

A thread writes the lines of a batch while the database reads the next one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from django.db import connection

from elements.models import ElementVersion
from elements.reading.assembly.attributes import read_exactly
from facets.blueprint.definitions import ElementType
from facets.configuration import configuration_of
from repository_site.core.database.statements import engine, id_array, look_up
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.rendering import to_json
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

BATCH = 500
INVARIANT = str(INVARIANT_CULTURE)
# Values that have only one form in JSON. Others are objects, or numbers with digits that a float may lose.
PLAIN = frozenset({str, int, bool, type(None)})
# Only ids: otherwise the database would sort the attributes of all versions, too.
ORDER_SQL = """
    SELECT v.id::text FROM elements_elementversion v JOIN elements_element e ON e.id = v.element_id
      JOIN facets_elementtype t ON t.id = e.type_id
     ORDER BY t.position, e.id, v.major, v.minor
"""
# Ids as text, as lines contain them: the driver takes longer to make objects of them than the database to find them.
VERSIONS_SQL = """
    SELECT v.id::text, v.element_id::text, e.creation_id::text, e.type_id::text, e.newest_id = v.id, v.state, v.major,
           v.minor, v.stereotype, v.attributes::text, v.created_on, v.changed_on, v.released_on, v.valid_from,
           v.valid_until, v.created_by_id::text, v.changed_by_id::text, v.released_by_id::text
      FROM elements_elementversion v JOIN elements_element e ON e.id = v.element_id WHERE v.id = ANY(%s::uuid[])
"""
REFERENCES_SQL = """
    SELECT r.version_id::text, r.context, r.target_id::text, e.type_id::text
      FROM elements_reference r JOIN elements_element e ON e.id = r.target_id
     WHERE r.version_id = ANY(%s::uuid[]) ORDER BY r.version_id, r.context, r.position
"""
CHILDREN_SQL = """
    SELECT v.id::text, e.id::text, e.type_id::text
      FROM elements_elementversion v JOIN elements_element e ON e.parent_id = v.element_id
     WHERE v.id = ANY(%s::uuid[]) ORDER BY e.parent_id, e.position, e.rank, e.id
"""
SHAPES_SQL = """
    SELECT s.version_id::text, s.id::text, s.element_id::text, e.type_id::text, s.bounds::text, s.lane_id::text,
           s.container_id::text, s.host_id::text, s.bpmn_id
      FROM elements_shape s JOIN elements_element e ON e.id = s.element_id
     WHERE s.version_id = ANY(%s::uuid[]) ORDER BY s.version_id, s.position
"""
FLOWS_SQL = """
    SELECT f.shape_id::text, f.predecessor_id::text, f.label::text, f.bpmn_id, f.waypoints::text
      FROM elements_shape s JOIN elements_shapeflow f ON f.shape_id = s.id
     WHERE s.version_id = ANY(%s::uuid[]) ORDER BY f.shape_id, f.position
"""
LANES_SQL = """
    SELECT l.version_id::text, l.id::text, l.name::text, l.element_id::text, e.type_id::text, l.parent_id::text,
           l.is_pool, l.bounds::text, l.bpmn_id
      FROM elements_lane l LEFT JOIN elements_element e ON e.id = l.element_id
     WHERE l.version_id = ANY(%s::uuid[]) ORDER BY l.version_id, l.position
"""
SOURCES_SQL = "SELECT b.version_id::text, b.document FROM elements_bpmnsource b WHERE b.version_id = ANY(%s::uuid[])"
PARTS = (REFERENCES_SQL, CHILDREN_SQL, SHAPES_SQL, FLOWS_SQL, LANES_SQL, SOURCES_SQL)
TYPES_SQL = "SELECT id::text, type_id::text FROM elements_element WHERE id = ANY(%s::uuid[])"

Row = tuple[Any, ...]
Groups = dict[str, list[Row]]


def count_versions(storage: Storage) -> int:
    with tenant_scope(storage):
        return ElementVersion.objects.count()


def export_lines(storage: Storage) -> Iterator[bytes]:
    """Return one line for each element version: types in configured order, then by id, versions oldest first.

    Each batch reads references and diagrams in separate statements; one snapshot keeps them consistent.
    """
    with tenant_scope(storage, snapshot=True), ThreadPoolExecutor(1) as thread:
        exporter, written = _Exporter(storage), list[Future[list[bytes]]]()
        with connection.chunked_cursor() as cursor:
            cursor.execute(ORDER_SQL)
            while rows := cursor.fetchmany(BATCH):
                batch = exporter.read([row[0] for row in rows])
                written.append(thread.submit(exporter.lines, batch))
                if len(written) > 1:
                    yield from written.pop(0).result()
        for last in written:
            yield from last.result()


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows of versions in the order of the file, and rows of their parts by version. Flows are those of a shape."""

    versions: list[Row]
    references: Groups
    children: Groups
    shapes: Groups
    flows: Groups
    lanes: Groups
    sources: Groups


class _Exporter:
    def __init__(self, storage: Storage) -> None:
        configuration = configuration_of(storage)
        self.zone = ZoneInfo(storage.time_zone)
        self.types = {str(row_id): configuration.types[key] for key, row_id in configuration.type_ids.items()}
        self._ends = {
            row_id: (to_json({"facetName": type.facet})[:-1].decode() + ',"id":"', f'","type":{_text(type.key)}}}')
            for row_id, type in self.types.items()
        }
        self._callers: dict[str, str] = {}
        """Types of the people who made versions, for all batches: there are few."""

    def read(self, ids: list[str]) -> _Batch:
        wanted = [id_array(ids)]
        versions, *parts = engine().look_up_all([(sql, wanted) for sql in (VERSIONS_SQL, *PARTS)])
        callers = {caller for row in versions for caller in row[15:18] if caller} - self._callers.keys()
        if callers:
            self._callers.update(look_up(TYPES_SQL, [id_array(callers)]))
        by_id = {row[0]: row for row in versions}
        return _Batch([by_id[each] for each in ids], *map(_grouped, parts))

    def lines(self, batch: _Batch) -> list[bytes]:
        return [self._line(row, batch) for row in batch.versions]

    def _line(self, row: Row, batch: _Batch) -> bytes:
        version = row[0]
        line = self._identity(row, self.types[row[3]])
        parts = (
            ("attributes", self._attributes(row)),
            ("related", self._related(row, batch.references.get(version, ()))),
            ("children", self._children(row, batch.children.get(version, ()))),
            ("content", self._content(batch.shapes.get(version, ()), batch.flows)),
            ("lanes", [self._lane(*lane) for lane in batch.lanes.get(version, ())]),
            ("bpmn", "".join(source for (source,) in batch.sources.get(version, ()))),
        )
        line.update((name, part) for name, part in parts if part)
        return to_json(line) + b"\n"

    def _identity(self, row: tuple[Any, ...], type: ElementType) -> dict[str, Any]:
        found = {"facetName": type.facet, "id": row[1]}
        if type.is_versioned:
            found["versionId"] = row[0]
        else:
            found["creationId"] = row[2]
        found["type"] = type.key
        if row[5]:
            found["state"] = row[5]
        if row[8]:
            found["stereotype"] = row[8]
        return found

    def _attributes(self, row: tuple[Any, ...]) -> dict[str, Any]:
        stored = _stored(row[9])
        names = ("createdOn", "changedOn", "relOn", "validFrom", "validUntil")
        for name, moment in zip(names, row[10:15], strict=True):
            if moment is not None:
                stored[name] = {INVARIANT: wire_datetime(moment, self.zone)}
        if row[6] is not None:
            stored["version"] = {INVARIANT: f"{row[6]}.{row[7]}"}
        # The database stores the cultures of an attribute in the order of their numbers.
        return dict(sorted(stored.items()))

    def _related(self, row: Row, references: Iterable[Row]) -> dict[str, orjson.Fragment]:
        related: dict[str, list[str]] = defaultdict(list)
        for context, target, type_id in references:
            before, after = self._ends[type_id]
            related[context].append(before + target + after)
        for context, caller in zip(("createdBy", "changedBy", "relBy"), row[15:18], strict=True):
            if caller is not None:
                before, after = self._ends[self._callers[caller]]
                related[context].append(before + caller + after)
        return {context: _list_of(related[context]) for context in sorted(related)}

    def _children(self, row: Row, children: Iterable[Row]) -> orjson.Fragment | None:
        """Return children of the newest version. Elements that live in diagrams are part of the content instead."""
        found = []
        if row[4]:
            for child, type_id in children:
                if not self.types[type_id].lives_in_diagrams:
                    before, after = self._ends[type_id]
                    found.append(before + child + after)
        return _list_of(found) if found else None

    def _content(self, shapes: Iterable[Row], flows: Groups) -> list[dict[str, Any]]:
        return [
            {
                "properties": {
                    "shapeId": shape,
                    "predecessors": [_predecessor(*flow) for flow in flows.get(shape, ())],
                    **_drawn(bounds=_parsed(bounds), lane=lane, container=container, attachedTo=host, bpmnId=bpmn_id),
                },
                **self._reference(element, type_id),
            }
            for shape, element, type_id, bounds, lane, container, host, bpmn_id in shapes
        ]

    def _lane(
        self, lane: str, name: str, element: str | None, type_id: str, parent: str | None, is_pool: bool,
        bounds: str | None, bpmn_id: str,
    ) -> dict[str, Any]:  # fmt: skip
        return {
            "id": lane,
            **_drawn(
                name=_parsed(name),
                element=self._reference(element, type_id) if element else None,
                parent=parent,
                isPool=is_pool,
                bounds=_parsed(bounds),
                bpmnId=bpmn_id,
            ),
        }

    def _reference(self, element: str, type_id: str) -> dict[str, str]:
        type = self.types[type_id]
        return {"facetName": type.facet, "id": element, "type": type.key}


def _predecessor(before: str, label: str, bpmn_id: str, waypoints: str | None) -> dict[str, Any]:
    return {
        "properties": {
            "shapeId": before, **_drawn(label=_parsed(label), bpmnId=bpmn_id, waypoints=_parsed(waypoints)),
        }
    }  # fmt: skip


def _parsed(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def _drawn(**values: Any) -> dict[str, Any]:
    """Return what was drawn; everything else is left out."""
    return {name: value for name, value in values.items() if value}


def _ordered(value: Any) -> Any:
    """Sort the keys of objects, which the database stores in its own order, so that equal lines compare equal."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _stored(text: str) -> dict[str, dict[str, Any]]:
    """Parse stored attributes. Most contain only plain values, which orjson parses in a third of the time."""
    try:
        found: dict[str, dict[str, Any]] = orjson.loads(text)
        if all(type(value) in PLAIN for values in found.values() for value in values.values()):
            return found
    except orjson.JSONDecodeError:  # a number that is too large for it
        pass
    return {
        name: {culture: _ordered(value) for culture, value in values.items()}
        for name, values in read_exactly(text).items()
    }


def _text(value: str) -> str:
    return to_json(value).decode()


def _list_of(parts: list[str]) -> orjson.Fragment:
    return orjson.Fragment(f"[{','.join(parts)}]")


def _grouped(rows: Iterable[Row]) -> Groups:
    groups: Groups = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row[1:])
    return groups
