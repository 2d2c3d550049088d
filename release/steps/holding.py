"""A version whose life is about to go on: read under the lock of its element, with what the caller may do with it.

Whoever changes states or makes versions of an element waits for this lock, so that of several at once each sees what
the one before has done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from elements.permissions import Permission, authors_in, permissions, sees_drafts
from elements.reading.rows import VersionRow, read_references
from elements.writing.findings import no_element
from elements.writing.stored import lock_elements
from elements.writing.updating import Writer
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledCycle, Configuration
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound
from storage.access.callers import Caller

# May refuse what is held, before anything else is looked at.
OnHeld = Callable[[VersionRow], None]


@dataclass(frozen=True)
class Life:
    """A version, its type, and what it refers to."""

    configuration: Configuration
    caller: Caller
    row: VersionRow
    related: Mapping[str, Sequence[str]]

    @cached_property
    def type(self) -> ElementType:
        return self.configuration.types_by_id[self.row.type]

    @property
    def cycle(self) -> CompiledCycle | None:
        """None of elements without versions."""
        return self.configuration.cycles.get(self.type.key)

    @cached_property
    def granted(self) -> frozenset[Permission]:
        return permissions(self.caller, self.type, authors_in([self.related]))

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.type.key} {self.row.version}"


def look_at(configuration: Configuration, caller: Caller, row: VersionRow) -> Life:
    """As it stands, without a lock."""
    return Life(configuration, caller, row, read_references([row.version], None).get(row.version, {}))


def hold(writer: Writer, found: VersionRow, *, named: str | None = None, on_held: OnHeld | None = None) -> Life:
    """As it stands once nobody else is changing it. `named` is the id that was asked with: an element's stands for its
    newest version, which may be another one by now."""
    stored = lock_elements({found.element}, {found.version})
    by_element = named == found.element and sees_drafts(writer.caller)
    row = stored.version_of(found.element, None if by_element else found.version)
    if row is None:
        raise NotFound(no_element(named or found.version))
    if on_held is not None:
        on_held(row)
    return Life(writer.configuration, writer.caller, row, stored.references.get(row.version, {}))


@dataclass(frozen=True, slots=True)
class KnownNumber:
    version: str
    category: str
    state: str
    major: int
    minor: int

    @property
    def number(self) -> str:
        return f"{self.major}.{self.minor}"


def read_numbers(element: str) -> list[KnownNumber]:
    """The versions of an element, oldest first."""
    sql = """SELECT v.id::text, v.category, v.state, v.major, v.minor FROM elements_elementversion v
        WHERE v.element_id = %s::uuid ORDER BY v.major, v.minor"""
    return [KnownNumber(*row) for row in fetch(sql, [element])]
