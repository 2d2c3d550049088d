"""Rows of a table: the same content, in the same order and for the same audience as in a list of elements (D461)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from elements import derived
from elements.reading import rows
from elements.reading.assembly.assembler import Reader
from elements.reading.assembly.attributes import Values
from elements.reading.assembly.links import ReferenceLinks, ask_links
from elements.reading.assembly.projection import ATTRIBUTES, RELATED, Projection, project
from elements.reading.bounds import halved, most_text
from elements.reading.names import chosen_name, read_version_names
from elements.reading.rows import Identity, VersionRow
from elements.tables.cells import Cell, RowBatches, cell_of, items_cell, moment_cell
from elements.tables.columns import Column, ColumnKind, TableColumns
from repository_site.core.database.statements import Inquiry

# Rows in a batch, each of which takes the same number of statements.
BATCH = 500
# Names of targets that are kept for the next batches; many elements share their targets.
MOST_NAMES = 10_000
# Times that only the server sets.
MOMENTS = frozenset(derived.STAMPS) - {"validFrom", "validUntil"}


class TableRows:
    """Reads versions as rows of cells. Names of targets and parents are those of the default culture."""

    def __init__(self, reader: Reader, columns: TableColumns) -> None:
        self.reader = reader
        self.columns = columns
        self.cultures = reader.configuration.cultures
        self._projection = _projection(reader, columns)
        self._has_place = any(each.kind is ColumnKind.PARENT for each in columns.columns)
        self._names: dict[str, str] = {}

    def batches(
        self, keys: Iterable[tuple[int, Sequence[str]]], after_reading: Callable[[], None] | None = None
    ) -> RowBatches:
        """Return the rows of versions in batches, each with the total. A batch that is too heavy is divided (D188)."""
        for total, versions in keys:
            for found in halved(versions, self.read, BATCH):
                if after_reading is not None:
                    after_reading()
                yield total, found

    def read(self, versions: Sequence[str]) -> list[list[Cell]]:
        return [cells for _row, cells in self.read_with_versions(versions)]

    def read_with_versions(self, versions: Sequence[str]) -> list[tuple[VersionRow, list[Cell]]]:
        # A row is never divided; the limits of content bound it (D187).
        is_one = len(versions) == 1
        most = None if is_one else most_text(len(versions))
        known = rows.read_versions(versions, with_attributes=self._projection.stored, most=most)
        # Without a snapshot, an element may have been deleted in between.
        found = [known[each] for each in versions if each in known]
        links = self._links(found)
        self._read_names(links, found)
        return [(row, self._cells(row, links)) for row in found]

    def _links(self, found: Sequence[VersionRow]) -> ReferenceLinks:
        inquiry = Inquiry()
        links = ask_links(inquiry, self.reader.identities, found, self._projection)
        inquiry.ask()
        return links({row.parent for row in found if row.parent} if self._has_place else ())

    def _read_names(self, links: ReferenceLinks, found: Sequence[VersionRow]) -> None:
        shown, closed = self._projection.types, self.reader.audience.closed
        held = [links.related(row, shown[row.type].contexts).values() for row in found]
        targets = [each for contexts in held for identities in contexts for each in identities]
        if self._has_place:
            targets += [each for row in found if (each := links.identities.get(row.parent or "")) is not None]
        if len(self._names) > MOST_NAMES:
            self._names.clear()
        missing = {each.version for each in targets if each.type not in closed} - self._names.keys()
        names = read_version_names(missing)
        for version in missing:
            name = chosen_name(names.get(version, {}), self.cultures.default, self.cultures)
            # A cell has one name a line.
            self._names[version] = " ".join(name.split())

    def _cells(self, row: VersionRow, links: ReferenceLinks) -> list[Cell]:
        shown = self._projection.types[row.type]
        attributes = self.reader.writer.attributes(row, shown, has_authors=links.has_authors(row))
        related = links.related(row, shown.contexts)
        parent = links.identities.get(row.parent or "")
        return [self._cell(each, row, attributes, related, parent) for each in self.columns.columns]

    def _cell(
        self,
        column: Column,
        row: VersionRow,
        attributes: Mapping[str, Values],
        related: Mapping[str, Sequence[Identity]],
        parent: Identity | None,
    ) -> Cell:
        kind, type = column.kind, self.reader.types[row.type]
        if kind is ColumnKind.VALUE:
            values = attributes.get(column.key)
            return None if values is None else self._value(column, type.key, values.get(column.culture))
        if kind is ColumnKind.TARGETS:
            return items_cell(self._names.get(each.version, "") for each in related.get(column.key, ()))
        if kind is ColumnKind.TARGET_IDS:
            of_versions = column.key == derived.RELEASE_HISTORY
            return items_cell(each.version if of_versions else each.element for each in related.get(column.key, ()))
        if kind is ColumnKind.ID:
            return row.element
        if kind is ColumnKind.REVISION:
            return None if self.reader.hides_changes(row.type) else row.entity_tag.strip('"')
        if kind is ColumnKind.TYPE:
            return type.key
        if kind is ColumnKind.STATE:
            return derived.state1(type, row.state)
        if parent is None:
            return None
        return self._names.get(parent.version) if kind is ColumnKind.PARENT else parent.element

    def _value(self, column: Column, type: str, value: object) -> Cell:
        if column.key in MOMENTS:
            return moment_cell(str(value)) if value else None
        property = self.columns.properties[type].get(column.key)
        attribute = property.attribute if property else None
        return cell_of(attribute.data_type if attribute else None, value)


def _projection(reader: Reader, columns: TableColumns) -> Projection:
    shown = columns.properties
    resources = frozenset({ATTRIBUTES, RELATED})
    return project(reader.configuration, lambda type: shown.get(type.key, ()), resources, shown)
