"""The columns that people have chosen for the headers of tables, which the next import of the storage uses (D466)."""

from __future__ import annotations

from collections.abc import Mapping

from elements.models import TableMapping
from elements.models.tables import ONLY_MAPPING

# Headers that a storage remembers; the oldest are forgotten first.
MOST_REMEMBERED = 500
# Longer headers are not remembered.
LONGEST = 200


def remembered_columns() -> dict[str, str]:
    """Return the chosen columns by header, in lower case; an empty one means that the column is left out."""
    found = TableMapping.objects.filter(id=ONLY_MAPPING).first()
    return dict(found.columns) if found else {}


def remember_columns(chosen: Mapping[str, str]) -> None:
    """Add choices to those of before. Call this in the transaction of an import."""
    new = {header: column for header, column in chosen.items() if len(header) <= LONGEST}
    if not new:
        return
    row, _made = TableMapping.objects.select_for_update().get_or_create(id=ONLY_MAPPING)
    # The newest last.
    known = {**{header: column for header, column in row.columns.items() if header not in new}, **new}
    kept = dict(list(known.items())[-MOST_REMEMBERED:])
    if kept != row.columns:
        row.columns = kept
        row.save(update_fields=["columns"])
