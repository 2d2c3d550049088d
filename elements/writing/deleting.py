"""Deleting elements and drafts (D19): what was ever released stays, and so does what something else names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from elements.locks import CHANGEABLE
from elements.permissions import Permission, permissions
from elements.reading.rows import VersionRow, read_references, read_versions
from elements.writing import statements
from elements.writing.drawing import erase_shape
from elements.writing.findings import Findings, Kind, no_element
from elements.writing.history import deletion_entry, record
from elements.writing.obstacles import find_obstacles
from elements.writing.stored import lock_elements, lock_targets
from elements.writing.updating import OnLocked, Update, Writer
from facets.blueprint.cycles import EVER_PUBLISHED
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound


@dataclass(frozen=True, slots=True)
class Deletion:
    """What would go: a version, and with the last one the element; and what lives only in the version's diagram."""

    type: ElementType
    row: VersionRow
    others: tuple[str, ...]
    """The other versions, newest first."""
    living: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return not self.others

    def obstacles(self) -> list[str]:
        """What is in the way, whoever wants to delete it."""
        row, found = self.row, []
        if row.released_on is not None or row.category in EVER_PUBLISHED:
            found.append(_("it has been released; let it expire instead"))
        elif row.category not in CHANGEABLE:
            found.append(_("it is in the state %(state)s; only a draft can be deleted") % {"state": row.state})
        elements = [*self.living, *([row.element] if self.is_whole else [])]
        versions = [row.version, *self.living]
        return found + find_obstacles(elements, versions, also_shapes=not self.type.lives_in_diagrams)


def plan_deletion(types: Mapping[str, ElementType], row: VersionRow) -> Deletion:
    """`types` by the ids of their rows."""
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


def delete_element(
    writer: Writer, view: CompiledView, found: VersionRow, findings: Findings, on_locked: OnLocked
) -> Deletion:
    """The version goes, or the element with its last version; what lives in a diagram goes out of that, too."""
    deleting = _Deleting(writer, view, findings)
    deletion = deleting.lock(found, on_locked)
    for text in deletion.obstacles():
        findings.add(Kind.CONFLICT, found.version, text)
    findings.raise_any()
    if deletion.type.lives_in_diagrams and deleting.erase(deletion):
        return deletion
    deleting.delete(deletion)
    return deletion


class _Deleting(Update):
    def lock(self, found: VersionRow, on_locked: OnLocked) -> Deletion:
        if self.properties.types[found.type].lives_in_diagrams:
            # The diagram before what is in it, as whoever draws there does.
            sql = """SELECT v.element_id::text FROM elements_shape s
                JOIN elements_elementversion v ON v.id = s.version_id WHERE s.element_id = %s::uuid"""
            lock_elements({row[0] for row in fetch(sql, [found.element])}, ())
        self.stored = lock_elements({found.element}, {found.version}, to_delete=True)
        row = self.stored.versions.get(found.version)
        on_locked([row])
        if row is None:
            raise NotFound(no_element(found.version))
        deletion = plan_deletion(self.properties.types, row)
        lock_targets(deletion.living, (), to_delete=True)
        if Permission.DELETE not in permissions(self.writer.caller, deletion.type, self.authors(row)):
            self.forbid(row.version, deletion.type, self.lock_of(deletion.type, row), Permission.DELETE)
        return deletion

    def erase(self, deletion: Deletion) -> bool:
        """What lives in a diagram goes with its shape, so that the flow stays whole; False when it has none."""
        sql = "SELECT id::text, version_id::text FROM elements_shape WHERE element_id = %s::uuid"
        found = fetch(sql, [deletion.row.element])
        for shape, version in found:
            owner = read_versions([version])[version]
            erase_shape(self.writer, self.view, owner, shape, self.findings, lambda rows: None)
        return bool(found)

    def delete(self, deletion: Deletion) -> None:
        row, living = deletion.row, list(deletion.living)
        gone = [row, *read_versions(living).values()]
        held = {**read_references(living, None), **self.stored.references}
        statements.delete_diagrams([row.version])
        if deletion.is_whole:
            statements.delete_elements([row.element, *living])
        else:
            statements.delete_version(row.element, row.version, deletion.others[0])
            statements.delete_elements(living)
        types = self.properties.types
        record(
            self.writer.author,
            [deletion_entry(types[each.type].key, each, held.get(each.version, {})) for each in gone],
        )
