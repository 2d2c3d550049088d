"""Diagram of a version, operation 10: its shapes with the elements they show, and the predecessors of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from elements import derived
from elements.reading import rows
from elements.reading.assembly.assembler import Assembler, Wire, add_part
from elements.reading.assembly.attributes import AttributeWriter
from elements.reading.assembly.links import ReferenceLinks, read_links
from elements.reading.assembly.projection import ATTRIBUTES, RELATED, Projection, Wanted, project
from elements.reading.bounds import most_text
from elements.reading.diagrams.drawings import DrawnLane, DrawnShape, read_diagram
from elements.reading.rows import Identity, ShapeRow, VersionRow
from facets.configuration import Configuration
from repository_site.core.database.statements import ask

NAME = "name"


class ContentAssembler(Assembler):
    """Shows of each element the name, its address on the page of the diagram, and the contexts of the view."""

    def shapes(self, owner: VersionRow) -> list[Wire]:
        shapes = rows.read_shapes([owner.version]).get(owner.version, [])
        identities = self.reader.identities.read({each.element for each in shapes})
        visible = [shape for shape in shapes if shape.element in identities]
        versions = [identities[each.element].version for each in visible]
        drawn = rows.read_versions(versions, only=(NAME,), most=most_text(len(versions)))
        links = read_links(self.reader.identities, list(drawn.values()), self.projection)
        by_id = {shape.shape: shape for shape in visible}
        flows = ask(rows.predecessors_of(list(by_id)))
        names = _names(self.reader.configuration)
        found = []
        for shape in visible:
            row = drawn[identities[shape.element].version]
            before = [
                {"properties": {"shapeId": each}, **self.reference(identities[by_id[each].element])}
                for each in flows.get(shape.shape, ())
                if each in by_id
            ]
            found.append(self._shape(shape, row, owner, before, links, names))
        return found

    def detailed(self, owner: VersionRow) -> tuple[list[Wire], list[Wire]]:
        """Return the shapes with everything that was drawn of them (D274), and the lanes of the diagram."""
        found, diagram = self.shapes(owner), read_diagram(owner.version)
        shapes = {each.shape: each for each in diagram.shapes}
        labels = {(each.shape, each.predecessor): each.label for each in diagram.flows}
        visible = {each["properties"]["shapeId"] for each in found}
        for each in found:
            properties = each["properties"]
            shape = shapes[properties["shapeId"]]
            properties |= _details(shape, visible)
            for before in properties["predecessors"]:
                if label := labels[shape.shape, before["properties"]["shapeId"]]:
                    before["properties"]["label"] = label
        identities = self.reader.identities.read({each.element for each in diagram.lanes if each.element})
        return found, [self._lane(each, identities) for each in diagram.lanes]

    def _lane(self, lane: DrawnLane, identities: Mapping[str, Identity]) -> Wire:
        found: Wire = {"id": lane.lane, "name": lane.name, "isPool": lane.is_pool}
        if lane.element and lane.element in identities:
            found["element"] = self.reference(identities[lane.element])
        if lane.parent:
            found["parent"] = lane.parent
        if lane.bounds:
            found["bounds"] = lane.bounds.wire()
        return found

    def _shape(
        self,
        shape: ShapeRow,
        row: VersionRow,
        owner: VersionRow,
        before: list[Wire],
        links: ReferenceLinks,
        names: Projection,
    ) -> Wire:
        found: Wire = {"properties": {"predecessors": before, "shapeId": shape.shape}, **self.reader.identity(row)}
        writer: AttributeWriter = self.reader.writer
        page = writer.page_addresses(self.projection.types[owner.type], f"{owner.version}?shape={shape.shape}")
        attributes: dict[str, Any] = {derived.PAGE_ADDRESS: page}
        attributes |= writer.attributes(row, names.types[row.type], has_authors=False)
        found[ATTRIBUTES] = attributes
        add_part(found, RELATED, self.references(links.related(row, self.contexts_of(row)), {}))
        return found


def _details(shape: DrawnShape, visible: Collection[str]) -> Wire:
    """Return what was drawn of a shape. Links to shapes that the caller cannot see are missing."""
    links = {
        "lane": shape.lane,
        "container": shape.container if shape.container in visible else None,
        "attachedTo": shape.host if shape.host in visible else None,
    }
    found: Wire = {"bounds": shape.bounds.wire()} if shape.bounds else {}
    return found | {name: link for name, link in links.items() if link}


def content_wanted() -> Wanted:
    return Wanted(frozenset({ATTRIBUTES, RELATED}))


def _names(configuration: Configuration) -> Projection:
    return configuration.keep(
        "names of shapes", lambda: project(configuration, lambda type: (NAME,), frozenset({ATTRIBUTES}))
    )
