"""Delete elements and drafts (D19). Versions that were ever released stay, and so do elements that others refer to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from elements.locks import CHANGEABLE
from elements.permissions import Permission
from elements.reading.bounds import most_written_rows
from elements.reading.rows import VersionRow, read_in_batches, read_references, read_versions
from elements.writing import statements
from elements.writing.deciding.rights import Rights, lock_refusal
from elements.writing.diagrams import diagram_statements
from elements.writing.diagrams.drawing import erase_shape
from elements.writing.findings import Findings, Refusal, conflict, no_element
from elements.writing.history import deletion_entry, record
from elements.writing.obstacles import find_needed, find_obstacles
from elements.writing.stored import Stored, hold_elements, lock_elements, lock_targets
from elements.writing.updating import OnLocked
from elements.writing.writers import Writer
from facets.blueprint.cycles import EVER_PUBLISHED
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound
from storage.tenancy.scope import whole_content

# How often elements that something needs are taken out of many. A chain of references may be as long as their number.
MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Deletion:
    """Plan of a deletion: a version, with the last version the element, and elements that live only in its diagram."""

    type: ElementType
    row: VersionRow
    others: tuple[str, ...]
    """The other versions, newest first."""
    living: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return not self.others

    @property
    def is_kept(self) -> bool:
        """Whether the state of the version keeps it."""
        row = self.row
        return row.released_on is not None or row.category in EVER_PUBLISHED or row.category not in CHANGEABLE

    def obstacles(self) -> list[str]:
        row, found = self.row, []
        if row.released_on is not None or row.category in EVER_PUBLISHED:
            found.append(_("it has been released; let it expire instead"))
        elif row.category not in CHANGEABLE:
            found.append(_("it is in the state %(state)s; only a draft can be deleted") % {"state": row.state})
        elements = [*self.living, *([row.element] if self.is_whole else [])]
        versions = [row.version, *self.living]
        return found + find_obstacles(elements, versions, also_shapes=not self.type.lives_in_diagrams)


@whole_content()
def delete_element(
    writer: Writer, view: CompiledView, found: VersionRow, findings: Findings, on_locked: OnLocked
) -> Deletion:
    """Delete a version, with the last version the element, and its shapes if it lives in diagrams."""
    stored, row = _load(writer, found, on_locked)
    deletion = plan_deletion(writer.configuration.types_by_id, row)
    lock_targets(deletion.living, (), to_delete=True)
    for refusal in _refusals(writer, stored, deletion):
        findings.note(refusal)
    findings.raise_any()
    sql = "SELECT id::text, version_id::text FROM elements_shape WHERE element_id = %s::uuid"
    shapes = fetch(sql, [row.element]) if deletion.type.lives_in_diagrams else []
    for shape, version in shapes:
        # Erasing the shape keeps the flow connected, and deletes the element with its last shape.
        owner = read_versions([version], with_attributes=False)[version]
        erase_shape(writer, view, owner, shape, findings, lambda rows: None)
    if not shapes:
        _write(writer, stored, deletion)
    return deletion


@whole_content()
def delete_many(writer: Writer, found: Sequence[VersionRow]) -> set[str]:
    """Delete those versions, with the last version the element, that nothing needs except others of them; return their
    elements.

    Diagrams and what lives in them are left to `delete_element`, and so are refused elements, for which it finds the
    reasons. The number of statements does not depend on the number of versions.
    """
    types = writer.configuration.types_by_id
    drawn = diagram_statements.find_drawn([row.version for row in found])
    plain = [row for row in found if row.version not in drawn and not types[row.type].lives_in_diagrams]
    if not plain:
        return set()
    versions = {row.element: row.version for row in plain}
    stored = lock_elements(versions, versions.values(), to_delete=True).visible()
    others = _other_versions(versions)
    rights = Rights(writer, stored)
    deletions = {
        row.element: Deletion(types[row.type], row, others[row.element], ())
        for version in versions.values()
        if (row := stored.versions.get(version))
    }
    deletions = {
        element: each
        for element, each in deletions.items()
        if not each.is_kept and Permission.DELETE in rights.permissions_on(each.type, each.row)
    }
    for _round in range(MOST_ROUNDS):
        whole = [element for element, each in deletions.items() if each.is_whole]
        needed = find_needed(whole, [each.row.version for each in deletions.values()]) if whole else set()
        if not needed:
            _write_many(writer, stored, list(deletions.values()))
            return {*deletions}
        # What stays may refer to others.
        deletions = {element: each for element, each in deletions.items() if element not in needed}
    return set()


def _other_versions(versions: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    sql = """SELECT v.element_id::text, v.id::text FROM elements_elementversion v
        WHERE v.element_id = ANY(%s::uuid[]) AND v.id <> ALL(%s::uuid[]) ORDER BY v.major DESC, v.minor DESC"""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(versions, ())
    for element, version in fetch(sql, [list(versions), list(versions.values())]):
        found[element] += (version,)
    return found


def _write_many(writer: Writer, stored: Stored, deletions: Sequence[Deletion]) -> None:
    entries = [
        deletion_entry(each.type.key, each.row, stored.references.get(each.row.version, {}), is_whole=each.is_whole)
        for each in deletions
    ]
    record(writer.author, entries)
    statements.delete_parts([each.row.version for each in deletions if each.type.is_versioned])
    statements.delete_elements([each.row.element for each in deletions if each.is_whole])
    statements.delete_versions(
        [(each.row.element, each.row.version, each.others[0]) for each in deletions if not each.is_whole]
    )


def plan_deletion(types: Mapping[str, ElementType], row: VersionRow) -> Deletion:
    """Return everything that would be deleted with a version. `types` are by the ids of their rows."""
    others = """SELECT v.id::text FROM elements_elementversion v WHERE v.element_id = %s::uuid AND v.id <> %s::uuid
        ORDER BY v.major DESC, v.minor DESC"""
    living = """SELECT DISTINCT s.element_id::text FROM elements_shape s JOIN elements_element e ON e.id = s.element_id
        WHERE s.version_id = %s::uuid AND e.type_id = ANY(%s::uuid[]) AND NOT EXISTS (
            SELECT FROM elements_shape o WHERE o.element_id = e.id AND o.version_id <> s.version_id)"""
    in_diagrams = [row_id for row_id, type in types.items() if type.lives_in_diagrams]
    return Deletion(
        types[row.type],
        row,
        tuple(each[0] for each in fetch(others, [row.element, row.version])),
        tuple(each[0] for each in fetch(living, [row.version, in_diagrams])),
    )


def _load(writer: Writer, found: VersionRow, on_locked: OnLocked) -> tuple[Stored, VersionRow]:
    if writer.configuration.types_by_id[found.type].lives_in_diagrams:
        # Lock the diagram before its elements, as drawing does.
        sql = """SELECT v.element_id::text FROM elements_shape s
            JOIN elements_elementversion v ON v.id = s.version_id WHERE s.element_id = %s::uuid"""
        hold_elements({row[0] for row in fetch(sql, [found.element])}, ())
    stored = lock_elements({found.element}, {found.version}, to_delete=True)
    row = stored.versions.get(found.version)
    on_locked([row])
    if row is None:
        raise NotFound(no_element(found.version))
    return stored, row


def _refusals(writer: Writer, stored: Stored, deletion: Deletion) -> Iterator[Refusal]:
    row, rights = deletion.row, Rights(writer, stored)
    if Permission.DELETE not in rights.permissions_on(deletion.type, row):
        yield lock_refusal(row.version, deletion.type, rights.lock_of(deletion.type, row), Permission.DELETE)
    for text in deletion.obstacles():
        yield conflict(row.version, text)


def _write(writer: Writer, stored: Stored, deletion: Deletion) -> None:
    row, living = deletion.row, list(deletion.living)
    _record(writer, [row], stored.references, is_whole=deletion.is_whole)
    for batch in read_in_batches(living):
        _record(writer, batch, read_references([each.version for each in batch], None, most_written_rows()))
    diagram_statements.delete_diagram(row.version)
    if deletion.type.is_versioned:
        statements.delete_parts([row.version])
    if deletion.is_whole:
        statements.delete_elements([row.element, *living])
    else:
        statements.delete_versions([(row.element, row.version, deletion.others[0])])
        statements.delete_elements(living)


def _record(
    writer: Writer,
    gone: Collection[VersionRow],
    related: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    is_whole: bool = True,
) -> None:
    types = writer.configuration.types_by_id
    entries = [
        deletion_entry(types[each.type].key, each, related.get(each.version, {}), is_whole=is_whole) for each in gone
    ]
    record(writer.author, entries)
