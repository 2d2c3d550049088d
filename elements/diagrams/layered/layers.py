"""Layers of a connected diagram: arrows that close a loop are set aside, all others lead down.

Nodes are numbers in the order of their shapes, which decides every choice: equal diagrams get equal layers.
"""

from __future__ import annotations

from collections.abc import Sequence

Arrow = tuple[int, int]
# Number of passes that pull nodes towards their successors; chains of such moves are rarely longer.
PULLS = 4


def find_back_arrows(size: int, successors: Sequence[Sequence[int]]) -> set[Arrow]:
    """Return the arrows that lead back in a depth-first walk; without them there is no loop.

    The walk begins at nodes without predecessors, so that it enters a loop where a reader does.
    """
    entered = {target for source in range(size) for target in successors[source] if target != source}
    starts = [node for node in range(size) if node not in entered]
    is_open, is_done = bytearray(size), bytearray(size)
    back: set[Arrow] = set()
    for start in (*starts, *range(size)):
        if is_done[start]:
            continue
        # An explicit stack, because a diagram may be deeper than Python's recursion limit.
        path = [(start, iter(successors[start]))]
        is_open[start] = True
        while path:
            node, ahead = path[-1]
            for target in ahead:
                if is_open[target]:
                    back.add((node, target))
                elif not is_done[target]:
                    is_open[target] = True
                    path.append((target, iter(successors[target])))
                    break
            else:
                is_open[node], is_done[node] = False, True
                path.pop()
    return back


def assign_layers(size: int, successors: Sequence[Sequence[int]]) -> list[int]:
    """Return the layer of each node by its longest path from a start, without loops; then move nodes with more
    successors than predecessors down to their successors."""
    incoming = [0] * size
    for targets in successors:
        for target in targets:
            incoming[target] += 1
    waiting = incoming[:]
    order = [node for node in range(size) if not waiting[node]]
    layer = [0] * size
    for node in order:
        for target in successors[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    for _ in range(PULLS):
        has_moved = False
        for node in reversed(order):
            if len(successors[node]) > incoming[node]:
                lowest = min(layer[target] for target in successors[node]) - 1
                has_moved |= lowest > layer[node]
                layer[node] = max(lowest, layer[node])
        if not has_moved:
            break
    return layer
