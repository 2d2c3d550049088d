"""Conditions that hide elements from the caller of a scope, in every statement that only reads (D491).

Each model says in `concerns` which element a row is about: by a column, or by a column of the row that a foreign key
leads to. `routing.py` adds the conditions where it adds the storage.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps

STORAGE = "repository_storage"
HIDDEN = "repository_hidden"
CHANGES = {"INSERT", "DELETE", "MERGE"}
# Words before UPDATE in a clause that locks rows.
BEFORE_LOCKS = {"FOR", "KEY"}
# References are found by the few versions of a page. The planner expects far more of them, and would read the rows of
# all elements; an OFFSET makes it look up each row instead.
LOOKED_UP, LOOK_UP = {"elements_reference"}, " OFFSET 0"


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


def hiding(table: str, alias: str) -> str:
    """Return the condition, beginning with AND, that the rows of a table concern no hidden element."""
    look_up = LOOK_UP if table in LOOKED_UP else ""
    return "".join(f" AND NOT EXISTS ({_hidden(alias, look_up, *each)})" for each in _concerns().get(table, ()))


def _hidden(alias: str, look_up: str, column: str, through: str, element: str) -> str:
    sets = " OR ".join(f"get_bit({HIDDEN}::varbit, hiding.{each}) = 1" for each in ("set_number", "facet_number"))
    inherited, rest = _inherited(), f"hiding.storage_id = {STORAGE}::uuid AND ({sets})"
    if not through:
        return f"SELECT FROM {inherited} hiding WHERE hiding.id = {alias}.{column} AND {rest}{look_up}"
    return (
        f"SELECT FROM {through} concerned JOIN {inherited} hiding ON hiding.id = concerned.{element}"
        f" WHERE concerned.storage_id = {STORAGE}::uuid AND concerned.id = {alias}.{column} AND {rest}"
    )


@cache
def _concerns() -> dict[str, list[tuple[str, str, str]]]:
    """Return column, table behind it, and column of the element there, by table."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for model in apps.get_models():
        for path in getattr(model, "concerns", None) or ():
            name, _, element = path.rpartition(".")
            linked: Any = model._meta.get_field(name).related_model if name else None
            other = linked._meta.db_table if linked else ""
            entry = (f"{name}_id", other, element) if name else (element, "", "")
            found.setdefault(model._meta.db_table, [])
            if entry not in found[model._meta.db_table]:
                found[model._meta.db_table].append(entry)
    return found


@cache
def _inherited() -> str:
    [table] = {each._meta.db_table for each in apps.get_models() if getattr(each, "narrows", False)}
    return table
