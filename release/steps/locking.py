"""A version locked for a lifecycle change, with the permissions of the caller.

Every change of a state and every new version takes the lock of the element first, so that concurrent callers see each
other's changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import cached_property

from elements.permission_sets.callers import NOTHING, denied_on
from elements.permissions import Permission, authors_in, permissions, sees_drafts
from elements.reading.rows import VersionRow, read_references
from elements.writing.findings import no_element
from elements.writing.stored import lock_elements
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledCycle, Configuration
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound
from storage.access.callers import Caller

# Called with the locked version; may raise a Problem before anything else is checked.
OnLocked = Callable[[VersionRow], None]


@dataclass(frozen=True)
class LifecycleVersion:
    configuration: Configuration
    caller: Caller
    row: VersionRow
    related: Mapping[str, Sequence[str]]
    denied: frozenset[Permission] = NOTHING
    """Permissions that permission sets deny the caller (D490)."""

    @cached_property
    def type(self) -> ElementType:
        return self.configuration.types_by_id[self.row.type]

    @property
    def cycle(self) -> CompiledCycle | None:
        return self.configuration.cycles.get(self.type.key)

    @cached_property
    def granted(self) -> frozenset[Permission]:
        return permissions(self.caller, self.type, authors_in([self.related]), self.denied)

    @property
    def label(self) -> str:
        return f"{self.type.key} {self.row.version}"


def read_unlocked(configuration: Configuration, caller: Caller, row: VersionRow) -> LifecycleVersion:
    references = read_references([row.version], None).get(row.version, {})
    denied = denied_on([row.element]).get(row.element, NOTHING)
    return LifecycleVersion(configuration, caller, row, references, denied)


def lock_version(
    writer: Writer, found: VersionRow, *, named: str | None = None, on_locked: OnLocked | None = None
) -> LifecycleVersion:
    """Lock the element and return its version as it is then.

    `named` is the id in the request. The id of an element means its newest version, which may have changed meanwhile.
    """
    stored = lock_elements({found.element}, {found.version})
    by_element = named == found.element and sees_drafts(writer.caller)
    row = stored.version_of(found.element, None if by_element else found.version)
    if row is None:
        raise NotFound(no_element(named or found.version))
    if on_locked is not None:
        on_locked(row)
    references, denied = stored.references.get(row.version, {}), stored.denied.get(row.element, NOTHING)
    return LifecycleVersion(writer.configuration, writer.caller, row, references, denied)


@dataclass(frozen=True, slots=True)
class VersionNumber:
    version: str
    category: str
    state: str
    major: int
    minor: int

    @property
    def number(self) -> str:
        return f"{self.major}.{self.minor}"


def read_numbers(elements: Sequence[str]) -> dict[str, list[VersionNumber]]:
    """Return the versions of each element, the newest last."""
    sql = """SELECT v.element_id::text, v.id::text, v.category, v.state, v.major, v.minor FROM elements_elementversion v
        WHERE v.element_id = ANY(%s::uuid[]) ORDER BY v.element_id, v.major, v.minor"""
    found: dict[str, list[VersionNumber]] = {each: [] for each in elements}
    for element, *number in fetch(sql, [list(elements)]):
        found[element].append(VersionNumber(*number))
    return found


def read_majors(elements: Sequence[str]) -> dict[str, int]:
    """Return the highest major number of each element."""
    sql = """SELECT v.element_id::text, max(v.major) FROM elements_elementversion v
        WHERE v.element_id = ANY(%s::uuid[]) GROUP BY v.element_id"""
    return dict(fetch(sql, [list(elements)])) if elements else {}
