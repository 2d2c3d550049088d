"""Which columns of a file are which columns of a table (D466): by their headers, or as a person has chosen. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _

from elements.tables.columns import Column, ColumnKind, table_columns
from elements.tables.read_tables import address
from facets.configuration import Configuration
from repository_site.core.problems import Invalid
from repository_site.core.wording import printable


@dataclass(frozen=True)
class ColumnMapping:
    columns: Mapping[int, Column]
    """By the place of the column in the file."""
    ignored: tuple[str, ...] = ()
    """Headers of the columns that are not imported."""

    @cached_property
    def places(self) -> Mapping[Column, int]:
        return {column: place for place, column in self.columns.items()}

    def place_of(self, kind: ColumnKind, key: str = "", culture: str = "") -> int | None:
        found = (
            place for place, each in self.columns.items() if (each.kind, each.key, each.culture) == (kind, key, culture)
        )
        return next(found, None)


def known_columns(configuration: Configuration) -> Mapping[str, Column]:
    """Return the columns of all types by their headers."""

    def make() -> dict[str, Column]:
        types = configuration.types.values()
        every = list(dict.fromkeys(each.key for type in types for each in type.properties))
        found = table_columns([(type, type.properties) for type in types], configuration.cultures.data, order=every)
        return {each.header: each for each in found.columns}

    return configuration.keep("columns of tables", make)


def map_columns(headers: Mapping[int, str], known: Mapping[str, Column], chosen: Mapping[str, str]) -> ColumnMapping:
    """Return the mapping of a file. `chosen` has the columns that a person chose, by header in lower case; an empty one
    leaves the column out. Other headers are compared without letter case."""
    folded = {header.casefold(): column for header, column in known.items()}
    found: dict[int, Column] = {}
    ignored: list[str] = []
    for place, header in headers.items():
        wanted = chosen.get(header.casefold(), header)
        column = folded.get(wanted.casefold()) if wanted else None
        if column is None:
            ignored.append(header)
        elif column in found.values():
            words = {"cell": address(place, 1), "column": printable(column.header, 100)}
            raise Invalid(_("%(cell)s: the column %(column)s occurs twice.") % words)
        else:
            found[place] = column
    return ColumnMapping(found, tuple(ignored))
