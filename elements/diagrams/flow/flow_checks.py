"""Checks of the flow of a diagram, as hints for the person who draws it. A diagram with findings can still be saved."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from elements.diagrams.drawables import FigureKind

GATEWAYS = frozenset({FigureKind.AND, FigureKind.OR, FigureKind.XOR})


class FlowFault(Enum):
    NO_START = "no start"
    DEAD_END = "dead end"
    IDLE_GATEWAY = "idle gateway"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class FlowFinding:
    """A fault at a shape, or of the whole diagram if `key` is empty."""

    key: str
    fault: FlowFault


def find_faults(
    kinds: Mapping[str, FigureKind], flows: Collection[tuple[str, str]], around: Mapping[str, str] | None = None
) -> list[FlowFinding]:
    """Return the findings in the order of the shapes. `flows` are pairs of predecessor and successor.

    `around` is the sub-process around a shape, or the activity to which it is attached: a path to it also leads to the
    shapes inside that have no predecessors. A diagram without flows and events is a map or a collection, for which the
    rules mean nothing.
    """
    around = around or {}
    after: dict[str, list[str]] = {key: [] for key in kinds}
    before: dict[str, list[str]] = {key: [] for key in kinds}
    for one, other in flows:
        if one in kinds and other in kinds:
            after[one].append(other)
            before[other].append(one)
    starts = [key for key, kind in kinds.items() if kind is FigureKind.START and key not in around]
    if not any(after.values()) and not starts:
        return []
    entered: dict[str, list[str]] = {key: list(after[key]) for key in kinds}
    for inner, outer in around.items():
        if inner in kinds and outer in kinds and not before[inner]:
            entered[outer].append(inner)
    reached = _reached(starts or [key for key in kinds if not before[key] and key not in around], entered)
    return list(_faults(kinds, before, after, reached, has_start=bool(starts)))


def _faults(
    kinds: Mapping[str, FigureKind],
    before: Mapping[str, Sequence[str]],
    after: Mapping[str, Sequence[str]],
    reached: Collection[str],
    *,
    has_start: bool,
) -> Iterator[FlowFinding]:
    if not has_start:
        yield FlowFinding("", FlowFault.NO_START)
    for key, kind in kinds.items():
        if kind in GATEWAYS and len(before[key]) < 2 and len(after[key]) < 2:
            yield FlowFinding(key, FlowFault.IDLE_GATEWAY)
        elif not after[key] and kind is not FigureKind.END:
            yield FlowFinding(key, FlowFault.DEAD_END)
        if key not in reached:
            yield FlowFinding(key, FlowFault.UNREACHABLE)


def _reached(starts: Sequence[str], after: Mapping[str, Sequence[str]]) -> set[str]:
    found, waiting = set(starts), list(starts)
    while waiting:
        for each in after[waiting.pop()]:
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found
