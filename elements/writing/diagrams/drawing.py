"""Draw shapes in a diagram, operation 11 (D17)."""

from __future__ import annotations

from collections.abc import Sequence

from elements.reading.rows import VersionRow
from elements.writing.deciding.drawings import DrawingPlan, decide_drawing
from elements.writing.deciding.drawn_elements import DiagramState
from elements.writing.diagrams.diagram_edits import difference, flow_note, shape_note
from elements.writing.diagrams.drawing_inputs import ItemInput
from elements.writing.diagrams.rewiring import load_diagram, named_in, note_sizes, notes, touch
from elements.writing.diagrams.wanted_diagrams import Unmentioned
from elements.writing.findings import Findings
from elements.writing.persisting import write_changes
from elements.writing.stored import lock_targets
from elements.writing.updating import OnLocked
from elements.writing.writers import Writer
from facets.configuration import CompiledView
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
