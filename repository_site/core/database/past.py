"""Tables as of a time, in every statement that only reads (D564).

`routing.py` puts the past rows of a table beside its rows, and adds the condition that a row was there at the time
where it adds the storage. The sub-select has no condition of its own: only then can the planner push those of the
statement, and its joins, into the indexes of both tables.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from django.apps import apps

AS_OF = "repository_as_of"


class PastTable(NamedTuple):
    before: str
    """Text before the name of the table."""
    after: str
    """Text after it."""


def past_beside(table: str) -> PastTable | None:
    """Return the texts that add the past rows to a table; None if it has none."""
    return _tables()[0].get(table)


def there_then(table: str, alias: str) -> str:
    """Return the condition, beginning with AND, that the rows of a table were there at the time."""
    dated_by = _tables()[1].get(table)
    if not dated_by:
        return ""
    began = f" AND {alias}.{dated_by} <= {AS_OF}::timestamptz"
    return f"{began} AND {alias}.until > {AS_OF}::timestamptz" if past_beside(table) else began


@cache
def _tables() -> tuple[dict[str, PastTable], dict[str, str]]:
    """Return the tables with past rows, and the columns with the times of tables."""
    past: dict[str, PastTable] = {}
    dated: dict[str, str] = {}
    for model in apps.get_models():
        if column := getattr(model, "dated_by", ""):
            dated[model._meta.db_table] = column
        if (current := getattr(model, "past_of", None)) is not None:
            names = [str(field.column) for field in current._meta.concrete_fields]
            then = ", ".join("row_id" if name == "id" else name for name in names)
            past[current._meta.db_table] = PastTable(
                f"(SELECT {', '.join(names)}, 'infinity'::timestamptz AS until FROM ",  # noqa: S608  names of models
                f" UNION ALL SELECT {then}, until FROM {model._meta.db_table})",  # noqa: S608  names of models
            )
    return past, dated
