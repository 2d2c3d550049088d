"""Diagram of a version, operation 10: its shapes with the elements they show, and the predecessors of each."""

from __future__ import annotations

from typing import Any

from elements import derived
from elements.reading import rows
from elements.reading.assembly.assembler import Assembler, Wire, add_part
from elements.reading.assembly.attributes import AttributeWriter
from elements.reading.assembly.links import ReferenceLinks, read_links
from elements.reading.assembly.projection import ATTRIBUTES, RELATED, Projection, Wanted, project
from elements.reading.bounds import most_text
from elements.reading.rows import ShapeRow, VersionRow
from facets.configuration import Configuration

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
        flows = rows.read_predecessors(list(by_id))
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


def content_wanted() -> Wanted:
    return Wanted(frozenset({ATTRIBUTES, RELATED}))


def _names(configuration: Configuration) -> Projection:
    return configuration.keep(
        "names of shapes", lambda: project(configuration, lambda type: (NAME,), frozenset({ATTRIBUTES}))
    )
