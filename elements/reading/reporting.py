"""Reporting, operation 15 (D14): elements with one level of children and content in full, and all versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from elements.reading import rows
from elements.reading.assembly.addresses import REPORTING
from elements.reading.assembly.assembler import Assembler, Gathered, Reader, Wire, add_part
from elements.reading.assembly.links import ReferenceLinks, read_links
from elements.reading.assembly.projection import ATTRIBUTES, RELATED, VERSIONS, Wanted
from elements.reading.rows import Identity, VersionRow
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.database.statements import ask


class ReportAssembler(Assembler):
    """Builds elements with children and content in full, and with addresses of reporting."""

    leads_to = REPORTING

    def __init__(self, reader: Reader, view: CompiledView, wanted: Wanted) -> None:
        self.with_versions = VERSIONS in wanted.resources
        resources = wanted.resources - {VERSIONS}
        super().__init__(reader, view, Wanted(resources, wanted.select, wanted.expand, wanted.also))

    def elements(self, batch: Sequence[VersionRow]) -> list[Wire]:
        versions = self._versions(batch) if self.with_versions else {}
        everything = {row.version: row for row in (*batch, *(row for found in versions.values() for row in found))}
        built = dict(zip(everything, super().elements(list(everything.values())), strict=True))
        found = []
        for row in batch:
            element = dict(built[row.version])
            add_part(element, VERSIONS, [built[each.version] for each in versions.get(row.element, ())])
            found.append(element)
        return found

    def _versions(self, batch: Sequence[VersionRow]) -> dict[str, list[VersionRow]]:
        versioned = [row for row in batch if self.reader.types[row.type].is_versioned]
        known = ask(rows.known_versions_of(self.reader.audience, versioned))
        wanted = [each.identity.version for found in known.values() for each in found]
        read = rows.read_versions(wanted, for_reporting=True)
        return {element: [read[each.identity.version] for each in found] for element, found in known.items()}

    def gather(self, batch: Sequence[VersionRow], meanwhile: Callable[[], None] | None = None) -> Gathered:
        gathered = super().gather(batch, meanwhile)
        below = {target.version for found in gathered.children.values() for target in found}
        below |= {target.version for row in batch for target in gathered.drawn(row)}
        found = rows.read_versions(below, with_attributes=self.needs_attributes, for_reporting=True)
        links = read_links(self.reader.identities, list(found.values()), self.projection)
        return replace(gathered, below=found, links_below=links)

    def children(self, row: VersionRow, gathered: Gathered) -> list[Wire]:
        return self._below(gathered.children.get(row.element, ()), gathered)

    def content(self, row: VersionRow, gathered: Gathered) -> list[Wire]:
        return self._below(gathered.drawn(row), gathered)

    def _below(self, targets: Iterable[Identity], gathered: Gathered) -> list[Wire]:
        return [self._element_below(gathered.below[target.version], gathered.links_below) for target in targets]

    def _element_below(self, row: VersionRow, links: ReferenceLinks) -> Wire:
        shown = self.projection.types[row.type]
        found = self.reader.identity(row)
        attributes = self.reader.writer.attributes(row, shown, has_authors=links.has_authors(row))
        add_part(found, ATTRIBUTES, attributes)
        add_part(
            found,
            RELATED,
            {
                context: self.writer.references(targets)
                for context, targets in links.related(row, shown.contexts).items()
            },
        )
        return found

    @staticmethod
    def prefix_in_view(reader: Reader, view: CompiledView) -> Callable[[ElementType], str]:
        return reader.addresses.report
