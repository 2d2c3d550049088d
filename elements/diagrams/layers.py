"""Which layer each shape of a connected diagram stands in: arrows that close a loop set aside, all others lead down.

Nodes are numbers in the order of their shapes, which settles every choice: the same diagram gets the same layers.
"""

from __future__ import annotations

from collections.abc import Sequence

Arrow = tuple[int, int]
# How often nodes are pulled towards what follows them; a chain of such moves is rarely longer.
PULLS = 4


def find_back_arrows(size: int, successors: Sequence[Sequence[int]]) -> set[Arrow]:
    """The arrows that lead back to where the walk comes from; without them there is no loop.

    The walk begins where nothing leads to, so that a loop is entered as a reader enters it.
    """
    entered = {target for source in range(size) for target in successors[source] if target != source}
    starts = [node for node in range(size) if node not in entered]
    is_open, is_done = bytearray(size), bytearray(size)
    back: set[Arrow] = set()
    for start in (*starts, *range(size)):
        if is_done[start]:
            continue
        # By hand and not by recursion: a diagram may be deeper than Python's stack.
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
    """By the longest way from a start, without loops; then what leads to more than it comes from moves down to that."""
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
