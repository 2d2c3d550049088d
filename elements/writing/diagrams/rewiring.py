"""Replace the diagram of a version as a whole (D272), for PUT of the content, the editor and the import of BPMN."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from elements.permission_sets.callers import denied_on, hidden_among
from elements.reading.bounds import most_written_rows
from elements.reading.diagrams.drawings import StoredDiagram, read_diagram, read_source
from elements.reading.rows import VersionRow, read_in_batches, read_parents, read_references
from elements.sizes.limits import DEPTH, FLOWS, LANES, SHAPES
from elements.writing import statements
from elements.writing.deciding.drawn_elements import DiagramState
from elements.writing.deciding.rewiring import DiagramSurroundings, RewiringPlan, decide_rewiring
from elements.writing.deciding.rights import deletion_refusals
from elements.writing.diagrams import diagram_statements
from elements.writing.diagrams.diagram_edits import (
    KEYS,
    DiagramEdit,
    difference,
    flow_note,
    lane_note,
    shape_note,
    visible_difference,
)
from elements.writing.diagrams.wanted_diagrams import Unmentioned, WantedDiagram, WantedSource
from elements.writing.findings import Findings, conflict, invalid, no_element
from elements.writing.history import Action, HistoryEntry, deletion_entry, record
from elements.writing.inputs import ReferenceInput
from elements.writing.obstacles import find_obstacles
from elements.writing.persisting import check_children, write_changes
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import hidden_around, keep_elements, lock_elements, lock_targets
from elements.writing.updating import OnLocked
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Conflict, NotFound
from storage.tenancy.scope import whole_content

Note = dict[str, Any]
# Kind of each part of a diagram in the report, and how it is noted.
KINDS: dict[str, tuple[str, Callable[[Any], Note]]] = {
    "shapes": ("shape", shape_note),
    "flows": ("flow", flow_note),
    "lanes": ("lane", lane_note),
}


@dataclass(frozen=True, slots=True)
class DiagramReport:
    """Result of a replacement: ids in the order of the request, and what differs from the stored diagram."""

    shapes: Sequence[str]
    lanes: Sequence[str]
    added: Sequence[Note]
    changed: Sequence[Note]
    removed: Sequence[Note]

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.changed or self.removed)


@whole_content()
def replace_diagram(
    writer: Writer,
    view: CompiledView,
    owner: VersionRow,
    wanted: WantedDiagram,
    findings: Findings,
    on_locked: OnLocked,
    *,
    dry_run: bool = False,
) -> DiagramReport:
    """Make the diagram of a version the wanted one. With `dry_run`, make all checks and write nothing."""
    findings.raise_any()
    diagram = load_diagram(owner, on_locked)
    around = _look_around(diagram, wanted)
    plan = decide_rewiring(writer, view, around, wanted, findings)
    gone = _gone_elements(writer, around, plan.after)
    for text in find_obstacles(gone, gone, also_shapes=False) if gone else ():
        findings.note(conflict(diagram.owner.version, text))
    for refusal in deletion_refusals(diagram.owner.version, denied_on(gone).values()):
        findings.note(refusal)
    note_sizes(diagram, plan.after, findings, makes_elements=any(each.is_new for each in plan.changes))
    findings.raise_any()
    has_new_source = wanted.source is not None and wanted.source.document != read_source(owner.version)
    shown = visible_difference(diagram.drawn, plan.after)
    report = _report(plan, shown, gone, has_new_source=has_new_source)
    if dry_run:
        check_children(plan.changes, findings)
        findings.raise_any()
    elif not report.is_empty:
        _write(writer, diagram, plan, gone, wanted.source if has_new_source else None)
    return report


def load_diagram(owner: VersionRow, on_locked: OnLocked) -> DiagramState:
    """Lock the element of a diagram and read the diagram; `on_locked` may refuse the change."""
    stored = lock_elements({owner.element}, {owner.version})
    row = stored.versions.get(owner.version)
    on_locked([row])
    if row is None:
        raise NotFound(no_element(owner.version))
    drawn = read_diagram(row.version)
    shown = {each.element for each in drawn.shapes} | {each.element for each in drawn.lanes if each.element}
    if hidden_among(shown):
        # Drawing without them would erase them (D493).
        raise Conflict(_("The diagram shows elements that you cannot see. Ask somebody who sees all of it."))
    return DiagramState(stored, row, drawn)


def note_sizes(diagram: DiagramState, after: StoredDiagram, findings: Findings, *, makes_elements: bool) -> None:
    """Note the limits that a diagram would exceed. New elements are placed below the element of the diagram."""
    place, before = diagram.owner.version, diagram.drawn
    problems = [
        SHAPES.problem(len(after.shapes), len(before.shapes)),
        FLOWS.problem(len(after.flows), len(before.flows)),
        LANES.problem(len(after.lanes), len(before.lanes)),
        DEPTH.problem(1 + len(read_parents([diagram.owner.element]))) if makes_elements else None,
    ]
    for problem in problems:
        if problem is not None:
            findings.note(invalid(place, problem))


def named_in(references: Collection[ReferenceInput]) -> tuple[set[str], set[str]]:
    """Return the elements and the versions that references name, and those that are described with them."""
    named = [*references, *(one for each in references for held in each.related.values() for one in held)]
    return {each.id for each in named if each.id}, {each.version for each in named if each.version and not each.id}


def _look_around(diagram: DiagramState, wanted: WantedDiagram) -> DiagramSurroundings:
    """Read the elements of stored shapes that the request describes, and prevent the deletion of all that it names."""
    stored = {each.shape: each.element for each in diagram.drawn.shapes}
    described = {stored[each.shape] for each in wanted.shapes if each.shape in stored and each.element is not None}
    references = [each.element for each in wanted.shapes if each.element is not None]
    references += [
        each.element
        for each in wanted.lanes or ()
        if each.element is not None and not isinstance(each.element, Unmentioned)
    ]
    elements, versions = named_in(references)
    targets = lock_targets(elements | {*stored.values()}, versions)
    current = keep_elements(described)
    return DiagramSurroundings(diagram, targets, current, hidden_around(current))


def _gone_elements(writer: Writer, around: DiagramSurroundings, after: StoredDiagram) -> list[str]:
    """Return the elements that live in diagrams and are shown by no shape any more, locked for their deletion."""
    before, types = around.diagram.drawn, writer.configuration.types_by_id
    unseen = {each.element for each in before.shapes} - {each.element for each in after.shapes}
    living = sorted(each for each in unseen if types[around.targets[each].type].lives_in_diagrams)
    if not living:
        return []
    lock_targets(living, (), to_delete=True)
    sql = """SELECT DISTINCT s.element_id::text FROM elements_shape s
        WHERE s.element_id = ANY(%s::uuid[]) AND s.version_id <> %s::uuid"""
    elsewhere = {row[0] for row in fetch(sql, [living, around.diagram.owner.version])}
    return [each for each in living if each not in elsewhere]


def _report(plan: RewiringPlan, edit: DiagramEdit, gone: Sequence[str], *, has_new_source: bool) -> DiagramReport:
    old, new = _by_key(edit.old), _by_key(edit.new)
    made = [each for each in plan.changes if each.is_new]
    kept = [each for each in plan.changes if not each.is_new]
    return DiagramReport(
        plan.shapes,
        plan.lanes,
        [*(note for key, note in new.items() if key not in old), *map(_element_note, made)],
        [
            *(note for key, note in new.items() if key in old),
            *map(_element_note, kept),
            *([{"kind": "bpmn"}] if has_new_source else []),
        ],
        [
            *(note for key, note in old.items() if key not in new),
            *({"kind": "element", "id": each} for each in gone),
        ],
    )


def _by_key(diagram: StoredDiagram) -> dict[tuple[str, ...], Note]:
    """Return the rows of a diagram as notes, by kind and key."""
    found: dict[tuple[str, ...], Note] = {}
    for name, key in KEYS.items():
        kind, note = KINDS[name]
        found |= {(kind, *key(each)): {"kind": kind, **note(each)} for each in getattr(diagram, name)}
    return found


def _element_note(change: PlannedChange) -> Note:
    return {"kind": "element", "id": change.element, "type": change.type.key}


def _write(
    writer: Writer, diagram: DiagramState, plan: RewiringPlan, gone: Sequence[str], source: WantedSource | None
) -> None:
    owner = diagram.owner
    write_changes(writer, plan.changes)
    difference(diagram.drawn, plan.after).write(owner.version)
    if source is not None:
        diagram_statements.store_source(owner.version, source)
    delete_living(writer, gone)
    shown = visible_difference(diagram.drawn, plan.after)
    touch(writer, owner, notes(shown.old), {**notes(shown.new), **_changed_elements(plan)})


def _changed_elements(plan: RewiringPlan) -> Note:
    """Return the elements whose values change; new ones come with their shapes, and all have a history of their own."""
    changed = [{"element": each.element} for each in plan.changes if not each.is_new]
    return {"elements": changed} if changed else {}


def notes(diagram: StoredDiagram) -> Note:
    """Return the parts of a diagram as the change history shows them."""
    parts = {name: [note(each) for each in getattr(diagram, name)] for name, (_, note) in KINDS.items()}
    return {name: part for name, part in parts.items() if part}


def delete_living(writer: Writer, elements: Sequence[str]) -> None:
    """Delete elements that lived in a diagram, and keep their values in the history."""
    types = writer.configuration.types_by_id
    for batch in read_in_batches(elements):
        related = read_references([each.version for each in batch], None, most_written_rows())
        entries = [deletion_entry(types[each.type].key, each, related.get(each.version, {})) for each in batch]
        record(writer.author, entries)
    if elements:
        statements.delete_elements(elements)


def touch(writer: Writer, owner: VersionRow, before: Note, after: Note) -> None:
    """Changing a diagram changes its version, too."""
    statements.touch_versions([owner.version], writer.author.now, writer.author.element)
    record(writer.author, [HistoryEntry(owner.element, owner.version, Action.DRAWN, before, after)])
