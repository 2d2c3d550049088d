"""Draw shapes in a diagram, operation 11, and erase them (D17)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext as _

from elements.limits import DEPTH, FLOWS, SHAPES
from elements.reading.rows import (
    ShapeRow,
    VersionRow,
    read_parents,
    read_predecessors,
    read_references,
    read_shapes,
    read_versions,
)
from elements.writing import statements
from elements.writing.deciding.drawings import DiagramState, DrawingPlan, decide_drawing, diagram_refusals
from elements.writing.drawing_inputs import ItemInput
from elements.writing.findings import Findings, Refusal, conflict, invalid, no_element
from elements.writing.history import Action, HistoryEntry, deletion_entry, record
from elements.writing.obstacles import find_obstacles
from elements.writing.persisting import write_changes
from elements.writing.stored import lock_elements, lock_targets
from elements.writing.updating import OnLocked
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound


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
    diagram = _load_diagram(owner, on_locked)
    targets = lock_targets(*_named(items))
    plan = decide_drawing(writer, view, diagram, targets, items, findings)
    for refusal in _size_refusals(diagram, plan):
        findings.note(refusal)
    findings.raise_any()
    _write_drawing(writer, diagram.owner, plan)
    return list(plan.shapes)


def _size_refusals(diagram: DiagramState, plan: DrawingPlan) -> Iterator[Refusal]:
    """Yield the limits that a diagram would exceed. New elements are placed below the element of the diagram."""
    place, stored = diagram.owner.version, len(diagram.shapes)
    if problem := SHAPES.problem(stored + len(plan.drawn), stored):
        yield invalid(place, problem)
    if plan.flows:
        flows = _count_flows(diagram)
        if problem := FLOWS.problem(flows + len(plan.flows), flows):
            yield invalid(place, problem)
    if plan.changes and (problem := DEPTH.problem(1 + len(read_parents([diagram.owner.element])))):
        yield invalid(place, problem)


def _count_flows(diagram: DiagramState) -> int:
    sql = "SELECT count(*) FROM elements_shapeflow WHERE shape_id = ANY(%s::uuid[])"
    return int(fetch(sql, [[each.shape for each in diagram.shapes]])[0][0]) if diagram.shapes else 0


def erase_shape(
    writer: Writer, view: CompiledView, owner: VersionRow, shape_id: str, findings: Findings, on_locked: OnLocked
) -> None:
    """Erase a shape from a diagram, together with an element that lives only there."""
    diagram = _load_diagram(owner, on_locked)
    for refusal in diagram_refusals(writer, diagram):
        findings.note(refusal)
    findings.raise_any()
    shape = _shape_in(diagram, shape_id)
    is_last = _lock_drawn(writer, shape)
    if is_last:
        for text in find_obstacles([shape.element], [shape.element], also_shapes=False):
            findings.note(conflict(shape.shape, text))
    successors, predecessors = _neighbours(shape)
    flows = _count_flows(diagram)
    joined = len(successors) * len(predecessors)
    if problem := FLOWS.problem(flows + joined - len(successors) - len(predecessors), flows):
        findings.note(invalid(shape.shape, problem))
    findings.raise_any()
    _write_erasure(writer, diagram.owner, shape, successors, predecessors, deletes_element=is_last)


def _load_diagram(owner: VersionRow, on_locked: OnLocked) -> DiagramState:
    stored = lock_elements({owner.element}, {owner.version})
    row = stored.versions.get(owner.version)
    on_locked([row])
    if row is None:
        raise NotFound(no_element(owner.version))
    return DiagramState(stored, row, read_shapes([row.version]).get(row.version, []))


def _named(items: Sequence[ItemInput]) -> tuple[set[str], set[str]]:
    named = [each.element for each in items if each.element is not None]
    return {each.id for each in named if each.id}, {each.version for each in named if each.version and not each.id}


def _write_drawing(writer: Writer, owner: VersionRow, plan: DrawingPlan) -> None:
    write_changes(writer, plan.changes)
    last = fetch("SELECT max(position) FROM elements_shape WHERE version_id = %s::uuid", [owner.version])[0][0]
    first = 0 if last is None else last + 1
    statements.insert_shapes(
        [(shape, owner.version, element, first + place) for place, (shape, element) in enumerate(plan.drawn)]
    )
    statements.insert_flows(plan.flows)
    after = {
        "shapes": [{"shapeId": shape, "element": element} for shape, element in plan.drawn],
        "flows": [{"shapeId": shape, "predecessor": before} for shape, before in plan.flows],
    }
    _touch(writer, owner, {}, after)


def _shape_in(diagram: DiagramState, shape_id: str) -> ShapeRow:
    shape = next((each for each in diagram.shapes if each.shape == shape_id), None)
    if shape is None:
        words = {"shape": shape_id, "id": diagram.owner.version}
        raise NotFound(_("There is no shape %(shape)s in the diagram of %(id)s.") % words)
    return shape


def _lock_drawn(writer: Writer, shape: ShapeRow) -> bool:
    """Lock the element that a shape shows; return whether it lives in diagrams and this is its last shape."""
    target = lock_targets({shape.element}, ())[shape.element]
    if not writer.configuration.types_by_id[target.type].lives_in_diagrams:
        return False
    lock_targets({shape.element}, (), to_delete=True)
    sql = "SELECT 1 FROM elements_shape WHERE element_id = %s::uuid AND id <> %s::uuid LIMIT 1"
    return not fetch(sql, [shape.element, shape.shape])


def _neighbours(shape: ShapeRow) -> tuple[list[str], list[str]]:
    """Return the successors and the predecessors of a shape."""
    sql = "SELECT shape_id::text FROM elements_shapeflow WHERE predecessor_id = %s::uuid ORDER BY position, id"
    successors = [row[0] for row in fetch(sql, [shape.shape])]
    return successors, read_predecessors([shape.shape]).get(shape.shape, [])


def _write_erasure(
    writer: Writer,
    owner: VersionRow,
    shape: ShapeRow,
    successors: Sequence[str],
    predecessors: Sequence[str],
    *,
    deletes_element: bool,
) -> None:
    """Erase a shape; its predecessors then precede its successors."""
    joined = [(each, before) for each in successors for before in predecessors if each != before]
    statements.delete_shapes([shape.shape])
    statements.insert_flows(joined)
    if deletes_element:
        _delete(writer, shape.element)
    before = {
        "shapes": [{"shapeId": shape.shape, "element": shape.element}],
        "flows": [{"shapeId": shape.shape, "predecessor": each} for each in predecessors]
        + [{"shapeId": each, "predecessor": shape.shape} for each in successors],
    }
    _touch(writer, owner, before, {"flows": [{"shapeId": each, "predecessor": one} for each, one in joined]})


def _delete(writer: Writer, element: str) -> None:
    related = read_references([element], None).get(element, {})
    for row in read_versions([element]).values():
        record(writer.author, [deletion_entry(writer.configuration.types_by_id[row.type].key, row, related)])
    statements.delete_elements([element])


def _touch(writer: Writer, owner: VersionRow, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Changing a diagram changes its version, too."""
    statements.touch_versions([owner.version], writer.author.now, writer.author.element)
    record(writer.author, [HistoryEntry(owner.element, owner.version, Action.DRAWN, before, after)])
