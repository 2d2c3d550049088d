"""Fields of references (D574): the names of their targets, or other attributes, for requests that ask for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from elements import derived
from elements.naming import NAME
from elements.reading import rows
from elements.reading.assembly.attributes import plain_values
from elements.reading.assembly.projection import ATTRIBUTES, VALUES, Projection, Wanted, project
from elements.reading.bounds import check_response
from elements.reading.rows import Identity, VersionRow
from repository_site.core.rest.rendering import to_json

if TYPE_CHECKING:
    from elements.reading.assembly.assembler import Reader

NAME_ONLY = frozenset({NAME})
# Characters of a name, in all cultures together, that is cached.
SHORT = 500


class Extra(NamedTuple):
    """The fields that a reference has in addition, and the JSON text that continues it, with its closing bracket."""

    wire: Mapping[str, Any]
    text: str


Extras = Mapping[str, Extra]
"""By the version of the target. Targets without values have none."""
NO_EXTRAS: Extras = {}


class ReferenceFields:
    """Reads the fields of references in each place: a related context, or a part such as `children`."""

    def __init__(self, reader: Reader, wanted: Wanted) -> None:
        self._reader = reader
        self._fields, self._named = wanted.fields, NAME_ONLY if wanted.names else frozenset()
        self._projections: dict[frozenset[str], Projection] = {}

    def __bool__(self) -> bool:
        return bool(self._named or self._fields)

    def of(self, place: str) -> frozenset[str]:
        return self._fields.get(place, frozenset()) | self._named

    def read(self, targets: Mapping[str, Sequence[Identity]], most: int | None = None) -> dict[str, Extras]:
        """Return the fields by place, with at most three statements for all places. A target that several references
        name is given as often. Raise TooHeavy if the values have more than `most` bytes, or a response would be too
        large with them."""
        is_open = self._reader.audience.can_open
        shown = {place: [each for each in found if is_open(each)] for place, found in targets.items()}
        named = {each for place, found in shown.items() if self.of(place) == NAME_ONLY for each in found}
        others = {each for place, found in shown.items() if self.of(place) - NAME_ONLY for each in found}
        names = self.names(named, most)
        wanted = {place: self.of(place) for place in shown if self.of(place) - NAME_ONLY}
        written = self._attributes(others, set(wanted.values()), most)
        found = {place: written[wanted[place]] if place in wanted else names for place in shown}
        check_response(
            sum(
                len(found[place][each.version].text)
                for place, given in shown.items()
                for each in given
                if each.version in found[place]
            )
        )
        return found

    def names(self, targets: Collection[Identity], most: int | None = None) -> Extras:
        """Return the names of targets that the reader may open. Short names are cached with the identities."""
        known = self._reader.identities.names
        missing = [each.version for each in targets if each.version not in known]
        read = rows.read_versions(missing, only=NAME_ONLY, most=most)
        found = {version: orjson.loads(row.attributes).get(NAME) for version, row in read.items()}
        self._reader.identities.keep_names({v: name for v, name in found.items() if len(read[v].attributes) <= SHORT})
        found |= {each.version: known[each.version] for each in targets if each.version in known}
        shows = self._projection(NAME_ONLY).types
        return _extras(
            (each.version, self._plain({NAME: found[each.version]}), bool(self._reader.cultures))
            for each in targets
            if found.get(each.version) and shows[each.type].stored
        )

    def _plain(self, attributes: dict[str, Any]) -> dict[str, Any]:
        cultures = self._reader.cultures
        return plain_values(attributes, [str(lcid) for lcid in cultures]) if cultures else attributes

    def _attributes(
        self, targets: Collection[Identity], choices: Collection[frozenset[str]], most: int | None
    ) -> dict[frozenset[str], Extras]:
        """Return the values of each choice of fields, of all targets."""
        if not targets:
            return dict.fromkeys(choices, NO_EXTRAS)
        every = frozenset[str]().union(*choices)
        only = frozenset[str]().union(*(each.stored for each in self._projection(every).types.values()))
        found = rows.read_versions({each.version for each in targets}, with_attributes=bool(only), only=only, most=most)
        has_note = derived.AUTHOR_NOTE in every
        authors = rows.read_references(list(found), derived.AUTHOR_CONTEXTS) if has_note else {}

        def write(row: VersionRow, fields: frozenset[str]) -> Mapping[str, Any]:
            shown = self._projection(fields).types[row.type]
            return self._reader.writer.attributes(row, shown, has_authors=row.version in authors)

        is_plain = bool(self._reader.cultures)
        return {
            fields: _extras((version, write(row, fields), is_plain) for version, row in found.items())
            for fields in choices
        }

    def _projection(self, fields: frozenset[str]) -> Projection:
        found = self._projections.get(fields)
        if found is None:
            configuration = self._reader.nested

            def make() -> Projection:
                return project(configuration, lambda type: fields, frozenset({ATTRIBUTES}))

            found = configuration.keep("names of references", make) if fields == NAME_ONLY else make()
            self._projections[fields] = found
        return found


def _extras(values: Iterable[tuple[str, Mapping[str, Any], bool]]) -> dict[str, Extra]:
    found = {}
    for version, attributes, is_plain in values:
        if attributes:
            wire = {VALUES if is_plain else ATTRIBUTES: attributes}
            found[version] = Extra(wire, "," + to_json(wire)[1:].decode())
    return found
