"""Conditions that hide elements from the caller of a scope, in every statement that only reads (D491).

Each model says in `concerns` which element a row is about: by a column, or by a column of the row that a foreign key
leads to. `routing.py` adds the conditions where it adds the storage.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from django.apps import apps

from repository_site.core.database.past import STORAGE, past_beside, there_then

HIDDEN = "repository_hidden"
CHANGES = {"INSERT", "DELETE", "MERGE"}
# Words before UPDATE in a clause that locks rows.
BEFORE_LOCKS = {"FOR", "KEY"}
# References are found by the few versions of a page. The planner expects far more of them, and would read the rows of
# all elements; an OFFSET makes it look up each row instead.
LOOKED_UP, LOOK_UP = {"elements_reference"}, " OFFSET 0"
# A table under this name is not checked: the reader leaves out what it cannot identify (D608).
IDENTIFIED_LATER = "identified_later"


@dataclass(frozen=True)
class Narrowing:
    """Limits of the caller of a scope."""

    hidden: str = ""
    """A bit for each number of a set, 1 if the caller does not see the elements below it; empty if nothing is
    hidden."""


def only_reads(words: Collection[str]) -> bool:
    """Return whether a statement with these words changes nothing. Changes are never narrowed."""
    before = ""
    for word in words:
        if word in CHANGES or (word == "UPDATE" and before not in BEFORE_LOCKS):
            return False
        before = word
    return True


def hiding(table: str, alias: str, *, is_past: bool = False) -> str:
    """Return the condition, beginning with AND, that the rows of a table concern no hidden element.

    As of a time, they also concern no element that has been deleted since: its sets are unknown (D565).
    """
    if alias == IDENTIFIED_LATER:
        return ""
    look_up = LOOK_UP if table in LOOKED_UP else ""
    found = ""
    for each in _concerns().get(table, ()):
        found += f" AND NOT EXISTS ({_hidden(alias, look_up, each, is_past=is_past)})"
        if is_past:
            found += f" AND {_present(alias, look_up, each)}"
    return found


def _hidden(alias: str, look_up: str, concern: Concern, *, is_past: bool) -> str:
    sets = " OR ".join(f"get_bit({HIDDEN}::varbit, hiding.{each}) = 1" for each in ("set_number", "facet_number"))
    inherited, rest = _inherited(), f"hiding.storage_id = {STORAGE}::uuid AND ({sets})"
    if not concern.through:
        return f"SELECT FROM {inherited} hiding WHERE hiding.id = {alias}.{concern.column} AND {rest}{look_up}"
    table, condition = _behind(alias, concern, is_past=is_past)
    return (
        f"SELECT FROM {table} concerned JOIN {inherited} hiding ON hiding.id = concerned.{concern.element}"
        f" WHERE {condition} AND {rest}"
    )


def _present(alias: str, look_up: str, concern: Concern) -> str:
    """Return the condition that the element of a row exists today."""
    present = f"{_elements()} present"
    if concern.through:
        table, condition = _behind(alias, concern, is_past=True)
        rows = f"{table} concerned JOIN {present} ON present.id = concerned.{concern.element} WHERE {condition} AND"
    else:
        rows = f"{present} WHERE present.id = {alias}.{concern.column} AND"
    exists = f"EXISTS (SELECT FROM {rows} present.storage_id = {STORAGE}::uuid{'' if concern.through else look_up})"
    return f"({alias}.{concern.column} IS NULL OR {exists})" if concern.is_optional else exists


def _behind(alias: str, concern: Concern, *, is_past: bool) -> tuple[str, str]:
    """Return the table behind a foreign key, and the condition on its row."""
    past = past_beside(concern.through) if is_past else None
    then = there_then(concern.through, "concerned") if is_past else ""
    table = f"{past.before}{concern.through}{past.after}" if past else concern.through
    return table, f"concerned.storage_id = {STORAGE}::uuid{then} AND concerned.id = {alias}.{concern.column}"


class Concern(NamedTuple):
    column: str
    through: str
    """Table behind the column, or an empty text."""
    element: str
    """Column of the element there."""
    is_optional: bool


@cache
def _concerns() -> dict[str, list[Concern]]:
    found: dict[str, list[Concern]] = {}
    for model in apps.get_models():
        for path in getattr(model, "concerns", None) or ():
            name, _, element = path.rpartition(".")
            field: Any = model._meta.get_field(name or element)
            other = field.related_model._meta.db_table if name else ""
            entry = Concern(f"{name}_id", other, element, field.null) if name else Concern(element, "", "", field.null)
            found.setdefault(model._meta.db_table, [])
            if entry not in found[model._meta.db_table]:
                found[model._meta.db_table].append(entry)
    return found


@cache
def _inherited() -> str:
    [table] = {each._meta.db_table for each in apps.get_models() if getattr(each, "narrows", False)}
    return table


@cache
def _elements() -> str:
    [table] = {each._meta.db_table for each in apps.get_models() if getattr(each, "concerns", ()) == ("id",)}
    return table
