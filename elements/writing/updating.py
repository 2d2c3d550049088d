"""Update and create elements, operation 5 (D15): many elements in one transaction, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from elements.reading.rows import VersionRow
from elements.writing.deciding.updates import UpdatePlan, decide_update
from elements.writing.findings import Findings
from elements.writing.inputs import ElementInput
from elements.writing.persisting import write_changes
from elements.writing.stored import CurrentState, ReferenceTarget, Stored, lock_ancestry, lock_elements, lock_targets
from elements.writing.writers import Writer
from facets.configuration import CompiledView

# Called with the stored versions that a request names, once they are locked; None for each new or unknown one. It may
# raise a problem to refuse the change.
OnLocked = Callable[[list[VersionRow | None]], None]


def update_elements(
    writer: Writer, view: CompiledView, given: Sequence[ElementInput], findings: Findings, on_locked: OnLocked
) -> list[str]:
    """Write elements and return the ids of their versions, in the order of the request."""
    plan = plan_update(writer, view, given, findings, on_locked)
    write_changes(writer, plan.changes)
    return list(plan.versions)


def plan_update(
    writer: Writer, view: CompiledView, given: Sequence[ElementInput], findings: Findings, on_locked: OnLocked
) -> UpdatePlan:
    """Return the plan of an update, or raise its problems. The elements stay locked until the transaction ends."""
    findings.raise_any()
    current = _load(writer, given, on_locked)
    plan = decide_update(writer, view, given, current, findings)
    findings.raise_any()
    return plan


def _load(writer: Writer, given: Sequence[ElementInput], on_locked: OnLocked) -> CurrentState:
    """Lock and read the elements to change, then the elements that they refer to, then the tree around moves."""
    stored = lock_elements(
        {each.id for each in given if each.id},
        {each.version for each in given if each.version},
        living_in_diagrams=writer.configuration.living_in_diagrams,
    )
    on_locked([stored.version_of(each.id, each.version) for each in given])
    targets = lock_targets(*_named(given))
    return CurrentState(stored, targets, lock_ancestry(*_moving(given, stored, targets)))


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
