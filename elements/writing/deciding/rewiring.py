"""Decisions about replacing a diagram: the elements to create and change, and all rows as they should be (D272)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import uuid4

from django.utils.translation import gettext as _

from elements.reading.diagrams.drawings import DrawnFlow, DrawnLane, DrawnShape, StoredDiagram, Texts
from elements.values.texts import text_problems
from elements.writing.deciding.diagram_structure import structure_problems, unknown_lane
from elements.writing.deciding.drawn_elements import DiagramState, DrawnElements, diagram_refusals
from elements.writing.deciding.lookups import is_named, named_target
from elements.writing.diagrams.wanted_diagrams import Unmentioned, WantedDiagram, WantedFlow, WantedLane, WantedShape
from elements.writing.findings import Findings, Refusal, invalid
from elements.writing.inputs import ReferenceInput
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import ReferenceTarget, Stored
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.wording import printable

T = TypeVar("T")
NEW_SHAPE, NEW_LANE = DrawnShape("", "", 0), DrawnLane("", 0)


@dataclass(frozen=True, slots=True)
class RewiringPlan:
    changes: Sequence[PlannedChange]
    """New and changed elements."""
    after: StoredDiagram
    shapes: Sequence[str]
    """The shape of each wanted one, in their order."""
    lanes: Sequence[str]


@dataclass(frozen=True, slots=True)
class DiagramSurroundings:
    """Everything that a decision about a diagram needs to know."""

    diagram: DiagramState
    targets: Mapping[str, ReferenceTarget]
    """Elements that the request names, and those of the stored shapes."""
    current: Stored
    """Elements of stored shapes that the request may change."""
    hidden: frozenset[str] = frozenset()
    """Targets of their references that the caller does not see. They stay (D493)."""


def decide_rewiring(
    writer: Writer, view: CompiledView, around: DiagramSurroundings, wanted: WantedDiagram, findings: Findings
) -> RewiringPlan:
    """Return the plan of a replacement. It is complete only if there are no findings."""
    for refusal in diagram_refusals(writer, around.diagram):
        findings.note(refusal)
    return _RewiringDecision(writer, view, around, findings).plan(wanted)


def unknown_item(name: str, _known: Sequence[str] = ()) -> str:
    text = _("the request has no item %(name)s; send the shape, too, or name another one")
    return text % {"name": printable(name, 80)}


class _RewiringDecision:
    def __init__(self, writer: Writer, view: CompiledView, around: DiagramSurroundings, findings: Findings) -> None:
        self.around, self.findings = around, findings
        self.configuration = writer.configuration
        self.cultures = {str(lcid) for lcid in writer.configuration.cultures.data}
        drawn = around.diagram.drawn
        self.stored_shapes = {each.shape: each for each in drawn.shapes}
        self.stored_lanes = {each.lane: each for each in drawn.lanes}
        self.stored_flows = {(each.shape, each.predecessor): each for each in drawn.flows}
        self.elements = DrawnElements(writer, view, around.diagram, around.targets, findings, around.hidden)
        self.shape_ids: dict[str, str] = {}
        self.lane_ids: dict[str, str] = {}
        """Ids by key, and by the ids of stored ones that stay."""
        self.described: dict[str, ReferenceInput] = {}

    def plan(self, wanted: WantedDiagram) -> RewiringPlan:
        for refusal in self._identity_problems(wanted):
            self.findings.note(refusal)
        self.shape_ids = _ids([(each.key, each.shape) for each in wanted.shapes], self.stored_shapes)
        self.lane_ids = _ids([(each.key, each.lane) for each in wanted.lanes or ()], self.stored_lanes)
        if wanted.lanes is None:
            lanes = list(self.around.diagram.drawn.lanes)
            self.lane_ids |= {each.lane: each.lane for each in lanes}
        else:
            lanes = [self._lane(each, place) for place, each in enumerate(wanted.lanes)]
        shapes = [self._shape(each, place) for place, each in enumerate(wanted.shapes)]
        after = StoredDiagram(shapes, self._flows(wanted.shapes, shapes), lanes)
        self._check_structure(wanted, after)
        return RewiringPlan(
            self.elements.changes,
            after,
            [each.shape for each in shapes],
            [] if wanted.lanes is None else [each.lane for each in lanes],
        )

    def _identity_problems(self, wanted: WantedDiagram) -> Iterator[Refusal]:
        """Yield keys and ids that occur twice, and ids that the diagram does not have."""
        shapes = [(each.place, each.key, each.shape) for each in wanted.shapes]
        lanes = [(each.place, each.key, each.lane) for each in wanted.lanes or ()]
        for named, stored, unknown in (
            (shapes, self.stored_shapes, _("the diagram has no shape %(id)s; leave out the id to add a new one")),
            (lanes, self.stored_lanes, _("the diagram has no lane %(id)s; leave out the id to add a new one")),
        ):
            keys: set[str] = set()
            ids: set[str] = set()
            for place, key, id in named:
                if key in keys:
                    text = _("two items have the index %(index)s; number the items differently")
                    yield invalid(f"{place}.index", text % {"index": printable(key, 80)})
                if id is not None and id in ids:
                    yield invalid(f"{place}.id", _("the request contains %(id)s twice; send it once") % {"id": id})
                if id is not None and id not in stored:
                    yield invalid(f"{place}.id", unknown % {"id": id})
                keys.add(key)
                ids.add(id or "")

    def _shape(self, wanted: WantedShape, position: int) -> DrawnShape:
        old = self.stored_shapes.get(wanted.shape or "", NEW_SHAPE)
        element = self.findings.attempt(self._element, wanted, old)
        place = wanted.place
        found = DrawnShape(
            self.shape_ids[wanted.key],
            element or "",
            position,
            _kept(wanted.bounds, old.bounds),
            self._link(self.lane_ids, wanted.lane, old.lane, f"{place}.lane", unknown_lane),
            self._outer(wanted, old),
            self._link(self.shape_ids, wanted.host, old.host, f"{place}.attachedTo"),
            _kept(wanted.bpmn_id, old.bpmn_id),
        )
        return found

    def _element(self, wanted: WantedShape, old: DrawnShape) -> str:
        """Return the element of a shape. A description without an id is of the element that the shape shows, unless it
        is of another type."""
        reference = wanted.element
        if not old.shape:
            if reference is None:
                raise invalid(wanted.place, _("expected an element to draw, or the id of an existing shape"))
            return self.elements.element(reference)
        target = self.around.targets[old.element]
        type = self.configuration.types_by_id[target.type]
        named = self.around.targets.get(reference.id or reference.version or "") if reference else None
        shows_another = reference is not None and (
            (named is None or named.element != old.element)
            if reference.names_something
            else not is_named(type.key, reference.type)
        )
        if reference is not None and shows_another:
            return self.elements.element(reference)
        if reference is not None and reference.names_something:
            named_target(self.configuration, reference, self.around.targets)
        self.elements.types[old.element] = type
        if reference is not None:
            self._change(old.element, reference)
        return old.element

    def _change(self, element: str, reference: ReferenceInput) -> None:
        row = self.around.current.version_of(element, None)
        if row is None or not (reference.attributes or reference.related or reference.stereotype is not None):
            return
        if self.described.setdefault(element, reference).says != reference.says:
            text = _("the request describes %(id)s twice, and differently; describe it once") % {"id": element}
            raise invalid(reference.place, text)
        if self.described[element] is reference:
            self.elements.change(row, reference, self.around.current)

    def _outer(self, wanted: WantedShape, old: DrawnShape) -> str | None:
        """Return the container: the one that is wanted, or else the nearest stored one that stays."""
        if not isinstance(wanted.container, Unmentioned):
            return self._link(self.shape_ids, wanted.container, None, f"{wanted.place}.container")
        container = old.container
        while container is not None and container not in self.shape_ids:
            container = self.stored_shapes[container].container
        return container

    def _link(
        self,
        ids: Mapping[str, str],
        wanted: str | Unmentioned | None,
        old: str | None,
        place: str,
        problem: Callable[[str, Sequence[str]], str] = unknown_item,
    ) -> str | None:
        """Return the shape or lane that a key or an id names. A stored link to something that is removed ends."""
        if isinstance(wanted, Unmentioned):
            return old if old in ids else None
        if wanted is None or wanted in ids:
            return ids[wanted] if wanted is not None else None
        self.findings.note(invalid(place, problem(wanted, [*ids])))
        return None

    def _lane(self, wanted: WantedLane, position: int) -> DrawnLane:
        old = self.stored_lanes.get(wanted.lane or "", NEW_LANE)
        element = old.element
        if not isinstance(wanted.element, Unmentioned):
            element = self.findings.attempt(self.elements.role, wanted.element) if wanted.element else None
        return DrawnLane(
            self.lane_ids[wanted.key],
            position,
            self._texts(wanted.name, old.name, f"{wanted.place}.name"),
            element,
            self._link(self.lane_ids, wanted.parent, old.parent, f"{wanted.place}.parent", unknown_lane),
            _kept(wanted.is_pool, old.is_pool),
            _kept(wanted.bounds, old.bounds),
            _kept(wanted.bpmn_id, old.bpmn_id),
        )

    def _flows(self, wanted: Sequence[WantedShape], shapes: Sequence[DrawnShape]) -> list[DrawnFlow]:
        moved = {each.shape for each in shapes if each.bounds != self.stored_shapes.get(each.shape, NEW_SHAPE).bounds}
        found: dict[tuple[str, str], DrawnFlow] = {}
        for each in wanted:
            own = self.shape_ids[each.key]
            for position, flow in enumerate(each.predecessors):
                before = self.shape_ids.get(flow.predecessor)
                place = f"{each.place}.predecessors"
                if before is None:
                    self.findings.note(invalid(place, unknown_item(flow.predecessor)))
                elif before == own:
                    self.findings.note(invalid(place, _("a shape cannot precede itself")))
                elif (own, before) not in found:
                    labels = f"{each.place}.labels[{flow.predecessor}]"
                    found[own, before] = self._flow(own, before, position, flow, moved, labels)
        return list(found.values())

    def _flow(
        self, shape: str, before: str, position: int, wanted: WantedFlow, moved: Collection[str], place: str
    ) -> DrawnFlow:
        old = self.stored_flows.get((shape, before), DrawnFlow(shape, before, position))
        line = None if shape in moved or before in moved else old.waypoints
        return DrawnFlow(
            shape,
            before,
            position,
            self._texts(wanted.label, old.label, place),
            _kept(wanted.bpmn_id, old.bpmn_id),
            _kept(wanted.waypoints, line),
        )

    def _texts(self, wanted: Texts | Unmentioned, old: Texts, place: str) -> Texts:
        if isinstance(wanted, Unmentioned):
            return old
        for suffix, text in text_problems(wanted, self.cultures):
            self.findings.note(invalid(f"{place}{suffix}", text))
        return wanted

    def _check_structure(self, wanted: WantedDiagram, after: StoredDiagram) -> None:
        places = {self.shape_ids[each.key]: each.place for each in wanted.shapes}
        places |= {self.lane_ids[each.key]: each.place for each in wanted.lanes or ()}
        for id, name, text in structure_problems(after.shapes, after.lanes):
            self.findings.note(invalid(f"{places.get(id, id)}.{name}", text))
        elements = {each.shape: each.element for each in after.shapes}
        for each in after.shapes:
            if each.host is not None and each.host != each.shape:
                self.elements.check_host(elements.get(each.host), f"{places[each.shape]}.attachedTo")


def _ids(named: Sequence[tuple[str, str | None]], stored: Collection[str]) -> dict[str, str]:
    """Return ids by key, and by the ids of stored ones."""
    stays = {id: id for _, id in named if id is not None and id in stored}
    return stays | {key: stays.get(id or "") or str(uuid4()) for key, id in named}


def _kept(wanted: T | Unmentioned, old: T) -> T:
    return old if isinstance(wanted, Unmentioned) else wanted
