"""Rows of a table: the same content, in the same order and for the same audience as in a list of elements (D461)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from elements import derived
from elements.reading import rows
from elements.reading.assembly.assembler import Reader
from elements.reading.assembly.links import ReferenceLinks, ask_links
from elements.reading.assembly.projection import ATTRIBUTES, RELATED, Projection, project
from elements.reading.bounds import halved, most_text
from elements.reading.names import chosen_name, read_version_names
from elements.reading.rows import Identity, VersionRow
from elements.tables.cells import Cell, RowBatches, cell_of, items_cell, moment_cell
from elements.tables.columns import ColumnKind, TableColumns
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType
from repository_site.core.database.statements import Inquiry

# Rows in a batch, each of which takes the same number of statements.
BATCH = 500
# Names of targets that are kept for the next batches; many elements share their targets.
MOST_NAMES = 10_000
# Times that only the server sets.
MOMENTS = frozenset(derived.STAMPS) - {"validFrom", "validUntil"}


Related = Mapping[str, Sequence[Identity]]
# Place and conversion of a value, by property and culture.
ValuePlaces = Mapping[tuple[str, str], tuple[int, Callable[[Any], Cell]]]


class TableRows:
    """Reads versions as rows of cells. Names of targets and parents are those of the default culture."""

    def __init__(self, reader: Reader, columns: TableColumns) -> None:
        self.reader = reader
        self.columns = columns
        self.cultures = reader.configuration.cultures
        self._projection = _projection(reader, columns)
        self._names: dict[str, str] = {}
        places = {each: place for place, each in enumerate(columns.columns)}
        self._fixed = {each.kind: place for each, place in places.items() if not each.key}
        self._has_place = ColumnKind.PARENT in self._fixed
        self._context_places = {
            each.key: (place, place + 1) for each, place in places.items() if each.kind is ColumnKind.TARGETS
        }
        self._places: dict[str, ValuePlaces] = {}

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
        links, shown = self._links(found), self._projection.types
        related = [links.related(row, shown[row.type].contexts) for row in found]
        self._read_names(links, found, related)
        return [(row, self._cells(row, links, held)) for row, held in zip(found, related, strict=True)]

    def _links(self, found: Sequence[VersionRow]) -> ReferenceLinks:
        inquiry = Inquiry()
        links = ask_links(inquiry, self.reader.identities, found, self._projection)
        inquiry.ask()
        return links({row.parent for row in found if row.parent} if self._has_place else ())

    def _read_names(self, links: ReferenceLinks, found: Sequence[VersionRow], related: Sequence[Related]) -> None:
        closed = self.reader.audience.closed
        targets = [each for contexts in related for identities in contexts.values() for each in identities]
        if self._has_place:
            targets += [each for row in found if (each := links.identities.get(row.parent or "")) is not None]
        if len(self._names) > MOST_NAMES:
            self._names.clear()
        missing = {each.version for each in targets if each.type not in closed} - self._names.keys()
        names = read_version_names(missing)
        for version in missing:
            name = chosen_name(names.get(version, {}), self.cultures.default, self.cultures)
            # Each name is on a line of its own.
            self._names[version] = " ".join(name.split())

    def _cells(self, row: VersionRow, links: ReferenceLinks, related: Related) -> list[Cell]:
        """Fill only the cells that have a value: most types have many more columns than an element has values."""
        shown, type = self._projection.types[row.type], self.reader.types[row.type]
        cells: list[Cell] = [None] * len(self.columns.columns)
        parent = links.identities.get(row.parent or "")
        for kind, place in self._fixed.items():
            cells[place] = self._fixed_cell(kind, row, type, parent)
        places = self._value_places(type.key)
        for key, values in self.reader.writer.attributes(row, shown, has_authors=links.has_authors(row)).items():
            for culture, value in values.items():
                if value is not None and (found := places.get((key, culture))) is not None:
                    place, convert = found
                    cells[place] = convert(value)
        for key, targets in related.items():
            names, ids = self._context_places[key]
            cells[names] = items_cell([self._names.get(each.version, "") for each in targets])
            of_versions = key == derived.RELEASE_HISTORY
            cells[ids] = items_cell([each.version if of_versions else each.element for each in targets])
        return cells

    def _fixed_cell(self, kind: ColumnKind, row: VersionRow, type: ElementType, parent: Identity | None) -> Cell:
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

    def _value_places(self, type: str) -> ValuePlaces:
        """Return the columns of a type, decided once instead of for each row."""
        found = self._places.get(type)
        if found is None:
            properties = self.columns.properties[type]
            attributes = {key: each.attribute for key, each in properties.items() if each.attribute}
            found = self._places[type] = {
                (each.key, each.culture): (place, _converter(each.key, attributes[each.key].data_type))
                for place, each in enumerate(self.columns.columns)
                if each.kind is ColumnKind.VALUE and each.key in attributes
            }
        return found


def _converter(key: str, data_type: DataType) -> Callable[[Any], Cell]:
    return moment_cell if key in MOMENTS else partial(cell_of, data_type)


def _projection(reader: Reader, columns: TableColumns) -> Projection:
    shown = columns.properties
    resources = frozenset({ATTRIBUTES, RELATED})
    return project(reader.configuration, lambda type: shown.get(type.key, ()), resources, shown)
