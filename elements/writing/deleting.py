"""Delete elements and drafts (D19). Versions that were ever released stay, and so do elements that others refer to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from elements.locks import CHANGEABLE
from elements.permission_sets.callers import NOTHING, Denied, denied_on
from elements.permissions import Permission
from elements.reading.rows import VersionRow
from elements.writing import statements
from elements.writing.deciding.rights import Rights, deletion_refusals, lock_refusal
from elements.writing.diagrams import diagram_statements
from elements.writing.diagrams.erasing import Erasure, load_erasure
from elements.writing.diagrams.rewiring import delete_living
from elements.writing.findings import Findings, Refusal, conflict, no_element
from elements.writing.history import deletion_entry, record
from elements.writing.obstacles import Needs, find_needs, find_obstacles, sentences
from elements.writing.stored import Stored, lock_elements, lock_targets
from elements.writing.updating import OnLocked
from elements.writing.writers import Writer
from facets.blueprint.cycles import EVER_PUBLISHED
from facets.blueprint.definitions import ElementType
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound
from storage.tenancy.scope import whole_content


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
    def elements(self) -> list[str]:
        return [*self.living, *([self.row.element] if self.is_whole else [])]

    @property
    def versions(self) -> list[str]:
        return [self.row.version, *self.living]

    def state_obstacles(self) -> list[str]:
        row = self.row
        if row.released_on is not None or row.category in EVER_PUBLISHED:
            return [_("it has been released; let it expire instead")]
        if row.category not in CHANGEABLE:
            return [_("it is in the state %(state)s; only a draft can be deleted") % {"state": row.state}]
        return []

    def obstacles(self) -> list[str]:
        found = find_obstacles(self.elements, self.versions, also_shapes=not self.type.lives_in_diagrams)
        return self.state_obstacles() + found


@dataclass(slots=True)
class DeletionOutcome:
    done: list[Deletion] = field(default_factory=list)
    refused: dict[str, list[Refusal]] = field(default_factory=dict)
    """By element. Elements that do not exist any more are in neither of the two."""


def delete_element(writer: Writer, found: VersionRow, findings: Findings, on_locked: OnLocked) -> Deletion:
    """Delete a version, with the last version the element, and its shapes if it lives in diagrams."""
    outcome = delete_many(writer, [found], on_locked)
    for refusal in outcome.refused.get(found.element, ()):
        findings.note(refusal)
    findings.raise_any()
    if not outcome.done:
        raise NotFound(no_element(found.version))
    return outcome.done[0]


@whole_content()
def delete_many(writer: Writer, found: Sequence[VersionRow], on_locked: OnLocked | None = None) -> DeletionOutcome:
    """Delete the versions that nothing needs except others of them. An element is deleted with its last version.

    The number of statements depends neither on the number of versions nor on their diagrams (D456).
    """
    types, outcome = writer.configuration.types_by_id, DeletionOutcome()
    inner = [row for row in found if types[row.type].lives_in_diagrams]
    outer = [row for row in found if not types[row.type].lives_in_diagrams]
    # The elements that live in a diagram first: their diagram may be deleted, too.
    for some in (inner, outer):
        if some:
            _delete(writer, some, outcome, on_locked, in_diagrams=some is inner)
    return outcome


def _delete(
    writer: Writer,
    found: Sequence[VersionRow],
    outcome: DeletionOutcome,
    on_locked: OnLocked | None,
    *,
    in_diagrams: bool,
) -> None:
    # Lock diagrams before their elements, as drawing does.
    erasure = load_erasure(writer, [row.element for row in found]) if in_diagrams else None
    versions = {row.element: row.version for row in found}
    stored = lock_elements(versions, versions.values(), to_delete=True).visible()
    rows = [stored.versions.get(row.version) for row in found]
    if on_locked is not None:
        on_locked(rows)
    plans = plan_deletions(writer.configuration.types_by_id, [row for row in rows if row is not None])
    if not plans:
        return
    lock_targets([id for each in plans for id in each.living], (), to_delete=True)
    needs = find_needs(
        [id for each in plans for id in each.elements],
        [id for each in plans for id in each.versions],
        also_shapes=not in_diagrams,
    )
    denied = denied_on({id for each in plans for id in each.living})
    refused = {each.row.element: list(_refusals(writer, stored, each, denied)) for each in plans}
    together = _Together(plans, needs)
    staying = together.staying(element for element, own in refused.items() if own)
    while erasure is not None and (late := erasure.erase([each for each in refused if each not in staying])):
        refused.update(late)
        staying = together.staying({*staying, *late})
    for element, texts in together.reasons(staying).items():
        version = versions[element]
        outcome.refused[element] = [*refused[element], *(conflict(version, text) for text in texts)]
    done = [each for each in plans if each.row.element not in staying]
    if done:
        kept = {id for each in plans if each.row.element in staying for id in each.living}
        _write(writer, stored, done, [id for each in done for id in each.living if id not in kept], erasure)
        outcome.done += done


def plan_deletion(types: Mapping[str, ElementType], row: VersionRow) -> Deletion:
    """Return everything that would be deleted with a version. `types` are by the ids of their rows."""
    return plan_deletions(types, [row])[0]


def plan_deletions(types: Mapping[str, ElementType], rows: Sequence[VersionRow]) -> list[Deletion]:
    """Do the same for many. An element that several of their diagrams show, and no other, belongs to each of them."""
    versions = [row.version for row in rows]
    others = """SELECT v.element_id::text, v.id::text FROM elements_elementversion v
        WHERE v.element_id = ANY(%s::uuid[]) AND v.id <> ALL(%s::uuid[]) ORDER BY v.major DESC, v.minor DESC"""
    living = """SELECT DISTINCT s.version_id::text, s.element_id::text FROM elements_shape s
        JOIN elements_element e ON e.id = s.element_id
        WHERE s.version_id = ANY(%s::uuid[]) AND e.type_id = ANY(%s::uuid[]) AND NOT EXISTS (
            SELECT FROM elements_shape o WHERE o.element_id = e.id AND o.version_id <> ALL(%s::uuid[]))"""
    in_diagrams = [row_id for row_id, type in types.items() if type.lives_in_diagrams]
    left = _grouped(fetch(others, [[row.element for row in rows], versions]))
    shown = _grouped(fetch(living, [versions, in_diagrams, versions]))
    return [
        Deletion(types[row.type], row, tuple(left.get(row.element, ())), tuple(shown.get(row.version, ())))
        for row in rows
    ]


def _grouped(pairs: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def _refusals(writer: Writer, stored: Stored, deletion: Deletion, denied: Denied) -> Iterator[Refusal]:
    row, rights = deletion.row, Rights(writer, stored)
    if Permission.DELETE not in rights.permissions_on(deletion.type, row):
        yield lock_refusal(row.version, deletion.type, rights.lock_of(deletion.type, row), Permission.DELETE)
    yield from deletion_refusals(row.version, (denied.get(id, NOTHING) for id in deletion.living))
    for text in deletion.state_obstacles():
        yield conflict(row.version, text)


class _Together:
    """Deletions that need each other."""

    def __init__(self, plans: Sequence[Deletion], needs: Needs) -> None:
        self.needs = needs
        self.parts = {each.row.element: {*each.elements, *each.versions} for each in plans}
        self.owners = _grouped((id, each.row.element) for each in plans for id in each.elements)

    def staying(self, kept: Iterable[str]) -> set[str]:
        """Return the elements that stay: those that are kept, and those that a staying one needs."""
        wanted = _grouped((needing, needed) for _kind, _text, needed, needing in self.needs.inside)
        waiting = [*kept, *(owner for needed in self.needs.outside for owner in self.owners.get(needed, ()))]
        found: set[str] = set()
        while waiting:
            element = waiting.pop()
            if element not in found:
                found.add(element)
                needed = [each for part in self.parts[element] for each in wanted.get(part, ())]
                waiting += [owner for each in needed for owner in self.owners.get(each, ()) if owner not in found]
        return found

    def reasons(self, staying: Collection[str]) -> dict[str, list[str]]:
        """Return a sentence for each kind of need of what stays, by the element that stays for it."""
        found: dict[str, list[tuple[str, str]]] = {element: [] for element in staying}
        for needed, needs in self.needs.outside.items():
            for owner in self.owners.get(needed, ()):
                found[owner] += needs
        left = {part for element in staying for part in self.parts[element]}
        for kind, text, needed, needing in self.needs.inside:
            for owner in self.owners.get(needed, ()) if needing in left else ():
                if needing not in self.parts[owner]:
                    found[owner].append((kind, text))
        return {element: sentences(needs) for element, needs in found.items()}


def _write(
    writer: Writer, stored: Stored, done: Sequence[Deletion], living: Collection[str], erasure: Erasure | None
) -> None:
    drawn = erasure.write() if erasure is not None else []
    entries = [
        deletion_entry(each.type.key, each.row, stored.references.get(each.row.version, {}), is_whole=each.is_whole)
        for each in done
    ]
    record(writer.author, [*entries, *drawn])
    if erasure is None:
        diagram_statements.delete_diagrams([each.row.version for each in done])
    delete_living(writer, sorted({*living}))
    statements.delete_parts([each.row.version for each in done if each.type.is_versioned])
    statements.delete_elements([each.row.element for each in done if each.is_whole])
    statements.delete_versions(
        [(each.row.element, each.row.version, each.others[0]) for each in done if not each.is_whole]
    )
