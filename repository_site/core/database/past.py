"""Tables as of a time, in every statement that only reads (D564).

`routing.py` puts the past rows of a table beside its rows, and adds the condition that a row was there at the time
where it adds the storage. The sub-select has no condition of its own: only then can the planner push those of the
statement, and its joins, into the indexes of both tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from django.apps import apps

STORAGE, AS_OF = "repository_storage", "repository_as_of"


class PastTable(NamedTuple):
    before: str
    """Text before the name of the table."""
    after: str
    """Text after it."""
    kinds: tuple[tuple[str, str], ...]
    """Columns that lead to tables of the configuration, with these tables."""


def past_beside(table: str) -> PastTable | None:
    """Return the texts that add the past rows to a table; None if it has none."""
    return _tables()[0].get(table)


def there_then(table: str, alias: str) -> str:
    """Return the condition, beginning with AND, that the rows of a table were there at the time, and that the
    configuration of today knows them (D565)."""
    dated_by = _tables()[1].get(table)
    if not dated_by:
        return ""
    found, past = f" AND {alias}.{dated_by} <= {AS_OF}::timestamptz", past_beside(table)
    if past is not None:
        found += f" AND {alias}.until > {AS_OF}::timestamptz"
        for column, other in past.kinds:
            # An array is computed once for the statement, and does not become one more join.
            known = f"SELECT known.id FROM {other} known WHERE known.storage_id = {STORAGE}::uuid"  # noqa: S608
            found += f" AND {alias}.{column} = ANY(ARRAY({known}))"
    return found


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
                tuple(_kinds(current)),
            )
    return past, dated


def _kinds(model: Any) -> Iterator[tuple[str, str]]:
    for field in model._meta.concrete_fields:
        if field.is_relation and not getattr(field.related_model, "dated_by", ""):
            yield field.column, field.related_model._meta.db_table
