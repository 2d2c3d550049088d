"""Elements in the form of `_api/v2/data` (D581): a name for people, attributes as a list, and children by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import orjson

from elements.naming import NAME
from elements.reading import rows
from elements.reading.assembly.assembler import Gathered, Reader, Wire
from elements.reading.assembly.attributes import INVARIANT, Values
from elements.reading.assembly.links import NO_LINKS, ReferenceLinks
from elements.reading.assembly.projection import ATTRIBUTES, CHILDREN, Wanted
from elements.reading.bounds import most_text
from elements.reading.names import chosen_name
from elements.reading.reporting import ReportAssembler
from elements.reading.rows import VersionRow
from facets.configuration import CompiledView

WANTED = Wanted(frozenset({ATTRIBUTES, CHILDREN}), also=frozenset({NAME}))


class DataAssembler(ReportAssembler):
    """Builds elements with the attributes of a view, in all cultures or in one."""

    def __init__(self, reader: Reader, view: CompiledView, culture: int | None) -> None:
        super().__init__(reader, view, WANTED)
        self._culture = culture or reader.configuration.cultures.default
        self._only = None if culture is None else {str(culture), INVARIANT}

    def _element(self, row: VersionRow, gathered: Gathered) -> Wire:
        found = super()._element(row, gathered)
        attributes = found.get(ATTRIBUTES, {})
        return {
            **self._named(row, attributes.get(NAME, {})),
            ATTRIBUTES: [
                {"key": key, "values": values} for key, each in attributes.items() if (values := self._values(each))
            ],
            CHILDREN: found.get(CHILDREN, []),
        }

    def _read_below(self, versions: Collection[str], owners: int) -> tuple[dict[str, VersionRow], ReferenceLinks]:
        return rows.read_versions(versions, only=[NAME], most=most_text(owners)), NO_LINKS

    def _element_below(self, row: VersionRow, links: ReferenceLinks) -> Wire:
        return self._named(row, orjson.loads(row.attributes).get(NAME, {}))

    def _named(self, row: VersionRow, names: Values) -> Wire:
        type = self.reader.types[row.type]
        name = chosen_name(names, self._culture, self.reader.configuration.cultures)
        return {"id": row.element, "properties": {"name": name, "type": type.key, "facetName": type.facet}}

    def _values(self, values: Mapping[str, object]) -> Sequence[Wire]:
        only = self._only
        return [{"lcid": int(lcid), "value": value} for lcid, value in values.items() if only is None or lcid in only]
