"""Positions of elements that a bulk change moves (D477): together, in the order of the selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from elements.bulk.operations import MOVE
from elements.writing.findings import Findings, invalid
from elements.writing.inputs import LAST, POSITION
from elements.writing.statements import read_order
from facets.configuration import Configuration


def settle_positions(
    configuration: Configuration, operations: Sequence[Mapping[str, Any]], elements: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Return operations that place elements before a sibling outside the selection, or after all children.

    Batches place one element after the other. Before the same sibling they keep their order, in whatever batch they
    are; the same number would reverse it.
    """
    wanted = [each[MOVE]["parent"].lower() for each in operations if _has_position(each)]
    if not wanted:
        return list(operations)
    stored = read_order(sorted({*wanted}), configuration.living_in_diagrams)
    selected, findings = {*elements}, Findings()
    found = []
    for index, operation in enumerate(operations):
        if _has_position(operation):
            move = operation[MOVE]
            order = [each.element for each in stored[move["parent"].lower()] if each.element not in selected]
            place = findings.attempt(_place, f"operations[{index}]: {MOVE}: {POSITION}", move[POSITION], order)
            sibling = order[place] if place is not None and place < len(order) else None
            operation = {MOVE: {**move, POSITION: {"before": sibling} if sibling else LAST}}
        found.append(operation)
    findings.raise_any()
    return found


def _has_position(operation: Mapping[str, Any]) -> bool:
    return operation.get(MOVE, {}).get(POSITION) is not None


def _place(place: str, position: Any, order: Sequence[str]) -> int:
    if isinstance(position, int):
        return position
    [(side, id)] = position.items()
    if id.lower() not in order:
        text = _("%(id)s is not a sibling; name another child of the same parent, or a number") % {"id": id}
        raise invalid(place, text)
    number = order.index(id.lower())
    return number + 1 if side == "after" else number
