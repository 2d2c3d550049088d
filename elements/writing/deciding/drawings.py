"""Decisions about drawing: which shapes, flows and new elements a diagram gets (D17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from django.utils.translation import gettext as _

from elements.locks import Lock
from elements.reading.rows import ShapeRow, VersionRow
from elements.writing.deciding.attributes import AttributeRules
from elements.writing.deciding.lookups import named_target, type_called
from elements.writing.deciding.making import described_change
from elements.writing.deciding.rights import Rights, lock_refusal, way_out
from elements.writing.drawing_inputs import ItemInput
from elements.writing.findings import Findings, Refusal, conflict, invalid
from elements.writing.inputs import ReferenceInput
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import ReferenceTarget, Stored
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.wording import listed


@dataclass(frozen=True, slots=True)
class DiagramState:
    stored: Stored
    owner: VersionRow
    shapes: Sequence[ShapeRow]


@dataclass(frozen=True, slots=True)
class DrawingPlan:
    changes: Sequence[PlannedChange]
    """New elements."""
    drawn: Sequence[tuple[str, str]]
    """New shapes, each with its element."""
    flows: Sequence[tuple[str, str]]
    """Shapes, each with a predecessor."""
    shapes: Sequence[str]
    """The shape of each item of the request, in its order."""


def diagram_refusals(writer: Writer, diagram: DiagramState) -> Iterator[Refusal]:
    owner = diagram.owner
    type = writer.configuration.types_by_id[owner.type]
    if not type.has_diagram:
        yield invalid(owner.version, _("elements of type %(type)s have no diagram") % {"type": type.key})
    lock = Rights(writer, diagram.stored).lock_of(type, owner)
    if lock in (Lock.ALL, Lock.DIAGRAM):
        text = _("the diagram cannot be changed in the state %(state)s; %(way_out)s")
        words = {"state": owner.state, "way_out": way_out([owner.category])}
        yield conflict(owner.version, text % words)
    elif lock is not Lock.NONE:
        yield lock_refusal(owner.version, type, lock)


def decide_drawing(
    writer: Writer,
    view: CompiledView,
    diagram: DiagramState,
    targets: Mapping[str, ReferenceTarget],
    items: Sequence[ItemInput],
    findings: Findings,
) -> DrawingPlan:
    """Return the plan of a drawing. It is complete only if there are no findings."""
    for refusal in diagram_refusals(writer, diagram):
        findings.note(refusal)
    decision = _DrawingDecision(writer, view, diagram, targets, findings)
    elements = [findings.attempt(decision.element, each.element) if each.element else None for each in items]
    for problem in index_problems(items, {each.shape for each in diagram.shapes}):
        findings.note(problem)
    ids = {item.index: item.shape or str(uuid4()) for item in items}
    return DrawingPlan(
        decision.changes,
        [(ids[item.index], element) for item, element in zip(items, elements, strict=True) if element is not None],
        [
            (ids[item.index], ids[before])
            for item in items
            for before in dict.fromkeys(item.predecessors)
            if before in ids
        ],
        [ids[item.index] for item in items],
    )


def index_problems(items: Sequence[ItemInput], shapes: set[str]) -> Iterator[Refusal]:
    """Return the problems of the indexes, shape ids and predecessors of a request; `shapes` are in the diagram."""
    known: dict[int, ItemInput] = {}
    for item in items:
        place = f"{item.place}: shapeInfo"
        if item.index in known:
            yield invalid(f"{place}.index", f"two items have the index {item.index}; number the items differently")
        if item.index is not None:
            known[item.index] = item
        if item.shape is not None and item.shape not in shapes:
            yield invalid(f"{place}.id", f"the diagram has no shape {item.shape}")
        if item.shape is not None and item.element is not None:
            yield invalid(item.place, "an existing shape keeps its element; leave out one of the two")
        if item.shape is None and item.element is None:
            yield invalid(item.place, "expected an element to draw, or the id of an existing shape")
    for item in items:
        for before in item.predecessors:
            place = f"{item.place}: shapeInfo.predecessors"
            if before not in known:
                yield invalid(place, f"no item of the request has the index {before}")
            elif before == item.index or (item.shape and item.shape == known[before].shape):
                yield invalid(place, "a shape cannot precede itself")


class _DrawingDecision:
    def __init__(
        self,
        writer: Writer,
        view: CompiledView,
        diagram: DiagramState,
        targets: Mapping[str, ReferenceTarget],
        findings: Findings,
    ) -> None:
        self.writer = writer
        self.configuration = writer.configuration
        self.view = view
        self.owner = diagram.owner
        self.type = self.configuration.types_by_id[diagram.owner.type]
        self.targets = targets
        self.findings = findings
        self.attributes = AttributeRules(self.configuration, writer.zone, findings)
        self.rights = Rights(writer, diagram.stored)
        self.changes: list[PlannedChange] = []

    def element(self, reference: ReferenceInput) -> str:
        if not reference.names_something:
            return self._new_element(reference)
        target = named_target(self.configuration, reference, self.targets)
        type = self.configuration.types_by_id[target.type]
        self._check_insertable(type.key, reference.place)
        if reference.has_attributes:
            text = "attributes of an existing element cannot change here; update the element instead"
            self.findings.note(invalid(reference.place, text))
        if type.lives_in_diagrams:
            text = f"{target.element} already belongs to a diagram; create a new {type.key}"
            raise invalid(reference.place, text)
        return target.element

    def _new_element(self, reference: ReferenceInput) -> str:
        """Plan a new element as an update would, below the diagram's element."""
        place = reference.place
        type = type_called(self.configuration, reference.type)
        if type is None:
            raise invalid(place, f"expected the type of a new element: {listed(self.type.insertables, 'or')}")
        self._check_insertable(type.key, place)
        if reference.attributes is None:
            raise invalid(place, "expected the id of an existing element, or attributes for a new one")
        if not type.lives_in_diagrams and self.type.key not in type.parents:
            text = (
                f"a new element of type {type.key} cannot be placed below one of type {self.type.key};"
                " name the id of an existing element"
            )
            raise invalid(place, text)
        change = described_change(self.writer, self.attributes, self.rights, self.findings, reference, type)
        change.move(self.owner.element)
        change.is_hidden = type.lives_in_diagrams and self.type.is_versioned
        self.changes.append(change)
        return change.element

    def _check_insertable(self, key: str, place: str) -> None:
        if key not in self.type.insertables or key not in self.view.types:
            allowed = [each for each in self.type.insertables if each in self.view.types]
            known = listed(allowed, "or") if allowed else "nothing"
            raise invalid(place, f"elements of type {key} cannot be drawn here; this diagram accepts {known}")
