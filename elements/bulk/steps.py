"""Steps of a bulk change that are not edits: deletions here, steps of the lifecycle from the app above."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from django.db import transaction

from elements.reading.bounds import TooHeavy, halved
from elements.reading.rows import VersionRow, read_versions
from elements.writing.deleting import delete_element, delete_many
from elements.writing.findings import Findings
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.database.statements import id_array, look_up
from repository_site.core.problems import Problem

T = TypeVar("T")
R = TypeVar("R")
Refusals = Mapping[str, Sequence[str]]
# How often deletions are tried again. A chain of references could otherwise take as many attempts as it has elements.
MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class BulkStep:
    """A step that an app adds to bulk changes."""

    read: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]
    """Returns the options from the value and the other fields of an operation; raises Unreadable."""
    take: Callable[[Writer, Sequence[VersionRow], Mapping[str, Any]], Refusals]
    """Takes the step for each version that allows it, and returns the reasons of the others by element."""
    has_parts: bool = False
    """Whether a part of the step may be done when the rest of it is refused; the batch is then done again."""


def newest_versions(elements: Sequence[str]) -> list[VersionRow]:
    """Return the newest versions, without attributes, in the order of the ids, which is the order of locks."""
    sql = "SELECT e.newest_id::text FROM elements_element e WHERE e.id = ANY(%s::uuid[])"
    found = read_versions([row[0] for row in look_up(sql, [id_array(elements)])], with_attributes=False)
    return sorted(found.values(), key=lambda row: row.element)


def in_parts(
    items: Sequence[T], take: Callable[[Sequence[T]], R], refuse: Callable[[T, Sequence[str]], R]
) -> Iterator[R]:
    """Take a step for all items, or in parts that fit into memory. An item that is too heavy by itself is refused."""

    def attempt(few: Sequence[T]) -> R:
        try:
            return take(few)
        except TooHeavy as problem:
            if len(few) > 1:
                raise
            return refuse(few[0], problem.details)

    return halved(items, attempt)


def take_each(
    writer: Writer, rows: Sequence[VersionRow], take: Callable[[Writer, VersionRow], object]
) -> dict[str, list[str]]:
    """Take a step for each version alone; return the reasons of those that refuse it, by element."""
    refused: dict[str, list[str]] = {}
    for row in rows:
        # An author reads the clock once, after the first lock; here each element waits for a lock of its own.
        own = replace(writer, author=replace(writer.author))
        try:
            with transaction.atomic():
                take(own, row)
        except Problem as problem:
            refused[row.element] = [each.removeprefix(f"{row.version}: ") for each in problem.details]
    return refused


def delete_each(writer: Writer, view: CompiledView, rows: Sequence[VersionRow]) -> dict[str, list[str]]:
    """Delete elements and drafts together, as far as only they need each other, then the rest alone, children first.
    What others of these refer to is tried again a few times."""

    def delete(own: Writer, row: VersionRow) -> None:
        delete_element(own, view, row, Findings(), lambda _: None)

    gone: set[str] = set()
    for some in in_parts(rows, partial(delete_many, writer), lambda row, reasons: set()):
        gone |= some
    ordered = _children_first([row for row in rows if row.element not in gone])
    refused = take_each(writer, ordered, delete)
    for _attempt in range(MOST_ATTEMPTS):
        left = take_each(writer, [row for row in ordered if row.element in refused], delete)
        if len(left) == len(refused):
            break
        refused = left
    return refused


def _children_first(rows: Sequence[VersionRow]) -> list[VersionRow]:
    parents = {row.element: row.parent for row in rows}
    levels: dict[str, int] = {}
    for element in parents:
        path, upper = list[str](), element
        while upper in parents and upper not in levels:
            path.append(upper)
            upper = parents[upper] or ""
        start = levels.get(upper, 0)
        levels |= {each: start + place for place, each in enumerate(reversed(path), 1)}
    return sorted(rows, key=lambda row: -levels[row.element])
