"""Update and create elements, operation 5 (D15): many elements in one transaction, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from elements.permission_sets.callers import denied_on
from elements.reading.rows import VersionRow
from elements.writing.deciding.updates import UpdatePlan, decide_update
from elements.writing.findings import Findings, FindingsByElement
from elements.writing.inputs import ElementInput
from elements.writing.persisting import prepare_changes, write_changes, write_prepared
from elements.writing.stored import (
    CurrentState,
    ReferenceTarget,
    Stored,
    hidden_around,
    lock_ancestry,
    lock_elements,
    lock_targets,
)
from elements.writing.writers import Writer
from facets.clearance import scope_limits
from facets.configuration import CompiledView
from storage.tenancy.scope import whole_content

# Called with the stored versions that a request names, once they are locked; None for each new or unknown one. It may
# raise a problem to refuse the change.
OnLocked = Callable[[list[VersionRow | None]], None]


@whole_content()
def update_elements(
    writer: Writer, view: CompiledView, given: Sequence[ElementInput], findings: Findings, on_locked: OnLocked
) -> list[str]:
    """Write elements and return the ids of their versions, in the order of the request."""
    plan = plan_update(writer, view, given, findings, on_locked)
    write_changes(writer, plan.changes)
    return list(plan.versions)


@whole_content()
def plan_update(
    writer: Writer, view: CompiledView, given: Sequence[ElementInput], findings: Findings, on_locked: OnLocked
) -> UpdatePlan:
    """Return the plan of an update, or raise its problems. The elements stay locked until the transaction ends."""
    findings.raise_any()
    current = _load(writer, given, on_locked)
    plan = decide_update(writer, view, given, current, findings)
    findings.raise_any()
    return plan


@dataclass(frozen=True, slots=True)
class UpdateOutcome:
    """Elements of a bulk change: those that were written, and the reasons of those that were refused."""

    changed: Sequence[str]
    refused: Mapping[str, Sequence[str]]


# Returns the change of one element, given its locked version and its references.
Describe = Callable[[VersionRow, Mapping[str, Sequence[str]]], ElementInput]


@whole_content()
def update_each(
    writer: Writer,
    view: CompiledView,
    elements: Sequence[str],
    describe: Describe,
    versions: Sequence[str] = (),
    *,
    in_any_state: bool = False,
) -> UpdateOutcome:
    """Write a change to the newest version of each element, and to further `versions` of these, if rights and values
    allow it; others stay as they are (D471).

    The place of each input is the id of its element. Elements that the change leaves as they are get no history.
    """
    stored = lock_elements(elements, versions, living_in_diagrams=writer.configuration.living_in_diagrams).visible()
    found = [(each, stored.version_of(each, None)) for each in elements]
    found += [(row.element, row) for each in versions if (row := stored.versions.get(each))]
    seen = _visible_references(stored)
    given = [ElementInput(id, id) if row is None else describe(row, seen.get(row.version, {})) for id, row in found]
    findings = FindingsByElement()
    plan = decide_update(writer, view, given, _around(stored, given), findings, in_any_state=in_any_state)
    wanted = [each for each in plan.changes if each.changed and each.element not in findings.by_element]
    while True:
        late = FindingsByElement()
        prepared = prepare_changes(writer, wanted, late)
        if not late.by_element:
            break
        # The places of the others depend on those that are refused.
        findings.by_element.update(late.by_element)
        wanted = [each for each in wanted if each.element not in late.by_element]
    # An element may have the wanted position already.
    written = [each for each in wanted if each.after]
    write_prepared(writer, written, prepared)
    return UpdateOutcome([each.element for each in written], findings.by_element)


def _load(writer: Writer, given: Sequence[ElementInput], on_locked: OnLocked) -> CurrentState:
    """Lock and read the elements to change, then the elements that they refer to, then the tree around moves."""
    stored = lock_elements(
        {each.id for each in given if each.id},
        {each.version for each in given if each.version},
        living_in_diagrams=writer.configuration.living_in_diagrams,
    ).visible()
    on_locked([stored.version_of(each.id, each.version) for each in given])
    return _around(stored, given)


def _around(stored: Stored, given: Sequence[ElementInput]) -> CurrentState:
    targets = lock_targets(*_named(given))
    ancestry = lock_ancestry(*_moving(given, stored, targets))
    if scope_limits() is None:
        return CurrentState(stored, targets, ancestry)
    denied = denied_on({each.element for each in targets.values()})
    return CurrentState(stored, targets, ancestry, denied, hidden_around(stored, ancestry.parents))


def _visible_references(stored: Stored) -> Mapping[str, Mapping[str, Sequence[str]]]:
    hidden = hidden_around(stored)
    if not hidden:
        return stored.references
    return {
        version: {name: [each for each in ids if each not in hidden] for name, ids in contexts.items()}
        for version, contexts in stored.references.items()
    }


def _named(given: Sequence[ElementInput]) -> tuple[set[str], set[str]]:
    references = [one for each in given for held in each.related.values() for one in held]
    references += [each.root_path[0] for each in given if each.root_path]
    return {one.id for one in references if one.id}, {one.version for one in references if one.version and not one.id}


def _moving(
    given: Sequence[ElementInput], stored: Stored, targets: Mapping[str, ReferenceTarget]
) -> tuple[set[str], set[str]]:
    """Return the elements that get another parent, and the new parents of these and of new elements."""
    moving: set[str] = set()
    parents: set[str] = set()
    for each in given:
        row = stored.version_of(each.id, each.version)
        if each.root_path is None or (row is None and each.names_something):
            continue
        named = each.root_path[0] if each.root_path else None
        target = targets.get(named.id or named.version or "") if named else None
        if row is not None and (target.element if target else None) == row.parent:
            continue
        if row is not None:
            moving.add(row.element)
        if target is not None:
            parents.add(target.element)
    return moving, parents
