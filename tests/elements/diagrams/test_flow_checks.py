"""Hints about the flow of a diagram: no start, dead ends, idle gateways, unreachable steps."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from elements.diagrams.drawables import FigureKind
from elements.diagrams.flow.flow_checks import FlowFault, FlowFinding, find_faults

KINDS = {"s": FigureKind.START, "e": FigureKind.END, "t": FigureKind.TASK, "x": FigureKind.XOR, "p": FigureKind.PROCESS}


def faults(*flows: str, alone: Iterable[str] = ()) -> list[tuple[str, FlowFault]]:
    """Check flows such as "s-t1"; the first letter of a shape is its kind."""
    pairs = [tuple(each.split("-")) for each in flows]
    kinds = {key: KINDS[key[0]] for key in dict.fromkeys([*(key for pair in pairs for key in pair), *alone])}
    found = find_faults(kinds, [(one, other) for one, other in pairs])
    assert all(isinstance(each, FlowFinding) for each in found)
    return [(each.key, each.fault) for each in found]


def test_a_sound_flow_has_no_findings() -> None:
    assert faults("s-t1", "t1-x1", "x1-t2", "x1-t3", "t2-x2", "t3-x2", "x2-e", "t3-t1") == []


def test_a_map_or_an_empty_diagram_is_not_checked() -> None:
    assert faults(alone=["p1", "p2"]) == []
    assert faults() == []


@pytest.mark.parametrize(
    ("flows", "expected"),
    [
        (("t1-t2", "t2-e"), [("", FlowFault.NO_START)]),
        (("s-t1",), [("t1", FlowFault.DEAD_END)]),
        (("s-x1", "x1-e"), [("x1", FlowFault.IDLE_GATEWAY)]),
        (("s-e", "t1-t2", "t2-t1"), [("t1", FlowFault.UNREACHABLE), ("t2", FlowFault.UNREACHABLE)]),
        (("t1-t2", "t2-t1"), [("", FlowFault.NO_START), ("t1", FlowFault.UNREACHABLE), ("t2", FlowFault.UNREACHABLE)]),
    ],
)
def test_each_fault_is_found_at_its_step(flows: tuple[str, ...], expected: list[tuple[str, FlowFault]]) -> None:
    assert faults(*flows) == expected


def test_a_lonely_start_is_a_dead_end_and_a_lonely_step_is_unreachable_too() -> None:
    assert faults(alone=["s", "t1"]) == [
        ("s", FlowFault.DEAD_END),
        ("t1", FlowFault.DEAD_END),
        ("t1", FlowFault.UNREACHABLE),
    ]


def test_flows_to_unknown_shapes_are_ignored() -> None:
    assert find_faults({"s": FigureKind.START}, [("s", "gone"), ("gone", "s")]) == [
        FlowFinding("s", FlowFault.DEAD_END)
    ]


def test_a_sub_process_and_its_events_are_entered_with_it() -> None:
    """No flow leads to the start inside a sub-process or to an event at its edge; a path to the sub-process does."""
    kinds = {"s": FigureKind.START, "p": FigureKind.PROCESS, "in": FigureKind.START, "done": FigureKind.END}
    kinds |= {"late": FigureKind.INTERMEDIATE, "e": FigureKind.END}
    flows = [("s", "p"), ("p", "e"), ("in", "done"), ("late", "e")]
    around = {"in": "p", "done": "p", "late": "p"}
    assert find_faults(kinds, flows, around) == []
    assert find_faults(kinds, flows[1:], around) == [
        FlowFinding("s", FlowFault.DEAD_END),
        *(FlowFinding(key, FlowFault.UNREACHABLE) for key in ("p", "in", "done", "late", "e")),
    ]


def test_the_start_of_a_sub_process_does_not_start_the_process() -> None:
    kinds = {"p": FigureKind.PROCESS, "in": FigureKind.START, "e": FigureKind.END}
    assert find_faults(kinds, [("p", "e"), ("in", "e")], {"in": "p"}) == [FlowFinding("", FlowFault.NO_START)]


def test_a_long_chain_needs_no_recursion() -> None:
    steps = [f"t{number}" for number in range(5_000)]
    flows = ["s-t0", *(f"{one}-{other}" for one, other in pairwise(steps)), f"{steps[-1]}-e"]
    assert faults(*flows) == []
