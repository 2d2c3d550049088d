"""Export of a storage as transfer lines, in batches from one server-side cursor, so that memory stays constant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from django.db import connection

from elements.models import ElementVersion
from elements.reading.assembly.attributes import read_exactly
from facets.blueprint.definitions import ElementType
from facets.configuration import configuration_of
from repository_site.core.database.statements import fetch
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.rendering import to_json
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

BATCH = 500
INVARIANT = str(INVARIANT_CULTURE)
# Attributes as text: this module parses them with exact decimals; the driver would read floats.
VERSIONS_SQL = """
    SELECT v.id, v.element_id, e.creation_id, e.type_id, e.newest_id = v.id, v.state, v.major, v.minor, v.stereotype,
           v.attributes::text, v.created_on, v.changed_on, v.released_on, v.valid_from, v.valid_until,
           v.created_by_id, v.changed_by_id, v.released_by_id
      FROM elements_elementversion v JOIN elements_element e ON e.id = v.element_id
      JOIN facets_elementtype t ON t.id = e.type_id
     ORDER BY t.position, e.id, v.major, v.minor
"""
REFERENCES_SQL = """
    SELECT r.version_id, r.context, r.target_id, e.type_id
      FROM elements_reference r JOIN elements_element e ON e.id = r.target_id
     WHERE r.version_id = ANY(%s) ORDER BY r.version_id, r.context, r.position
"""
CHILDREN_SQL = """
    SELECT e.parent_id, e.id, e.type_id FROM elements_element e
     WHERE e.parent_id = ANY(%s) ORDER BY e.parent_id, e.position, e.rank, e.id
"""
SHAPES_SQL = """
    SELECT s.version_id, s.id, s.element_id, e.type_id, s.bounds::text, s.lane_id, s.container_id, s.host_id, s.bpmn_id
      FROM elements_shape s JOIN elements_element e ON e.id = s.element_id
     WHERE s.version_id = ANY(%s) ORDER BY s.version_id, s.position
"""
FLOWS_SQL = """
    SELECT f.shape_id, f.predecessor_id, f.label::text, f.bpmn_id, f.waypoints::text FROM elements_shapeflow f
     WHERE f.shape_id = ANY(%s) ORDER BY f.shape_id, f.position
"""
LANES_SQL = """
    SELECT l.version_id, l.id, l.name::text, l.element_id, e.type_id, l.parent_id, l.is_pool, l.bounds::text, l.bpmn_id
      FROM elements_lane l LEFT JOIN elements_element e ON e.id = l.element_id
     WHERE l.version_id = ANY(%s) ORDER BY l.version_id, l.position
