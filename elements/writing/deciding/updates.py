"""Decisions about an update: which elements a request creates and changes, and how (D15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from elements.permission_sets.callers import NOTHING, denied_in_facet
from elements.permissions import Permission
from elements.reading.assembly.attributes import read_exactly
from elements.writing.deciding.attributes import AttributeRules
from elements.writing.deciding.lookups import is_named, type_called
from elements.writing.deciding.making import (
    AUTHOR,
    Making,
    check_facet,
    first_state,
    new_change,
    set_author,
)
from elements.writing.deciding.places import PlaceRules
from elements.writing.deciding.references import ReferenceRules
from elements.writing.deciding.rights import Rights, place_requires
from elements.writing.findings import Findings, conflict, forbidden, invalid, not_found
from elements.writing.inputs import ElementInput
from elements.writing.planned_changes import Attributes, PlannedChange
from elements.writing.stored import CurrentState
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from facets.permission_sets import EXTEND
from repository_site.core.wording import listed, printable


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    changes: Sequence[PlannedChange]
    """Everything to write; new elements that a reference describes come before the element that refers to them."""
    versions: Sequence[str]
    """Versions of the elements of the request, in its order."""


def decide_update(
    writer: Writer,
    view: CompiledView,
    given: Sequence[ElementInput],
    current: CurrentState,
    findings: Findings,
    *,
    in_any_state: bool = False,
) -> UpdatePlan:
    """Return the plan of an update. It is complete only if there are no findings."""
    decision = _UpdateDecision(writer, view, current, findings)
    decision.rights.in_any_state = in_any_state
    return decision.plan(given)


class _UpdateDecision:
    def __init__(self, writer: Writer, view: CompiledView, current: CurrentState, findings: Findings) -> None:
        self.writer = writer
        self.configuration = writer.configuration
        self.view = view
        self.stored = current.stored
        self.findings = findings
        self.attributes = AttributeRules(self.configuration, writer.zone, findings)
        self.places = PlaceRules(self.configuration, view, current.targets, current.ancestry, current.hidden)
        self.rights = Rights(writer, current.stored)
        self.changes: list[PlannedChange] = []
        making = Making(writer, self.attributes, self.rights, findings, self.changes)
        self.references = ReferenceRules(self.configuration, current.targets, making.target, findings, current.hidden)
        self.denied = current.denied

    def plan(self, given: Sequence[ElementInput]) -> UpdatePlan:
        found = [self.findings.attempt(self._change, each) for each in given]
        changes = [change for change in found if change is not None]
        self.places.check_tree(changes, self.findings)
        self._refuse_twice(changes)
        return UpdatePlan(self.changes, [change.version for change in changes])

    def _change(self, given: ElementInput) -> PlannedChange:
        change = self._existing(given) if given.names_something else self._new(given)
        self.attributes.apply(change, given.stereotype, self._visible(change, given.attributes))
        self.references.apply(change, given.related, self.stored.references.get(change.version, {}))
        self.findings.attempt(self.places.apply, change, given.root_path, given.position)
        self._check_new_place(change)
        for refusal in self.rights.refusals(change):
            self.findings.note(refusal)
        if change.is_new and AUTHOR not in given.related:
            set_author(self.writer, change)
        self.changes.append(change)
        return change

    def _check_new_place(self, change: PlannedChange) -> None:
        """Permission sets above the new place can deny adding elements there (D490). A move must not lift what those
        above the old place deny the caller (D521)."""
        if not change.is_moved:
            return
        denied, place = self.denied.get(change.parent or "", NOTHING), f"{change.place}: rootPath"
        if Permission.NEW in denied:
            self.findings.note(forbidden(place, place_requires(Permission.NEW)))
        own = self.configuration.sets.by_element.get(change.row.creation) if change.row else None
        if own is None or own.mode == EXTEND:
            before = self.stored.denied.get(change.element, NOTHING)
            if before - denied - denied_in_facet(self.configuration.sets, change.type):
                text = _("only administrators can move the element away from a permission set that limits you")
                self.findings.note(forbidden(place, text))

    def _visible(self, change: PlannedChange, given: Attributes) -> Attributes:
        hidden = self.rights.hidden_from_caller(change) & given.keys()
        for name in sorted(hidden):
            self.findings.note(self.rights.administrators_only(change, name))
        return {name: values for name, values in given.items() if name not in hidden} if hidden else given

    def _existing(self, given: ElementInput) -> PlannedChange:
        row = self.stored.version_of(given.id, given.version)
        type = self.configuration.types_by_id[row.type] if row else None
        if row is None or type is None or type.key not in self.view.types:
            words = {"view": self.view.view.name, "facet": self.view.facet.name}
            text = _("there is no such element in the view %(view)s of the facet %(facet)s") % words
            raise not_found(given.place, text)
        if given.id is not None and given.id != row.element:
            words = {"version": row.version, "element": row.element, "wrong": given.id}
            self._invalid(given, _("%(version)s is a version of %(element)s, not of %(wrong)s") % words)
        if not is_named(type.key, given.type):
            self._invalid(given, _("the element has the type %(type)s, which cannot change") % {"type": type.key})
        if not is_named(type.facet, given.facet):
            text = _("the element is in the facet %(facet)s; its facet cannot change") % {"facet": type.facet}
            self._invalid(given, text)
        if given.state is not None and given.state != (row.state if type.is_versioned else ""):
            text = (
                _("the element is in the state %(state)s; apply a transition to change its state")
                if type.is_versioned
                else _("elements of type %(type)s have no states; leave out state")
            )
            self.findings.note(conflict(given.place, text % {"state": row.state, "type": type.key}))
        return PlannedChange(
            given.place,
            type,
            row.element,
            row.version,
            row,
            read_exactly(row.attributes),
            row.stereotype,
            row.valid_from,
            row.valid_until,
            parent=row.parent,
        )

    def _new(self, given: ElementInput) -> PlannedChange:
        type = self._new_type(given)
        check_facet(type, given.facet, given.place, self.findings)
        first = first_state(self.configuration, type)
        if given.state is not None and given.state != first:
            text = (
                _("a new %(type)s starts in the state %(state)s; leave out state")
                if first
                else _("elements of type %(type)s have no states; leave out state")
            )
            self.findings.note(conflict(given.place, text % {"type": given.type, "state": first}))
        return new_change(self.writer, type, given.place)

    def _new_type(self, given: ElementInput) -> ElementType:
        possible = [key for key, each in self.view.types.items() if not each.type.lives_in_diagrams]
        words = {"view": self.view.view.name, "known": listed(possible, _("and")) if possible else _("nothing")}
        if given.type is None:
            raise invalid(given.place, _("a new element needs a type; the view %(view)s has %(known)s") % words)
        named = type_called(self.configuration, given.type)
        shown = self.view.types.get(named.key) if named else None
        if shown is None:
            text = _("the view %(view)s has no type %(wrong)s; it has %(known)s")
            raise invalid(given.place, text % {**words, "wrong": printable(given.type, 100)})
        if shown.type.lives_in_diagrams:
            text = _("elements of type %(type)s are created by drawing them: post them to the content of a diagram")
            raise invalid(given.place, text % {"type": given.type})
        # The view shows the part of the type that the caller sees.
        return self.configuration.types[shown.type.key]

    def _refuse_twice(self, changes: Sequence[PlannedChange]) -> None:
        seen: set[str] = set()
        for change in changes:
            if change.version in seen:
                text = _("the request contains this version twice; send each version once")
                self.findings.note(invalid(change.place, text))
            seen.add(change.version)

    def _invalid(self, given: ElementInput, text: str) -> None:
        self.findings.note(invalid(given.place, text))
