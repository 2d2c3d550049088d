"""The place of elements in the tree: which moves are allowed (D15, D46), and that no element gets below itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from elements.writing.changes import Change
from elements.writing.findings import Findings, Kind
from elements.writing.inputs import ElementInput
from elements.writing.properties import PropertyChecker
from elements.writing.stored import Target
from facets.configuration import CompiledView
from repository_site.core.database.statements import fetch
from repository_site.core.wording import listed


@dataclass(slots=True)
class Tree:
    """Parents and types of the elements around those that move; moves of one request change it one after another."""

    parents: dict[str, str | None]
    types: dict[str, str]

    def above(self, element: str | None) -> Iterator[str]:
        seen = set()
        while element is not None and element not in seen:
            seen.add(element)
            yield element
            element = self.parents.get(element)


def read_tree(elements: Collection[str]) -> Tree:
    """These elements and all above them. One at a time may move something in a storage: two moves, each right by
    itself, could make a circle together."""
    tree = Tree({}, {})
    if elements:
        fetch("SELECT pg_advisory_xact_lock(hashtextextended('tree ' || current_setting('repository.storage'), 0))")
        sql = """WITH RECURSIVE above AS (
                SELECT e.id, e.parent_id, e.type_id FROM elements_element e WHERE e.id = ANY(%s::uuid[])
                UNION SELECT e.id, e.parent_id, e.type_id FROM above JOIN elements_element e ON e.id = above.parent_id)
            SELECT id::text, parent_id::text, type_id::text FROM above"""
        for element, parent, type in fetch(sql, [list(elements)]):
            tree.parents[element], tree.types[element] = parent, type
    return tree


class PlaceChecker:
    def __init__(self, view: CompiledView, properties: PropertyChecker, findings: Findings, tree: Tree) -> None:
        self.view = view
        self.properties = properties
        self.findings = findings
        self.tree = tree

    def set_place(self, change: Change, given: ElementInput, targets: Mapping[str, Target]) -> None:
        """Nothing changes when the request says nothing, or says what is so."""
        if given.root_path is None:
            return
        place = f"{change.place}: rootPath"
        parent: str | None = None
        if given.root_path:
            target = self.properties.named_target(given.root_path[0], targets)
            if target is None:
                return
            parent = target.element
        if not change.is_new and parent in self._unchanged(change):
            return
        if change.is_new and parent is None:
            return
        if change.type.lives_in_diagrams:
            self.invalid(
                place, _("a %(type)s has its place in a diagram and cannot be moved") % {"type": change.type.key}
            )
        elif parent is not None and self._is_allowed(change, parent, targets, place):
            self._move(change, parent)
        elif parent is None:
            self._move(change, None)

    def _unchanged(self, change: Change) -> set[str | None]:
        """The parent, and the nearest above it that the view shows, which reading answers as the first of rootPath."""
        own = change.parent
        shown = (each for each in self.tree.above(own) if self._is_in_view(each))
        return {own, next(shown, own)}

    def _is_in_view(self, element: str) -> bool:
        type = self.tree.types.get(element)
        return type is not None and self.properties.types[type].key in self.view.types

    def _is_allowed(self, change: Change, parent: str, targets: Mapping[str, Target], place: str) -> bool:
        type = self.properties.type_of(targets[parent])
        if type.key not in change.type.parents:
            allowed = listed(change.type.parents, _("or")) if change.type.parents else _("nothing")
            text = _("a %(type)s cannot stand below a %(parent)s; it can stand below %(allowed)s")
            self.invalid(place, text % {"type": change.type.key, "parent": type.key, "allowed": allowed})
            return False
        return True

    def check_circles(self, changes: Iterable[Change]) -> None:
        """When all moves of the request are known: each may be right only with the others."""
        for change in changes:
            if change.is_moved and change.element in self.tree.above(change.parent):
                text = _("%(id)s is below the element itself, or is the element") % {"id": change.parent}
                self.invalid(f"{change.place}: rootPath", text)

    def _move(self, change: Change, parent: str | None) -> None:
        change.changed.add("rootPath")
        change.note("parent", None, change.parent, parent)
        change.parent = parent
        change.is_moved = True
        self.tree.parents[change.element] = parent

    def invalid(self, place: str, text: str) -> None:
        self.findings.add(Kind.INVALID, place, text)