"""
SOURCES_SQL = "SELECT b.version_id, b.document FROM elements_bpmnsource b WHERE b.version_id = ANY(%s)"
TYPES_SQL = "SELECT id, type_id FROM elements_element WHERE id = ANY(%s)"


def count_versions(storage: Storage) -> int:
    with tenant_scope(storage):
        return ElementVersion.objects.count()


def export_lines(storage: Storage) -> Iterator[bytes]:
    """Return one line for each element version: types in configured order, then by id, versions oldest first.

    Each batch reads references and diagrams in separate statements; one snapshot keeps them consistent.
    """
    with tenant_scope(storage, snapshot=True):
        exporter = _Exporter(storage)
        with connection.chunked_cursor() as cursor:
            cursor.execute(VERSIONS_SQL)
            while rows := cursor.fetchmany(BATCH):
                yield from exporter.lines(rows)


class _Exporter:
    def __init__(self, storage: Storage) -> None:
        configuration = configuration_of(storage)
        self.zone = ZoneInfo(storage.time_zone)
        self.types = {row_id: configuration.types[key] for key, row_id in configuration.type_ids.items()}

    def lines(self, rows: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
        versions = [row[0] for row in rows]
        references = _grouped(REFERENCES_SQL, versions)
        children = _grouped(CHILDREN_SQL, [row[1] for row in rows])
        shapes = _grouped(SHAPES_SQL, versions)
        lanes, sources = _grouped(LANES_SQL, versions), _grouped(SOURCES_SQL, versions)
        flows = _grouped(FLOWS_SQL, [shape[0] for found in shapes.values() for shape in found])
        callers: dict[UUID, UUID] = dict(
            fetch(TYPES_SQL, [list({caller for row in rows for caller in row[15:18] if caller})])
        )
        for row in rows:
            type = self.types[row[3]]
            yield (
                to_json(
                    {
                        **self._identity(row, type),
                        **_part("attributes", self._attributes(row)),
                        **_part("related", self._related(row, references.get(row[0], []), callers)),
                        **_part("children", self._children(row, children.get(row[1], []))),
                        **_part("content", self._content(shapes.get(row[0], []), flows)),
                        **_part("lanes", [self._lane(*lane) for lane in lanes.get(row[0], [])]),
                        **_part("bpmn", "".join(source for (source,) in sources.get(row[0], []))),
                    }
                )
                + b"\n"
            )

    def _identity(self, row: tuple[Any, ...], type: ElementType) -> dict[str, Any]:
        second = {"versionId": str(row[0])} if type.is_versioned else {"creationId": str(row[2])}
        return {
            "facetName": type.facet,
            "id": str(row[1]),
            **second,
            "type": type.key,
            **_part("state", row[5]),
            **_part("stereotype", row[8]),
        }

    def _attributes(self, row: tuple[Any, ...]) -> dict[str, Any]:
        stored = read_exactly(row[9])
        names = ("createdOn", "changedOn", "relOn", "validFrom", "validUntil")
        for name, moment in zip(names, row[10:15], strict=True):
            if moment is not None:
                stored[name] = {INVARIANT: wire_datetime(moment, self.zone)}
        if row[6] is not None:
            stored["version"] = {INVARIANT: f"{row[6]}.{row[7]}"}
        return {
            name: dict(sorted(_ordered(stored[name]).items(), key=lambda item: int(item[0]))) for name in sorted(stored)
        }

    def _related(
        self, row: tuple[Any, ...], references: list[tuple[Any, ...]], callers: dict[UUID, UUID]
    ) -> dict[str, Any]:
        related: dict[str, list[dict[str, str]]] = defaultdict(list)
        for context, target, type_id in references:
            related[context].append(self._reference(target, type_id))
        for context, caller in zip(("createdBy", "changedBy", "relBy"), row[15:18], strict=True):
            if caller is not None:
                related[context].append(self._reference(caller, callers[caller]))
        return dict(sorted(related.items()))

    def _children(self, row: tuple[Any, ...], children: list[tuple[Any, ...]]) -> list[dict[str, str]]:
        """Return children of the newest version. Elements that live in diagrams are part of the content instead."""
        if not row[4]:
            return []
        return [
            self._reference(child, type_id) for child, type_id in children if not self.types[type_id].lives_in_diagrams
        ]

    def _content(self, shapes: list[tuple[Any, ...]], flows: dict[UUID, list[tuple[Any, ...]]]) -> list[dict[str, Any]]:
        return [
            {
                "properties": {
                    "shapeId": str(shape),
                    "predecessors": [_predecessor(*flow) for flow in flows.get(shape, [])],
                    **_drawn(bounds=_parsed(bounds), lane=lane, container=container, attachedTo=host, bpmnId=bpmn_id),
                },
                **self._reference(element, type_id),
            }
            for shape, element, type_id, bounds, lane, container, host, bpmn_id in shapes
        ]

    def _lane(
        self, lane: UUID, name: str, element: UUID | None, type_id: UUID, parent: UUID | None, is_pool: bool,
        bounds: str | None, bpmn_id: str,
    ) -> dict[str, Any]:  # fmt: skip
        return {
            "id": str(lane),
            **_drawn(
                name=_parsed(name),
                element=self._reference(element, type_id) if element else None,
                parent=parent,
                isPool=is_pool,
                bounds=_parsed(bounds),
                bpmnId=bpmn_id,
            ),
        }

    def _reference(self, element: UUID, type_id: UUID) -> dict[str, str]:
        type = self.types[type_id]
        return {"facetName": type.facet, "id": str(element), "type": type.key}


def _predecessor(before: UUID, label: str, bpmn_id: str, waypoints: str | None) -> dict[str, Any]:
    return {
        "properties": {
            "shapeId": str(before), **_drawn(label=_parsed(label), bpmnId=bpmn_id, waypoints=_parsed(waypoints)),
        }
    }  # fmt: skip


def _parsed(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def _drawn(**values: Any) -> dict[str, Any]:
    """Return what was drawn; everything else is left out."""
    return {name: str(value) if isinstance(value, UUID) else value for name, value in values.items() if value}


def _ordered(value: Any) -> Any:
    """Sort the keys of objects, which the database stores in its own order, so that equal lines compare equal."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _part(name: str, value: Any) -> dict[str, Any]:
    return {name: value} if value else {}


def _grouped(sql: str, ids: list[UUID]) -> dict[UUID, list[tuple[Any, ...]]]:
    groups: dict[UUID, list[tuple[Any, ...]]] = defaultdict(list)
    for owner, *values in fetch(sql, [ids]):
        groups[owner].append(tuple(values))
    return groups
