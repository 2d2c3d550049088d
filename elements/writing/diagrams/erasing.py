"""Erase shapes from diagrams (D273): one, or all shapes of elements that live in diagrams."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from elements.permission_sets.callers import denied_on
from elements.reading.diagrams.drawings import DrawnFlow, DrawnShape, StoredDiagram, read_diagrams
from elements.reading.rows import VersionRow
from elements.sizes.limits import FLOWS
from elements.writing import statements
from elements.writing.deciding.drawn_elements import DiagramState, diagram_refusals
from elements.writing.deciding.rights import deletion_refusals
from elements.writing.diagrams.diagram_edits import DiagramEdit, difference, flow_note, shape_note, write_edits
from elements.writing.diagrams.rewiring import delete_living, load_diagram, touch
from elements.writing.findings import Findings, Refusal, conflict, invalid
from elements.writing.history import Action, HistoryEntry
from elements.writing.obstacles import find_obstacles
from elements.writing.stored import lock_elements, lock_targets
from elements.writing.updating import OnLocked
from elements.writing.writers import Writer
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound
from storage.tenancy.scope import whole_content


@whole_content()
def erase_shape(writer: Writer, owner: VersionRow, shape_id: str, findings: Findings, on_locked: OnLocked) -> None:
    """Erase a shape from a diagram, together with an element that lives only there."""
    diagram = load_diagram(owner, on_locked)
    for refusal in diagram_refusals(writer, diagram):
        findings.note(refusal)
    findings.raise_any()
    shape = _shape_in(diagram, shape_id)
    is_last = _lock_drawn(writer, shape)
    if is_last:
        for text in find_obstacles([shape.element], [shape.element], also_shapes=False):
            findings.note(conflict(shape.shape, text))
        for refusal in deletion_refusals(shape.shape, denied_on([shape.element]).values()):
            findings.note(refusal)
    if problem := _joining_problem(diagram.drawn, shape):
        findings.note(invalid(shape.shape, problem))
    findings.raise_any()
    edit = difference(diagram.drawn, without_shape(diagram.drawn, shape))
    edit.write(diagram.owner.version)
    delete_living(writer, [shape.element] if is_last else [])
    touch(writer, diagram.owner, *_notes([shape.shape], edit))


def _joining_problem(drawn: StoredDiagram, shape: DrawnShape) -> str | None:
    """Return the problem of too many flows between the predecessors and the successors, before they are made."""
    incoming = sum(each.shape == shape.shape for each in drawn.flows)
    outgoing = sum(each.predecessor == shape.shape for each in drawn.flows)
    return FLOWS.problem(len(drawn.flows) + incoming * outgoing - incoming - outgoing, len(drawn.flows))


def without_shape(drawn: StoredDiagram, shape: DrawnShape) -> StoredDiagram:
    """Return a diagram without a shape: its predecessors precede its successors, with the labels of the flows to it;
    its contents move up to its own container, and events are no longer attached to it."""
    gone = shape.shape
    stays = [each for each in drawn.flows if gone not in (each.shape, each.predecessor)]
    known = {(each.shape, each.predecessor) for each in stays}
    last = {each.shape: each.position for each in drawn.flows}
    incoming = [each for each in drawn.flows if each.shape == gone]
    joined = [
        DrawnFlow(after.shape, before.predecessor, last[after.shape] + 1 + place, before.label)
        for after in drawn.flows
        if after.predecessor == gone
        for place, before in enumerate(incoming)
        if after.shape != before.predecessor and (after.shape, before.predecessor) not in known
    ]
    shapes = [
        each._replace(
            container=shape.container if each.container == gone else each.container,
            host=None if each.host == gone else each.host,
        )
        for each in drawn.shapes
        if each.shape != gone
    ]
    return StoredDiagram(shapes, [*stays, *joined], drawn.lanes)


def _shape_in(diagram: DiagramState, shape_id: str) -> DrawnShape:
    shape = next((each for each in diagram.drawn.shapes if each.shape == shape_id), None)
    if shape is None:
        words = {"shape": shape_id, "id": diagram.owner.version}
        raise NotFound(_("There is no shape %(shape)s in the diagram of %(id)s.") % words)
    return shape


def _lock_drawn(writer: Writer, shape: DrawnShape) -> bool:
    """Lock the element that a shape shows; return whether it lives in diagrams and this is its last shape."""
    target = lock_targets({shape.element}, ())[shape.element]
    if not writer.configuration.types_by_id[target.type].lives_in_diagrams:
        return False
    lock_targets({shape.element}, (), to_delete=True)
    sql = "SELECT 1 FROM elements_shape WHERE element_id = %s::uuid AND id <> %s::uuid LIMIT 1"
    return not fetch(sql, [shape.element, shape.shape])


def _notes(erased: Collection[str], edit: DiagramEdit) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values before and after an erasure. The flows to erased shapes come before those from them."""
    flows = sorted(edit.old.flows, key=lambda each: each.shape not in erased)
    before = {"shapes": [shape_note(each) for each in edit.old.shapes], "flows": [flow_note(each) for each in flows]}
    after = {
        **({"shapes": [shape_note(each) for each in edit.new.shapes]} if edit.new.shapes else {}),
        "flows": [flow_note(each) for each in edit.new.flows],
    }
    return before, after


