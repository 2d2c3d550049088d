"""Reporting, operation 15 (D14): elements with one level of children and content in full, and all versions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from elements.reading import rows
from elements.reading.assembly.assembler import Assembler, Gathered, Part, Reader, Wire, add_part
from elements.reading.assembly.links import ReferenceLinks, read_links
from elements.reading.assembly.projection import RELATED, VERSIONS, Wanted
from elements.reading.assembly.response_addresses import REPORTING
from elements.reading.bounds import Slices, TooHeavy, halved, most_rows, most_text
from elements.reading.rows import Identity, VersionRow
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.database.statements import ask
from repository_site.core.rest.rendering import to_json


class ReportAssembler(Assembler):
    """Builds elements with children and content in full, and with addresses of reporting."""

    leads_to = REPORTING

    def __init__(self, reader: Reader, view: CompiledView, wanted: Wanted) -> None:
        self.with_versions = VERSIONS in wanted.resources
        resources = wanted.resources - {VERSIONS}
        super().__init__(reader, view, Wanted(resources, wanted.select, wanted.expand, wanted.also))

    def iterate(self, batch: Sequence[VersionRow]) -> Iterator[Wire]:
        if self.with_versions and self.in_slices:
            return self._iterate_slices(batch)
        versions = self._versions(batch) if self.with_versions else {}
        everything = {row.version: row for row in (*batch, *(row for found in versions.values() for row in found))}
        built = dict(zip(everything, super().iterate(list(everything.values())), strict=True))
        return (self._with_versions(row, versions.get(row.element, ()), built) for row in batch)

    def _with_versions(self, row: VersionRow, versions: Sequence[VersionRow], built: Mapping[str, Wire]) -> Wire:
        element = dict(built[row.version])
        add_part(element, VERSIONS, [built[each.version] for each in versions])
        return element

    def _known_versions(self, batch: Sequence[VersionRow]) -> Mapping[str, Sequence[rows.VersionSummary]]:
        versioned = [row for row in batch if self.reader.types[row.type].is_versioned]
        return ask(rows.known_versions_of(self.reader.audience, versioned))

    def _iterate_slices(self, batch: Sequence[VersionRow]) -> Iterator[Wire]:
        known = self._known_versions(batch)
        for row, element in zip(batch, super().iterate(batch), strict=True):
            versions = [each.identity.version for each in known.get(row.element, ())]
            add_part(element, VERSIONS, Slices(self._version_slices(versions)) if versions else None)
            yield element

    def _version_slices(self, versions: Sequence[str]) -> Iterator[bytes | Wire]:
        for few in halved(versions, self._read_few):
            yield from few

    def _read_few(self, versions: Sequence[str]) -> Iterator[bytes | Wire]:
        """Build versions without their own lists of versions; if a single one is too heavy, with slices."""
        is_one = len(versions) == 1
        found = rows.read_versions(versions, for_reporting=True, most=None if is_one else most_text(len(versions)))
        read = [found[version] for version in versions if version in found]
        try:
            return map(to_json, super().iterate(read))
        except TooHeavy:
            if not is_one:
                raise
        self.in_slices = True
        try:
            return iter(list(super().iterate(read)))
        finally:
            self.in_slices = False

    def _versions(self, batch: Sequence[VersionRow]) -> dict[str, list[VersionRow]]:
        known = self._known_versions(batch)
        wanted = [each.identity.version for found in known.values() for each in found]
        read = rows.read_versions(wanted, for_reporting=True, most=most_text(len(wanted)))
        return {element: [read[each.identity.version] for each in found] for element, found in known.items()}

    def gather(self, batch: Sequence[VersionRow], meanwhile: Callable[[], None] | None = None) -> Gathered:
        gathered = super().gather(batch, meanwhile)
        if self.in_slices:
            return gathered
        below = {target.version for found in gathered.children.values() for target in found}
        below |= {target.version for row in batch for target in gathered.drawn(row)}
        found, links = self._read_below(below, len(batch))
        return replace(gathered, below=found, links_below=links)

    def _read_below(self, versions: Collection[str], owners: int) -> tuple[dict[str, VersionRow], ReferenceLinks]:
        found = rows.read_versions(
            versions, with_attributes=self.needs_attributes, for_reporting=True, most=most_text(owners)
        )
        links = read_links(self.reader.identities, list(found.values()), self.projection, most_rows(owners))
        return found, links

    def children(self, row: VersionRow, gathered: Gathered) -> Part:
        return self._below(gathered.children.get(row.element, ()), gathered)

    def content(self, row: VersionRow, gathered: Gathered) -> Part:
        return self._below(gathered.drawn(row), gathered)

    def _below(self, targets: Sequence[Identity], gathered: Gathered) -> Part:
        if self.in_slices:
            return Slices(self._below_slices(targets)) if targets else None
        return [self._element_below(gathered.below[target.version], gathered.links_below) for target in targets]

    def _below_slices(self, targets: Sequence[Identity]) -> Iterator[bytes]:
        def read(few: Sequence[Identity]) -> list[Wire]:
            found, links = self._read_below({each.version for each in few}, len(few))
            return [self._element_below(found[each.version], links) for each in few]

        for elements in halved(targets, read):
            yield from map(to_json, elements)

    def _element_below(self, row: VersionRow, links: ReferenceLinks) -> Wire:
        shown = self.projection.types[row.type]
        found = self.reader.identity(row)
        attributes = self.reader.writer.attributes(row, shown, has_authors=links.has_authors(row))
        self.add_attributes(found, attributes)
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
