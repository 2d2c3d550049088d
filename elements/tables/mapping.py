"""Which columns of a file are which columns of a table (D466): by their headers, or as a person has chosen. A storage
remembers these choices for the next import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from elements.models import TableMapping
from elements.models.tables import ONLY_MAPPING
from elements.tables.columns import Column, table_columns
from elements.tables.read_tables import address
from facets.configuration import Configuration
from repository_site.core.problems import Invalid
from repository_site.core.wording import printable

# Headers that a storage remembers; the oldest are forgotten first.
MOST_REMEMBERED = 500
# Longer headers are not remembered.
LONGEST = 200


@dataclass(frozen=True)
class ColumnMapping:
    columns: Mapping[int, Column]
    """By the place of the column in the file."""
    ignored: tuple[str, ...] = ()
    """Headers of the columns that are not imported."""

    @cached_property
    def places(self) -> Mapping[Column, int]:
        return {column: place for place, column in self.columns.items()}


def known_columns(configuration: Configuration) -> Mapping[str, Column]:
    """Return the columns of all types by their headers."""

    def make() -> dict[str, Column]:
        types = configuration.types.values()
        every = list(dict.fromkeys(each.key for type in types for each in type.properties))
        found = table_columns([(type, type.properties) for type in types], configuration.cultures.data, order=every)
        return {each.header: each for each in found.columns}

    return configuration.keep("columns of tables", make)


def wanted_columns(
    headers: Mapping[int, str],
    known: Mapping[str, Column],
    remembered: Mapping[str, str],
    chosen: Mapping[int, str] | None = None,
) -> dict[int, Column | None]:
    """Return the column of each header; None leaves it out. `chosen` has the columns that a person chose by their
    places, `remembered` those of earlier imports by header in lower case. Other headers are compared without letter
    case."""
    folded = {header.casefold(): column for header, column in known.items()}
    found: dict[int, Column | None] = {}
    for place, header in headers.items():
        wanted = (chosen or {}).get(place, remembered.get(header.casefold(), header))
        found[place] = known.get(wanted) or folded.get(wanted.casefold())
    return found


def map_columns(headers: Mapping[int, str], wanted: Mapping[int, Column | None]) -> ColumnMapping:
    """Return the mapping of a file; refuse two columns that are the same."""
    found: dict[Column, int] = {}
    for place, column in wanted.items():
        if column is not None and found.setdefault(column, place) != place:
            words = {"cell": address(place, 1), "column": printable(column.header, 100)}
            raise Invalid(_("%(cell)s: the column %(column)s occurs twice.") % words)
    ignored = (header for place, header in headers.items() if wanted[place] is None)
    return ColumnMapping({place: column for column, place in found.items()}, tuple(ignored))


def remembered_columns() -> dict[str, str]:
    """Return the chosen columns by header, in lower case; an empty one means that the column is left out."""
    found = TableMapping.objects.filter(id=ONLY_MAPPING).first()
    return dict(found.columns) if found else {}


def remember_columns(headers: Mapping[int, str], known: Mapping[str, Column], chosen: Mapping[int, str]) -> None:
    """Add choices to those of before, and forget those that have become usual. Call this in the transaction of an
    import."""
    usual = {header.casefold(): header for header in known}
    new = {
        header.casefold(): chosen[place]
        for place, header in headers.items()
        if place in chosen and len(header) <= LONGEST and "\x00" not in header
    }
    if not new:
        return
    row, _made = TableMapping.objects.select_for_update().get_or_create(id=ONLY_MAPPING)
    before = dict(row.columns)
    kept = {header: column for header, column in before.items() if header not in new}
    for header, column in new.items():
        if usual.get(header, "") != column and (not column or column.casefold() in usual):
            kept[header] = column
    if kept != before:
        # A list of pairs, because the database does not keep the order of fields. The newest are last.
        row.columns = [*kept.items()][-MOST_REMEMBERED:]
        row.save(update_fields=["columns"])