def load_erasure(writer: Writer, elements: Sequence[str]) -> Erasure:
    """Lock and read all diagrams that show elements."""
    sql = "SELECT DISTINCT s.version_id::text FROM elements_shape s WHERE s.element_id = ANY(%s::uuid[])"
    versions = [row[0] for row in fetch(sql, [list(elements)])]
    if not versions:
        return Erasure(writer, {})
    stored = lock_elements((), versions)
    found = read_diagrams(sorted(stored.versions.keys() & {*versions}))
    return Erasure(
        writer, {version: DiagramState(stored, stored.versions[version], drawn) for version, drawn in found.items()}
    )


class Erasure:
    """The erasure of all shapes of elements that live in diagrams, from diagrams that are locked."""

    def __init__(self, writer: Writer, diagrams: Mapping[str, DiagramState]) -> None:
        self.writer = writer
        self.diagrams = diagrams
        self.after: dict[str, StoredDiagram] = {}
        self._refusals = {version: [*diagram_refusals(writer, each)] for version, each in diagrams.items()}
        self._shapes: dict[str, list[tuple[str, str]]] = {}
        for version, each in diagrams.items():
            for shape in each.drawn.shapes:
                self._shapes.setdefault(shape.element, []).append((version, shape.shape))

    def erase(self, elements: Sequence[str]) -> dict[str, list[Refusal]]:
        """Plan the erasure of elements, one after the other; return the refusals of those that stay."""
        refused: dict[str, list[Refusal]] = {}
        self.after = {version: each.drawn for version, each in self.diagrams.items()}
        for element in elements:
            shapes = self._shapes.get(element, ())
            found = next((own for version, _shape in shapes if (own := self._refusals[version])), None)
            changed: dict[str, StoredDiagram] = {}
            for version, id in () if found else shapes:
                drawn = changed.get(version, self.after[version])
                # An earlier erasure may have moved the shape to another container.
                [shape] = [each for each in drawn.shapes if each.shape == id]
                if problem := _joining_problem(drawn, shape):
                    found = [invalid(id, problem)]
                    break
                changed[version] = without_shape(drawn, shape)
            if found:
                refused[element] = found
            else:
                self.after |= changed
        return refused

    def write(self) -> list[HistoryEntry]:
        """Write the diagrams, and return the entries of their history."""
        edits = {version: difference(self.diagrams[version].drawn, after) for version, after in self.after.items()}
        edits = {version: each for version, each in edits.items() if not each.is_empty}
        write_edits(edits)
        author = self.writer.author
        if edits:
            statements.touch_versions(list(edits), author.now, author.element)
        found = []
        for version, edit in edits.items():
            left = {each.shape for each in self.after[version].shapes}
            erased = {each.shape for each in edit.old.shapes} - left
            owner = self.diagrams[version].owner
            found.append(HistoryEntry(owner.element, version, Action.DRAWN, *_notes(erased, edit)))
        return found
