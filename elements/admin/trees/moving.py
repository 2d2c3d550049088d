"""Moves in the tree of the back office (D481): a request of the page becomes an update, as clients of the API send."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from elements.admin.panels import ElementPage
from elements.locks import CHANGEABLE
from elements.models import ElementChange
from elements.permissions import Permission, role_permissions
from elements.presentation.labels import Named
from elements.presentation.trees import TreeStep
from elements.reading.history import read_changes
from elements.reading.rows import VersionRow, find_version
from elements.writing.findings import Findings
from elements.writing.inputs import LAST, ElementInput, PositionInput, ReferenceInput
from elements.writing.statements import read_order
from elements.writing.updating import update_elements
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.problems import Conflict, Invalid, PreconditionFailed
from repository_site.core.wording import GUID
from storage.access.callers import Caller

BEFORE, AFTER, INTO, TOP, UNDO = "before", "after", "into", "top", "undo"
# The place of a problem in the request that this module makes.
PLACE = re.compile(r"^:? ?(?:(?:rootPath|position)(?:\[0\])?: )?")


@dataclass(frozen=True, slots=True)
class TreeMove:
    """A move, as a button of the page has it in its value. `parent` is the one that the page shows."""

    element: str
    parent: str
    kind: str
    target: str = ""

    @classmethod
    def read(cls, text: str) -> TreeMove:
        element, parent, kind, target = [*text.lower().split("/"), *[""] * 4][:4]
        is_known = kind in (BEFORE, AFTER, INTO) and GUID.fullmatch(target)
        if not GUID.fullmatch(element) or not (is_known or kind in (TOP, UNDO)):
            raise Invalid(_("This is not a move. Reload the page."))
        return cls(element, parent, kind, target)

    def __str__(self) -> str:
        return f"{self.element}/{self.parent}/{self.kind}/{self.target}"


def steps_of(caller: Caller, view: CompiledView) -> Callable[[TreeStep], Mapping[str, TreeMove] | None]:
    """Return a function that offers the moves by one step, by direction. A refusal is shown when it happens: whether an
    element has authors, for example, is not read for the whole tree."""

    def offer(at: TreeStep) -> dict[str, TreeMove] | None:
        if not can_move(caller, at.link):
            return None
        own, above, parents = at.link.element, at.parent.element if at.parent else "", at.link.type.parents
        found: dict[str, TreeMove] = {}
        if above and at.previous:
            found["up"] = TreeMove(own, above, BEFORE, at.previous.element)
        if above and at.following:
            found["down"] = TreeMove(own, above, AFTER, at.following.element)
        if at.previous and at.previous.type.key in parents:
            found["in"] = TreeMove(own, above, INTO, at.previous.element)
        if at.parent and at.grandparent and at.grandparent.type.key in parents:
            found["out"] = TreeMove(own, above, AFTER, above)
        if above and is_root(view, at.link.type):
            found["top"] = TreeMove(own, above, TOP)
            if not at.grandparent:
                found["out"] = found["top"]
        return found

    return offer


def is_root(view: CompiledView, type: ElementType) -> bool:
    return type.key in view.types and view.types[type.key].is_root


def can_move(caller: Caller, link: Named) -> bool:
    """Return whether role and state allow a move."""
    type = link.type
    is_draft = link.state is None or link.state.category in CHANGEABLE
    return is_draft and not type.lives_in_diagrams and Permission.EDIT in role_permissions(caller, type)


def apply_move(writer: Writer, page: ElementPage, move: TreeMove, view: CompiledView | None) -> str:
    """Move the element in the tree that a view shows, and return its new parent; empty for none."""
    if move.kind == TOP and (view is None or not is_root(view, page.type)):
        text = _("Elements of type %(type)s cannot be at the top of the tree. Move the element into another one.")
        raise Invalid(text % {"type": page.labels.type(page.type)})
    parent, position = _undone(page) if move.kind == UNDO else _wanted(page, move)
    given = ElementInput(
        "",
        id=page.row.element,
        root_path=[ReferenceInput("rootPath", id=parent)] if parent else [],
        position=position,
    )

    def check(rows: list[VersionRow | None]) -> None:
        row = rows[0]
        if row is None or (row.parent or "") != move.parent:
            raise PreconditionFailed(
                _("Somebody else has moved %(name)s in the meantime. The tree shows its current place; try again.")
                % {"name": page.name}
            )

    with transaction.atomic():
        update_elements(writer, page.view, [given], Findings(), check)
    return parent or ""


def _wanted(page: ElementPage, move: TreeMove) -> tuple[str | None, PositionInput | None]:
    if move.kind == INTO:
        # With a position, the history has the former one, to which the move can be undone.
        return move.target, PositionInput(LAST)
    if move.kind == TOP:
        return None, None
    target = find_version(page.labels.reader.audience, move.target)
    if target is None:
        raise Conflict(_("The element beside the new place was deleted in the meantime. Try again."))
    if target.parent is None:
        raise Invalid(_("Elements at the top of the tree are sorted by name. Move the element into one of them."))
    before, after = (move.target, None) if move.kind == BEFORE else (None, move.target)
    return target.parent, PositionInput(before=before, after=after)


def _undone(page: ElementPage) -> tuple[str | None, PositionInput | None]:
    """Return the place before the last change in the history, if that was a move."""
    last = last_move(page)
    if last is None:
        raise Conflict(_("The last change of %(name)s was not a move, so it cannot be undone.") % {"name": page.name})
    number = last.get("position")
    return last["parent"], PositionInput(number) if number is not None and last["parent"] else None


def following(writer: Writer, page: ElementPage) -> str:
    """Return the sibling after an element; empty if there is none. The history of a move to the top has no position."""
    parent = page.row.parent
    order = read_order([parent], writer.configuration.living_in_diagrams)[parent] if parent else []
    own = [number for number, each in enumerate(order, 1) if each.element == page.row.element]
    return order[own[0]].element if own and own[0] < len(order) else ""


def last_move(page: ElementPage) -> Mapping[str, Any] | None:
    """Return the place before the last change of the element; None if that was not a move."""
    for change in read_changes(page.labels.reader, page.row.element, 1, 0):
        before, after = change["before"], change["after"]
        is_move = change["action"] == ElementChange.Action.UPDATED and "parent" in after
        if is_move and after["parent"] == page.row.parent:
            return dict(before)
    return None


def readable(text: str) -> str:
    """Return the text of a problem without the places of a request."""
    text = PLACE.sub("", text).replace("rootPath", _("The place in the tree"))
    return text[:1].upper() + text[1:]
