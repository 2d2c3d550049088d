"""Steps of a bulk change that are not edits: deletions here, steps of the lifecycle from the app above."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from django.db import transaction

from elements.reading.bounds import TooHeavy, halved
from elements.reading.rows import VersionRow, read_versions
from elements.writing.deleting import delete_many
from elements.writing.findings import no_element
from elements.writing.writers import Writer
from repository_site.core.database.statements import id_array, look_up

T = TypeVar("T")
R = TypeVar("R")
Refusals = Mapping[str, Sequence[str]]
# How often deletions are tried. A chain of references between parts could take as many attempts as it has elements.
MOST_ATTEMPTS = 4


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


def delete_each(writer: Writer, rows: Sequence[VersionRow]) -> Refusals:
    """Delete elements and drafts together; return the reasons of those that stay. Try those again that only elements
    of another part needed."""
    for _attempt in range(MOST_ATTEMPTS):
        refused: dict[str, Sequence[str]] = {}
        for some in in_parts(rows, partial(_delete, writer), lambda row, reasons: {row.element: reasons}):
            refused.update(some)
        if not refused or len(refused) == len(rows):
            break
        rows = [row for row in rows if row.element in refused]
    return refused


def _delete(writer: Writer, rows: Sequence[VersionRow]) -> Refusals:
    # Elements of diagrams are read in batches while they are deleted, so too much of them shows late.
    with transaction.atomic():
        outcome = delete_many(writer, rows)
    versions = {row.element: row.version for row in rows}
    gone = {each.row.element for each in outcome.done} | outcome.refused.keys()
    found: dict[str, Sequence[str]] = {element: [no_element(versions[element])] for element in versions.keys() - gone}
    for element, refusals in outcome.refused.items():
        found[element] = [
            f"{each.text}." if each.place == versions[element] else f"{each.place}: {each.text}." for each in refusals
        ]
    return found
