"""Draw shapes in a diagram, operation 11, and erase them (D17, D273)."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from elements.reading.diagrams.drawings import DrawnFlow, DrawnShape, StoredDiagram
from elements.reading.rows import VersionRow
from elements.sizes.limits import FLOWS
from elements.writing.deciding.drawings import DrawingPlan, decide_drawing
from elements.writing.deciding.drawn_elements import DiagramState, diagram_refusals
from elements.writing.diagrams.diagram_edits import DiagramEdit, difference, flow_note, shape_note
from elements.writing.diagrams.drawing_inputs import ItemInput
from elements.writing.diagrams.rewiring import delete_living, load_diagram, named_in, note_sizes, notes, touch
from elements.writing.diagrams.wanted_diagrams import Unmentioned
from elements.writing.findings import Findings, conflict, invalid
from elements.writing.obstacles import find_obstacles
from elements.writing.persisting import write_changes
from elements.writing.stored import lock_targets
from elements.writing.updating import OnLocked
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound
from storage.tenancy.scope import whole_content


@whole_content()
def draw(
    writer: Writer,
    view: CompiledView,
    owner: VersionRow,
    items: Sequence[ItemInput],
    findings: Findings,
    on_locked: OnLocked,
) -> list[str]:
    """Draw items and return the shape of each, in the order of the request."""
    findings.raise_any()
    diagram = load_diagram(owner, on_locked)
    elements, versions = named_in([each.element for each in items if each.element is not None])
    if any(not isinstance(each.host, Unmentioned) for each in items):
        # The types of stored shapes decide what an event can be attached to.
        elements |= {each.element for each in diagram.drawn.shapes}
    plan = decide_drawing(writer, view, diagram, lock_targets(elements, versions), items, findings)
    note_sizes(diagram, plan.after, findings, makes_elements=bool(plan.changes))
    findings.raise_any()
    _write_drawing(writer, diagram, plan)
    return list(plan.shapes)


@whole_content()
def erase_shape(
    writer: Writer, view: CompiledView, owner: VersionRow, shape_id: str, findings: Findings, on_locked: OnLocked
) -> None:
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
    if problem := _joining_problem(diagram.drawn, shape):
        findings.note(invalid(shape.shape, problem))
    findings.raise_any()
    edit = difference(diagram.drawn, without_shape(diagram.drawn, shape))
    edit.write(diagram.owner.version)
    delete_living(writer, [shape.element] if is_last else [])
    _note_erasure(writer, diagram.owner, shape, edit)


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


def _write_drawing(writer: Writer, diagram: DiagramState, plan: DrawingPlan) -> None:
    """The history names the new shapes, and all flows of the request, whether or not they existed; and whatever else
    has changed."""
    write_changes(writer, plan.changes)
    edit = difference(diagram.drawn, plan.after)
    edit.write(diagram.owner.version)
    written = {(each.shape, each.predecessor): flow_note(each) for each in edit.new.flows}
    flows = [written.pop((shape, before), {"shapeId": shape, "predecessor": before}) for shape, before in plan.named]
    after = {"shapes": [shape_note(each) for each in edit.new.shapes], "flows": [*flows, *written.values()]}
    touch(writer, diagram.owner, notes(edit.old), after)


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


def _note_erasure(writer: Writer, owner: VersionRow, shape: DrawnShape, edit: DiagramEdit) -> None:
    """Note the flows to the shape before those from it."""
    flows = sorted(edit.old.flows, key=lambda each: each.shape != shape.shape)
    before = {"shapes": [shape_note(each) for each in edit.old.shapes], "flows": [flow_note(each) for each in flows]}
    after = {
        **({"shapes": [shape_note(each) for each in edit.new.shapes]} if edit.new.shapes else {}),
        "flows": [flow_note(each) for each in edit.new.flows],
    }
    touch(writer, owner, before, after)
