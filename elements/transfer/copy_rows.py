"""Rows of the tables for checked lines, in the format of COPY."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from elements.bpmn.document.parsing import called_ids, process_ids
from elements.diagrams.geometry import ShapeBounds, plain_points
from elements.filters.search_documents import search_document
from elements.models import (
    BpmnSource,
    ElementVersion,
    Lane,
    Reference,
    Shape,
    ShapeFlow,
    VersionFile,
)
from elements.naming import sort_name
from elements.transfer.diagram_lines import TransferDiagram
from elements.transfer.file_facts import ImportedElement
from elements.transfer.lines import CALLERS, TransferLine
from elements.transfer.word_rows import WordRows
from facets.configuration import Configuration
from repository_site.core.rest.rendering import to_json
from storage.tenancy.bulk import ascending_ids, copy_row, copy_rows, copy_text

BATCH_LINES = 2_500
BATCH_SIZE = 8 * 1024 * 1024

ELEMENT_COLUMNS = ("id", "creation_id", "type_id", "parent_id", "position", "newest_id", "published_id")
VERSION_COLUMNS = (
    "id", "element_id", "state", "category", "major", "minor", "stereotype", "attributes", "sort_name", "valid_from",
    "valid_until",
    "created_on", "created_by_id", "changed_on", "changed_by_id", "released_on", "released_by_id",
)  # fmt: skip
REFERENCE_COLUMNS = ("id", "version_id", "context", "position", "target_id")
SHAPE_COLUMNS = (
    "id", "version_id", "element_id", "position", "bounds", "lane_id", "container_id", "host_id", "bpmn_id",
)  # fmt: skip
FLOW_COLUMNS = ("id", "shape_id", "predecessor_id", "position", "label", "bpmn_id", "waypoints")
LANE_COLUMNS = (
    "id", "version_id", "position", "name", "element_id", "parent_id", "is_pool", "bounds", "bpmn_id",
)  # fmt: skip
SOURCE_COLUMNS = ("id", "version_id", "document", "processes", "calls")
FILE_COLUMNS = ("id", "version_id", "attribute", "file_id")


@dataclass(slots=True)
class ImportRows:
    """Rows of a batch of lines, with the ids of versions, shapes and lanes that the storage must not have yet."""

    versions: list[str] = field(default_factory=list)
    words: WordRows = field(default_factory=WordRows)
    references: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    flows: list[str] = field(default_factory=list)
    lanes: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    version_ids: list[str] = field(default_factory=list)
    shape_ids: list[str] = field(default_factory=list)
    lane_ids: list[str] = field(default_factory=list)
    file_lines: dict[str, int] = field(default_factory=dict)
    """The first line of each file, which the storage must have."""
    size: int = 0

    def is_full(self) -> bool:
        return len(self.versions) >= BATCH_LINES or self.size >= BATCH_SIZE

    def write(self) -> None:
        # Before the versions: the database adds the documents that are missing then.
        self.words.write()
        copy_rows(ElementVersion, VERSION_COLUMNS, self.versions)
        copy_rows(Reference, REFERENCE_COLUMNS, self.references)
        # Before the shapes in them: the database checks these keys with each batch.
        copy_rows(Lane, LANE_COLUMNS, self.lanes)
        copy_rows(Shape, SHAPE_COLUMNS, self.shapes)
        copy_rows(ShapeFlow, FLOW_COLUMNS, self.flows)
        copy_rows(BpmnSource, SOURCE_COLUMNS, self.sources)
        copy_rows(VersionFile, FILE_COLUMNS, self.files)


class RowMaker:
    def __init__(self, configuration: Configuration, now: datetime) -> None:
        self.default_culture = str(configuration.cultures.default)
        self.now = now.isoformat()
        self._ids = ascending_ids()

    def add(self, line: TransferLine, rows: ImportRows) -> None:
        version, ids = line.version, self._ids
        for attribute, file in line.files:
            rows.files.append(copy_row(next(ids), version, copy_text(attribute), file))
        rows.version_ids.append(version)
        if line.element != version:
            rows.version_ids.append(line.element)
        row = self._version_row(line)
        rows.versions.append(row)
        rows.size += len(row)
        if document := search_document(line.attributes):
            rows.words.add(version, *document)
        for context, targets in line.related.items():
            if context not in CALLERS:
                name = copy_text(context)
                rows.references += [
                    f"{next(ids)}\t{version}\t{name}\t{position}\t{target.id}\n"
                    for position, target in enumerate(targets)
                ]
        if line.diagram.shapes or line.diagram.lanes or line.diagram.source:
            self._add_diagram(line.version, line.diagram, rows)

    def _add_diagram(self, version: str, diagram: TransferDiagram, rows: ImportRows) -> None:
        for lane, _ in diagram.lanes:
            rows.lane_ids.append(lane.lane)
            links = lane.element, lane.parent, "t" if lane.is_pool else "f"
            others = _bounds(lane.bounds), copy_text(lane.bpmn_id)
            rows.lanes.append(copy_row(lane.lane, version, lane.position, _json(lane.name), *links, *others))
        for shape, _ in diagram.shapes:
            rows.shape_ids.append(shape.shape)
            place = shape.shape, version, shape.element, shape.position, _bounds(shape.bounds)
            around = shape.lane, shape.container, shape.host
            rows.shapes.append(copy_row(*place, *around, copy_text(shape.bpmn_id)))
        for flow in diagram.flows:
            points = None if flow.waypoints is None else _json(plain_points(flow.waypoints))
            ends = next(self._ids), flow.shape, flow.predecessor, flow.position
            rows.flows.append(copy_row(*ends, _json(flow.label), copy_text(flow.bpmn_id), points))
        if diagram.source:
            named = [_json(find(diagram.source)) for find in (process_ids, called_ids)]
            rows.sources.append(copy_row(next(self._ids), version, copy_text(diagram.source), *named))
            rows.size += len(diagram.source)

    def _version_row(self, line: TransferLine) -> str:
        stamps = line.stamps
        created = stamps.get("createdOn", self.now)
        callers = [targets[0].id if (targets := line.related.get(name)) else None for name in CALLERS]
        return copy_row(
            line.version,
            line.element,
            line.state,
            line.category.value,
            line.major,
            line.minor,
            copy_text(line.stereotype),
            _json(line.attributes),
            copy_text(sort_name(line.attributes, self.default_culture)),
            stamps.get("validFrom"),
            stamps.get("validUntil"),
            created,
            callers[0],
            stamps.get("changedOn", created),
            callers[1],
            stamps.get("relOn"),
            callers[2],
        )


def _json(value: Any) -> str:
    # JSON already escapes line breaks and tabs.
    return to_json(value).decode().replace("\\", "\\\\")


def _bounds(bounds: ShapeBounds | None) -> str | None:
    return None if bounds is None else _json(bounds.wire())


def element_rows(configuration: Configuration, elements: Iterable[tuple[str, ImportedElement]]) -> list[str]:
    type_ids = {key: str(row_id) for key, row_id in configuration.type_ids.items()}
    return [
        copy_row(
            element, known.creation, type_ids[known.type], known.parent, known.position, known.newest, known.published
        )
        for element, known in elements
    ]
