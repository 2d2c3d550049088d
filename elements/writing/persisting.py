"""Write the plan of a change, in a number of statements that does not depend on the number of elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elements.naming import sort_name
from elements.permission_sets.callers import hidden_among
from elements.sizes.limits import CHILDREN
from elements.writing import statements
from elements.writing.attachments import attach_files, write_attached
from elements.writing.deciding.making import first_state
from elements.writing.deciding.sibling_order import ChildOrder
from elements.writing.findings import Findings, invalid
from elements.writing.history import Action, HistoryEntry, record
from elements.writing.planned_changes import PlannedChange
from elements.writing.statements import Siblings
from elements.writing.writers import Writer
from repository_site.core.rest.rendering import to_json

# Parent, position and rank.
Place = tuple[str | None, int, str]


@dataclass(frozen=True, slots=True)
class Preparation:
    """Places in the tree and changes of attached files, which depend on the content of the storage."""

    places: dict[str, Place]
    attached: Sequence[PlannedChange]


def write_changes(writer: Writer, changes: Sequence[PlannedChange]) -> None:
    findings = Findings()
    prepared = prepare_changes(writer, changes, findings)
    findings.raise_any()
    write_prepared(writer, changes, prepared)


def prepare_changes(writer: Writer, changes: Sequence[PlannedChange], findings: Findings) -> Preparation:
    """Look up what changes need, under its locks, and note what is wrong with them. Nothing is written."""
    siblings = check_children(changes, findings)
    places = _places(writer, changes, siblings, findings)
    return Preparation(places, attach_files(writer, changes, findings))


def write_prepared(writer: Writer, changes: Sequence[PlannedChange], prepared: Preparation) -> None:
    places = dict(prepared.places)
    new = [each for each in changes if each.is_new]
    sets = writer.configuration.sets
    statements.insert_elements(sets, [_element_row(writer, each, places.pop(each.element)) for each in new])
    statements.insert_versions([_version_row(writer, each) for each in new])
    old = [each for each in changes if not each.is_new]
    update = statements.update_of_versions([(each.version, *_content(writer, each)) for each in old])
    statements.move_elements(sets, [(element, *place) for element, place in places.items()])
    statements.replace_references(
        (each.version, context, targets) for each in changes for context, targets in each.related.items()
    )
    write_attached(prepared.attached)
    record(writer.author, [_entry(each) for each in changes], update)


def check_children(changes: Sequence[PlannedChange], findings: Findings) -> Mapping[str, Siblings]:
    """Return the children of the new parents, and note too many. Their number is certain only under the lock that
    gives them their positions."""
    parents = {each.parent for each in changes if each.parent and (each.is_moved or each.position)}
    siblings = statements.read_siblings(sorted(parents))
    added = Counter(each.parent for each in changes if each.is_moved)
    problems = {
        parent: CHILDREN.problem(each.number + added[parent], each.number)
        for parent, each in siblings.items()
        if parent in added
    }
    for change in changes:
        if change.is_moved and (problem := problems.get(change.parent or "")):
            findings.note(invalid(f"{change.place}: rootPath", problem))
            if not findings.is_by_element:
                # Report each parent once, with the first element that it gets.
                del problems[change.parent or ""]
    return siblings


def _places(
    writer: Writer, changes: Sequence[PlannedChange], siblings: Mapping[str, Siblings], findings: Findings
) -> dict[str, Place]:
    """Return the places of elements that are new or move, and of siblings that are numbered again, by element."""
    positions = {parent: each.next_position for parent, each in siblings.items()}
    arranged = _arrange(writer, changes, siblings, findings)
    places: dict[str, Place] = {}
    for change in changes:
        if (change.is_new or change.is_moved) and (change.parent or "") not in arranged:
            places[change.element] = change.parent, _next_position(positions, change.parent), ""
    for parent, order in arranged.items():
        places |= {element: (parent, each.position, each.rank) for element, each in order.keys().items()}
    return places


def _arrange(
    writer: Writer, changes: Sequence[PlannedChange], siblings: Mapping[str, Siblings], findings: Findings
) -> dict[str, ChildOrder]:
    """Return the orders of children, by the parents below which the request wants positions (D480)."""
    wanted = {each.parent for each in changes if each.parent and each.position}
    if not wanted:
        return {}
    former = {each.row.parent for each in changes if each.position and each.row and each.row.parent}
    stored = statements.read_order([*(wanted | former)], writer.configuration.living_in_diagrams)
    hidden = hidden_among({each.element for parent in wanted for each in stored[parent]})
    orders = {parent: ChildOrder(stored[parent], siblings[parent].next_position, hidden) for parent in wanted}
    for change in changes:
        if change.is_moved and change.row and change.row.parent in orders:
            orders[change.row.parent].remove(change.element)
    for change in changes:
        if change.parent in orders and (change.is_moved or change.position):
            findings.attempt(orders[change.parent].place, change)
    before = {each.element: number for order in stored.values() for number, each in enumerate(order)}
    after = {element: number for order in orders.values() for number, element in enumerate(order.order)}
    for change in changes:
        old, new = before.get(change.element), after.get(change.element)
        # Without a new place the element was refused.
        if change.position and new is not None and (change.is_moved or old != new):
            change.note_position(old, new)
    return orders


def _entry(change: PlannedChange) -> HistoryEntry:
    action = Action.CREATED if change.is_new else Action.UPDATED
    return HistoryEntry(change.element, change.version, action, change.before, change.after)


def _element_row(
    writer: Writer, change: PlannedChange, place: Place
) -> tuple[str, str, str, str | None, int, str, str, str | None]:
    type_id = str(writer.configuration.type_ids[change.type.key])
    published = None if change.type.is_versioned or change.is_hidden else change.version
    return change.element, change.element, type_id, *place, change.version, published


def _version_row(writer: Writer, change: PlannedChange) -> tuple[Any, ...]:
    number = (0, 1) if change.type.is_versioned else (None, None)
    state = first_state(writer.configuration, change.type)
    category = writer.configuration.category(change.type, state)
    return (change.version, change.element, state, category.value, *number, *_content(writer, change))


def _content(writer: Writer, change: PlannedChange) -> tuple[Any, ...]:
    return (
        change.stereotype,
        to_json(change.attributes).decode(),
        sort_name(change.attributes, str(writer.configuration.cultures.default)),
        change.valid_from,
        change.valid_until,
        writer.author.now,
        writer.author.element,
    )


def _next_position(positions: dict[str, int], parent: str | None) -> int:
    """Take the next position below a parent; elements without a parent have the position 0."""
    if parent is None:
        return 0
    position = positions[parent]
    positions[parent] = position + 1
    return position
