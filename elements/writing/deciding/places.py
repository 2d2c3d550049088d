"""Decisions about the place of elements in the tree: allowed parents (D15, D46), and no cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.utils.translation import gettext as _

from elements.sizes.limits import DEPTH
from elements.writing.deciding.lookups import named_target
from elements.writing.findings import Findings, Refusal, invalid
from elements.writing.inputs import PositionInput, ReferenceInput
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import Ancestry, ReferenceTarget
from facets.configuration import CompiledView, Configuration
from repository_site.core.wording import listed


class PlaceRules:
    def __init__(
        self,
        configuration: Configuration,
        view: CompiledView,
        targets: Mapping[str, ReferenceTarget],
        ancestry: Ancestry,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        """`hidden` are ancestors that the caller does not see."""
        self.hidden = hidden
        self.configuration = configuration
        self.view = view
        self.targets = targets
        self.before = ancestry
        self.ancestry = Ancestry(dict(ancestry.parents), ancestry.types)

    def apply(
        self, change: PlannedChange, root_path: Sequence[ReferenceInput] | None, position: PositionInput | None
    ) -> None:
        """Move the element below another parent, or among its siblings (D480)."""
        self._move(change, root_path)
        if position is None:
            return
        place = f"{change.place}: position"
        if change.type.lives_in_diagrams:
            raise self._unmovable(change, place)
        if change.parent is None:
            text = _("elements without a parent are sorted by name; leave out position, or name a parent in rootPath")
            raise invalid(place, text)
        change.position = position
        change.changed.add("rootPath")

    def _move(self, change: PlannedChange, root_path: Sequence[ReferenceInput] | None) -> None:
        """Move the element, unless the request is silent about its parent or names the present one."""
        if root_path is None:
            return
        target = named_target(self.configuration, root_path[0], self.targets) if root_path else None
        parent = target.element if target else None
        if parent in ({None} if change.is_new else self._present(change)):
            return
        place = f"{change.place}: rootPath"
        if change.type.lives_in_diagrams:
            raise self._unmovable(change, place)
        if target is not None:
            self._check_parent(change, target, place)
        change.changed.add("rootPath")
        change.move(parent)
        self.ancestry.parents[change.element] = parent

    def _unmovable(self, change: PlannedChange, place: str) -> Refusal:
        text = _("elements of type %(type)s have their place in a diagram and cannot be moved")
        return invalid(place, text % {"type": change.type.key})

    def _present(self, change: PlannedChange) -> set[str | None]:
        """Return the parent and its nearest ancestor that the view shows: a read puts that one first in rootPath. For a
        caller who does not see an ancestor below it, rootPath is empty (D493)."""
        own = change.parent
        for each in self.ancestry.above(own):
            if each in self.hidden:
                return {own, None}
            if self._is_in_view(each):
                return {own, each}
        return {own}

    def _is_in_view(self, element: str) -> bool:
        type = self.ancestry.types.get(element)
        return type is not None and self.configuration.types_by_id[type].key in self.view.types

    def _check_parent(self, change: PlannedChange, parent: ReferenceTarget, place: str) -> None:
        type = self.configuration.types_by_id[parent.type]
        if type.key not in change.type.parents:
            allowed = listed(change.type.parents, _("or")) if change.type.parents else _("nothing")
            text = _(
                "elements of type %(type)s cannot be placed below elements of type %(parent)s;"
                " possible parents: %(allowed)s"
            )
            raise invalid(place, text % {"type": change.type.key, "parent": type.key, "allowed": allowed})

    def check_tree(self, changes: Iterable[PlannedChange], findings: Findings) -> None:
        """Refuse cycles, and trees that become too deep, once all moves of the request are known: a move may be valid
        only together with others."""
        in_cycles = self.ancestry.in_cycles()
        for change in changes:
            if not change.is_moved:
                continue
            place = f"{change.place}: rootPath"
            if change.element in in_cycles:
                text = _("%(id)s is the element itself or below it; choose another parent") % {"id": change.parent}
                findings.note(invalid(place, text))
                continue
            below = self.before.heights.get(change.element, 0)
            old = 0 if change.is_new else self.before.level(change.element)
            if problem := DEPTH.problem(self.ancestry.level(change.parent) + 1 + below, old + below):
                findings.note(invalid(place, problem))
