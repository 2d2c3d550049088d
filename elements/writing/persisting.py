"""Write the plan of a change, in a number of statements that does not depend on the number of elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from elements.naming import sort_name
from elements.sizes.limits import CHILDREN
from elements.writing import statements
from elements.writing.attachments import attach_files, write_attached
from elements.writing.deciding.making import first_state
from elements.writing.findings import Findings, invalid
from elements.writing.history import Action, HistoryEntry, record
from elements.writing.planned_changes import PlannedChange
from elements.writing.statements import Siblings
from elements.writing.writers import Writer
from repository_site.core.rest.rendering import to_json


def write_changes(writer: Writer, changes: Sequence[PlannedChange]) -> None:
    siblings = check_children(changes)
    attached = attach_files(writer, changes)
    positions = {parent: each.next_position for parent, each in siblings.items()}
    new = [each for each in changes if each.is_new]
    statements.insert_elements([_element_row(writer, each, positions) for each in new])
    statements.insert_versions([_version_row(writer, each) for each in new])
    old = [each for each in changes if not each.is_new]
    update = statements.update_of_versions([(each.version, *_content(writer, each)) for each in old])
    statements.move_elements(
        [(each.element, each.parent, _next_position(positions, each.parent)) for each in old if each.is_moved]
    )
    statements.replace_references(
        (each.version, context, targets) for each in changes for context, targets in each.related.items()
    )
    write_attached(attached)
    record(writer.author, [_entry(each) for each in changes], update)


def check_children(changes: Sequence[PlannedChange]) -> Mapping[str, Siblings]:
    """Return the children of the new parents, and refuse too many. Their number is certain only under the lock that
    gives them their positions."""
    siblings = statements.read_siblings(sorted({each.parent for each in changes if each.is_moved and each.parent}))
    findings = Findings()
    added = Counter(each.parent or "" for each in changes if each.is_moved)
    for change in changes:
        parent = siblings.get(change.parent or "") if change.is_moved else None
        # Report each parent once, with the first element that it gets.
        more = added.pop(change.parent or "", 0) if parent else 0
        if parent and (problem := CHILDREN.problem(parent.number + more, parent.number)):
            findings.note(invalid(f"{change.place}: rootPath", problem))
    findings.raise_any()
    return siblings


def _entry(change: PlannedChange) -> HistoryEntry:
    action = Action.CREATED if change.is_new else Action.UPDATED
    return HistoryEntry(change.element, change.version, action, change.before, change.after)


def _element_row(
    writer: Writer, change: PlannedChange, positions: dict[str, int]
) -> tuple[str, str, str, str | None, int, str, str | None]:
    type_id = str(writer.configuration.type_ids[change.type.key])
    published = None if change.type.is_versioned or change.is_hidden else change.version
    place = change.parent, _next_position(positions, change.parent)
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
