"""Statements that write diagrams. Each handles all shapes, flows or lanes of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from elements.diagrams.geometry import ShapeBounds, plain_points
from elements.reading.diagrams.drawings import DrawnFlow, DrawnLane, DrawnShape
from elements.writing.diagrams.wanted_diagrams import WantedSource
from elements.writing.statements import execute
from facets.blueprint.cycles import Category
from repository_site.core.database.statements import as_arrays, fetch, id_array
from repository_site.core.rest.rendering import to_json

# Arrays of texts only are sent fastest, so a missing id is an empty text and a missing document is JSON's null.
NO_JSON = "null"


def insert_shapes(shapes: Mapping[str, Sequence[DrawnShape]]) -> None:
    """Insert shapes, by the version whose diagram shows them."""
    rows = [
        (
            each.shape, version, each.element, each.position, _json(each.bounds), each.lane or "", each.container or "",
            each.host or "", each.bpmn_id,
        )
        for version, drawn in shapes.items() for each in drawn
    ]  # fmt: skip
    if rows:
        sql = """INSERT INTO elements_shape
                (id, version_id, element_id, position, bounds, lane_id, container_id, host_id, bpmn_id)
            SELECT n.id, n.version, n.element, n.position, nullif(n.bounds, 'null'::jsonb), nullif(n.lane, '')::uuid,
                nullif(n.container, '')::uuid, nullif(n.host, '')::uuid, n.bpmn_id
            FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::int[], %s::jsonb[], %s::text[], %s::text[], %s::text[],
                %s::text[]) AS n (id, version, element, position, bounds, lane, container, host, bpmn_id)"""
        execute(sql, as_arrays(rows))


def insert_flows(flows: Sequence[DrawnFlow]) -> None:
    if flows:
        sql = """INSERT INTO elements_shapeflow (id, shape_id, predecessor_id, position, label, bpmn_id, waypoints)
            SELECT n.id, n.shape, n.predecessor, n.position, n.label, n.bpmn_id, nullif(n.waypoints, 'null'::jsonb)
            FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::int[], %s::jsonb[], %s::text[], %s::jsonb[])
                AS n (id, shape, predecessor, position, label, bpmn_id, waypoints)"""
        rows = [
            (
                str(uuid4()), each.shape, each.predecessor, each.position, _json(each.label), each.bpmn_id,
                NO_JSON if each.waypoints is None else _json(plain_points(each.waypoints)),
            )
            for each in flows
        ]  # fmt: skip
        execute(sql, as_arrays(rows))


def insert_lanes(lanes: Mapping[str, Sequence[DrawnLane]]) -> None:
    """Insert lanes, by the version whose diagram has them."""
    rows = [
        (
            each.lane, version, each.position, _json(each.name), each.element or "", each.parent or "", each.is_pool,
            _json(each.bounds), each.bpmn_id,
        )
        for version, drawn in lanes.items() for each in drawn
    ]  # fmt: skip
    if rows:
        sql = """INSERT INTO elements_lane
                (id, version_id, position, name, element_id, parent_id, is_pool, bounds, bpmn_id)
            SELECT n.id, n.version, n.position, n.name, nullif(n.element, '')::uuid, nullif(n.parent, '')::uuid,
                n.is_pool, nullif(n.bounds, 'null'::jsonb), n.bpmn_id
            FROM unnest(%s::uuid[], %s::uuid[], %s::int[], %s::jsonb[], %s::text[], %s::text[], %s::bool[], %s::jsonb[],
                %s::text[]) AS n (id, version, position, name, element, parent, is_pool, bounds, bpmn_id)"""
        execute(sql, as_arrays(rows))


def copy_sources(copies: Mapping[str, str]) -> None:
    """Copy the BPMN documents of versions inside the database; they can be large. `copies` are by source."""
    sql = """INSERT INTO elements_bpmnsource (id, version_id, document, processes, calls)
        SELECT n.id, n.copy, b.document, b.processes, b.calls
          FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) AS n (id, source, copy)
          JOIN elements_bpmnsource b ON b.version_id = n.source"""
    execute(sql, as_arrays([(str(uuid4()), source, copy) for source, copy in copies.items()]))


def store_source(version: str, source: WantedSource) -> None:
    sql = """INSERT INTO elements_bpmnsource (id, version_id, document, processes, calls)
        SELECT %s::uuid, %s::uuid, %s::text, %s::jsonb, %s::jsonb
        ON CONFLICT (storage_id, version_id) DO UPDATE
            SET document = excluded.document, processes = excluded.processes, calls = excluded.calls"""
    named = [_json(list(each)) for each in (source.processes, source.calls)]
    execute(sql, [str(uuid4()), version, source.document, *named])


def delete_shapes(shapes: Sequence[DrawnShape]) -> None:
    if shapes:
        sql = "DELETE FROM elements_shape WHERE id = ANY(%s::uuid[])"
        execute(sql, [id_array(each.shape for each in shapes)])


def delete_flows(flows: Sequence[DrawnFlow]) -> None:
    if flows:
        sql = """DELETE FROM elements_shapeflow f USING unnest(%s::uuid[], %s::uuid[]) AS n (shape, predecessor)
            WHERE f.shape_id = n.shape AND f.predecessor_id = n.predecessor"""
        execute(sql, as_arrays([(each.shape, each.predecessor) for each in flows]))


def delete_lanes(lanes: Sequence[DrawnLane]) -> None:
    if lanes:
        execute("DELETE FROM elements_lane WHERE id = ANY(%s::uuid[])", [id_array(each.lane for each in lanes)])


def delete_diagrams(versions: Sequence[str]) -> None:
    sql = "SELECT id::text FROM elements_shape WHERE version_id = ANY(%s::uuid[])"
    found, owners = id_array(row[0] for row in fetch(sql, [list(versions)])), id_array(versions)
    flows = "DELETE FROM elements_shapeflow WHERE shape_id = ANY(%s::uuid[]) OR predecessor_id = ANY(%s::uuid[])"
    execute(flows, [found, found])
    execute("DELETE FROM elements_shape WHERE id = ANY(%s::uuid[])", [found])
    execute("DELETE FROM elements_lane WHERE version_id = ANY(%s::uuid[])", [owners])
    execute("DELETE FROM elements_bpmnsource WHERE version_id = ANY(%s::uuid[])", [owners])


def settle_diagrams(versions: Sequence[str], in_diagrams: Sequence[str]) -> None:
    """Publish the elements of the types `in_diagrams` that these versions show while a version that shows them is
    published, and hide the others."""
    sql = """SELECT DISTINCT s.element_id::text FROM elements_shape s JOIN elements_element e ON e.id = s.element_id
        WHERE s.version_id = ANY(%s::uuid[]) AND e.type_id = ANY(%s::uuid[])"""
    drawn = [row[0] for row in fetch(sql, [list(versions), list(in_diagrams)])]
    if drawn:
        sql = """UPDATE elements_element e SET published_id = CASE WHEN EXISTS (
                SELECT FROM elements_shape s JOIN elements_elementversion v ON v.id = s.version_id
                 WHERE s.element_id = e.id AND v.category = ANY(%s)) THEN e.newest_id END
            WHERE e.id = ANY(%s::uuid[])"""
        execute(sql, [[Category.PUBLISHED.value, Category.STATIC.value], drawn])


def _json(value: Any) -> str:
    return to_json(value.wire() if isinstance(value, ShapeBounds) else value).decode()
