"""Decisions about the elements that shapes and lanes show: existing, new and changed ones (D17, D272)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from elements.locks import Lock
from elements.permission_sets.callers import NOTHING
from elements.permissions import Permission
from elements.reading.assembly.attributes import read_exactly
from elements.reading.diagrams.drawings import StoredDiagram
from elements.reading.rows import VersionRow
from elements.writing.deciding.attributes import AttributeRules
from elements.writing.deciding.lookups import named_target, type_called
from elements.writing.deciding.making import Making, check_facet
from elements.writing.deciding.references import ReferenceRules
from elements.writing.deciding.rights import Rights, lock_refusal, place_requires, way_out
from elements.writing.findings import Findings, Refusal, conflict, forbidden, invalid
from elements.writing.inputs import ReferenceInput
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import ReferenceTarget, Stored
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.wording import listed

# Types of the standard template whose shapes are not activities, so that no event can be attached to them.
NOT_ACTIVITIES = frozenset({"evStart", "evIntermediate", "evEnd", "ruleAnd", "ruleOr", "ruleXor", "condition"})


@dataclass(frozen=True, slots=True)
class DiagramState:
    stored: Stored
    owner: VersionRow
    drawn: StoredDiagram


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


class DrawnElements:
    """Decides about elements one by one; `changes` are the plans of new and changed ones."""

    def __init__(
        self,
        writer: Writer,
        view: CompiledView,
        diagram: DiagramState,
        targets: Mapping[str, ReferenceTarget],
        findings: Findings,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self.configuration = writer.configuration
        self.view = view
        self.denied = diagram.stored.denied.get(diagram.owner.element, NOTHING)
        self.owner = diagram.owner
        self.type = self.configuration.types_by_id[diagram.owner.type]
        self.targets = targets
        self.findings = findings
        self.changes: list[PlannedChange] = []
        self.types: dict[str, ElementType] = {}
        """Types of the elements that were decided about."""
        attributes = AttributeRules(self.configuration, writer.zone, findings)
        self.making = Making(writer, attributes, Rights(writer, diagram.stored), findings, self.changes)
        self.references = ReferenceRules(self.configuration, targets, self.making.target, findings, hidden)

    def element(self, reference: ReferenceInput) -> str:
        """Return the element to draw: an existing one, or a new one."""
        if not reference.names_something:
            return self._new_element(reference)
        target = named_target(self.configuration, reference, self.targets)
        type = self.configuration.types_by_id[target.type]
        self._check_insertable(type.key, reference.place)
        for name, is_given in (("attributes", reference.has_attributes), ("related", bool(reference.related))):
            if is_given:
                text = f"{name} of an existing element cannot change here; update the element instead"
                self.findings.note(invalid(reference.place, text))
        if type.lives_in_diagrams:
            text = f"{target.element} already belongs to a diagram; create a new {type.key}"
            raise invalid(reference.place, text)
        self.types[target.element] = type
        return target.element

    def change(self, row: VersionRow, reference: ReferenceInput, current: Stored) -> None:
        """Change the element that a shape shows already; only elements that live in diagrams are changed here."""
        type, attributes = self.configuration.types_by_id[row.type], self.making.attributes
        check_facet(type, reference.facet, reference.place, self.findings)
        own = read_exactly(row.attributes)
        times = row.valid_from, row.valid_until
        change = PlannedChange(
            reference.place, type, row.element, row.version, row, own, row.stereotype, *times, parent=row.parent
        )
        attributes.apply(change, reference.stereotype, reference.attributes or {})
        self.references.apply(change, reference.related, current.references.get(row.version, {}))
        if not change.changed:
            return
        if not type.lives_in_diagrams:
            text = _("%(id)s does not live in this diagram; update the element instead") % {"id": row.element}
            raise invalid(reference.place, text)
        for refusal in Rights(self.making.writer, current).refusals(change):
            self.findings.note(refusal)
        self.changes.append(change)

    def role(self, reference: ReferenceInput) -> str:
        """Return the element of a lane."""
        target = named_target(self.configuration, reference, self.targets)
        type = self.configuration.types_by_id[target.type]
        if type.lives_in_diagrams:
            text = _("elements of type %(type)s live in diagrams and have no lane") % {"type": type.key}
            raise invalid(reference.place, text)
        return target.element

    def check_host(self, element: str | None, place: str) -> None:
        """Refuse an event that is attached to anything but an activity."""
        type = self.types.get(element or "")
        if type is not None and type.key in NOT_ACTIVITIES:
            text = _("events are attached to activities, not to elements of type %(type)s") % {"type": type.key}
            self.findings.note(invalid(place, text))

    def _new_element(self, reference: ReferenceInput) -> str:
        """Plan a new element as an update would, below the diagram's element."""
        place = reference.place
        type = type_called(self.configuration, reference.type)
        if type is None:
            raise invalid(place, f"expected the type of a new element: {self._insertable()}")
        self._check_insertable(type.key, place)
        if reference.attributes is None:
            raise invalid(place, "expected the id of an existing element, or attributes for a new one")
        if not type.lives_in_diagrams and self.type.key not in type.parents:
            text = (
                f"a new element of type {type.key} cannot be placed below one of type {self.type.key};"
                " name the id of an existing element"
            )
            raise invalid(place, text)
        change = self.making.element(reference, type, self.references)
        if Permission.NEW in self.denied:
            raise forbidden(place, place_requires(Permission.NEW))
        change.move(self.owner.element)
        change.is_hidden = type.lives_in_diagrams and self.type.is_versioned
        self.changes.append(change)
        self.types[change.element] = type
        return change.element

    def _check_insertable(self, key: str, place: str) -> None:
        if key not in self.type.insertables or key not in self.view.types:
            text = f"elements of type {key} cannot be drawn here; this diagram accepts {self._insertable()}"
            raise invalid(place, text)

    def _insertable(self) -> str:
        allowed = [each for each in self.type.insertables if each in self.view.types]
        return listed(allowed, "or") if allowed else "nothing"
