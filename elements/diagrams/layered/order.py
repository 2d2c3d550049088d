"""Order of the nodes in each layer with few crossings: barycentre sweeps, the best of several starts.

Where a lane turns into its shape, both are linked to a turn in the layer beyond, so that turns count among the
crossings and keep a lane near its ends. Turns exist in this module only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from elements.diagrams.layered.effort import Share
from elements.diagrams.layered.network import Network

# Maximum number of links that all sweeps together may visit, which bounds the time for large diagrams.
EFFORT = 60_000
# Diagrams with up to this number of links are also improved by swapping neighbours, which takes time.
SMALL = 800
FLOW, TURN = 2, 1
Rows = list[list[int]]


@dataclass(frozen=True, slots=True)
class _Net:
    """The network with turns. Its layers are shifted by one, because a turn may be above the first layer."""

    layer: list[int]
    upper: list[list[int]]
    lower: list[list[int]]
    lanes: dict[int, list[list[int]]]
    """Lanes with their turns, from the top down, by target."""
    size: int
    depth: int
    turns_from: int

    def weight(self, one: int, other: int) -> int:
        """Weight of a link in a crossing; a crossing costs the product of two weights. Crossing the end of a lane is
        better than a lane that crosses the flow. Two ends cost nothing, because most of them need no turn in the
        end."""
        return TURN if max(one, other) >= self.turns_from else FLOW


def order_layers(network: Network, share: Share) -> Rows:
    net = _with_turns(network)
    links = sum(map(len, net.lower))
    is_small = links <= share.of(SMALL)
    rounds = max(2, min(12, share.of(EFFORT) // (2 * links + 1)))
    best: Rows = []
    fewest = -1
    for lanes_first in (True, False) if net.lanes else (True,):
        rows = _first_order(net, lanes_first)
        crossings = _improve(net, rows, rounds, is_small=is_small)
        if fewest < 0 or crossings < fewest:
            best, fewest = rows, crossings
    if is_small:
        _move_lanes_first(net, best, fewest)
    return [[node for node in row if node < net.turns_from] for row in best[1:-1]]


def _with_turns(network: Network) -> _Net:
    layer = [each + 1 for each in network.layer]
    upper = [list(each) for each in network.upper]
    lower = [list(each) for each in network.lower]
    lanes: dict[int, list[list[int]]] = {}

    def turn(at: int, shape: int, point: int, near: list[list[int]], far: list[list[int]]) -> int:
        layer.append(at)
        near.append([shape, point])
        far.append([])
        far[shape].append(len(layer) - 1)
        far[point].append(len(layer) - 1)
        return len(layer) - 1

    for chain in network.chains:
        if chain.is_back and not chain.is_outer:
            first, last = chain.points[0], chain.points[-1]
            above = turn(layer[chain.target] - 1, chain.target, first, lower, upper)
            below = turn(layer[chain.source] + 1, chain.source, last, upper, lower)
            lanes.setdefault(chain.target, []).append([above, *chain.points, below])
    return _Net(layer, upper, lower, lanes, network.size, network.depth, len(network.layer))


def _first_order(net: _Net, lanes_first: bool) -> Rows:
    """Return nodes in the order of a walk down the arrows; lanes are on one side of their loop."""
    met: list[int] = []
    seen = bytearray(len(net.layer))

    def meet(nodes: Sequence[int]) -> None:
        for node in nodes:
            if not seen[node]:
                seen[node] = True
                met.append(node)

    starts = [node for node in range(net.size) if all(each >= net.size for each in net.upper[node])]
    for start in (*starts, *range(net.size)):
        walk: list[tuple[int, bool]] = [(start, False)]
        while walk:
            node, is_left = walk.pop()
            lanes = net.lanes.get(node, ())
            if is_left:
                meet([point for lane in lanes for point in lane])
            elif not seen[node]:
                if lanes_first:
                    meet([point for lane in lanes for point in lane])
                meet([node])
                walk.append((node, True))
                walk.extend((each, False) for each in reversed(net.lower[node]) if not seen[each])
    meet(range(len(net.layer)))
    rows: Rows = [[] for _ in range(net.depth + 2)]
    for node in met:
        rows[net.layer[node]].append(node)
    return rows


def _improve(net: _Net, rows: Rows, rounds: int, is_small: bool) -> int:
    """Reorder the rows in place, and return the number of crossings that remain."""
    place = _places(net, rows)
    best = [row[:] for row in rows]
    fewest = _count_crossings(net, rows, place)
    for number in range(rounds):
        if not fewest:
            break
        downwards = number % 2 == 0
        for row in rows[1:] if downwards else rows[-2::-1]:
            _sort_row(row, place, net.upper if downwards else net.lower)
        if is_small:
            _exchange_neighbours(net, rows, place)
        crossings = _count_crossings(net, rows, place)
        if crossings < fewest:
            best, fewest = [row[:] for row in rows], crossings
    rows[:] = best
    return fewest


def _move_lanes_first(net: _Net, rows: Rows, crossings: int) -> None:
    """Move lanes to the left of everything if that adds no crossing, because no shape has a label on that side."""
    for lane in (each for lanes in net.lanes.values() for each in lanes):
        tried = [row[:] for row in rows]
        for node in lane:
            row = tried[net.layer[node]]
            row.remove(node)
            row.insert(0, node)
        counted = _count_crossings(net, tried, _places(net, tried))
        if counted <= crossings:
            rows[:], crossings = tried, counted


def _places(net: _Net, rows: Rows) -> list[int]:
    place = [0] * len(net.layer)
    for row in rows:
        for number, node in enumerate(row):
            place[node] = number
    return place


def _sort_row(row: list[int], place: list[int], neighbours: Sequence[Sequence[int]]) -> None:
    """Sort by the mean position of the neighbours; nodes without neighbours stay."""
    mean = {
        node: sum(place[each] for each in neighbours[node]) / len(neighbours[node]) for node in row if neighbours[node]
    }
    ordered = iter(sorted(mean, key=lambda node: (mean[node], place[node])))
    for number, node in enumerate(row):
        if node in mean:
            row[number] = next(ordered)
    for number, node in enumerate(row):
        place[node] = number


def _count_crossings(net: _Net, rows: Rows, place: list[int]) -> int:
    total = 0
    for row, below in pairwise(rows):
        ends = [
            (place[lower], net.weight(node, lower))
            for node in row
            for lower in sorted(net.lower[node], key=place.__getitem__)
        ]
        turns = [each for each in ends if each[1] == TURN]
        total += _inversions(ends, len(below)) - _inversions(turns, len(below))
    return total


def _inversions(ends: Sequence[tuple[int, int]], size: int) -> int:
    """Return the number of pairs in the wrong order, each times the product of its weights, by a tree of partial
    sums."""
    sums = [0] * (size + 1)
    found = seen = 0
    for value, weight in ends:
        not_greater, at = 0, value + 1
        while at:
            not_greater += sums[at]
            at &= at - 1
        found += weight * (seen - not_greater)
        seen += weight
        at = value + 1
        while at <= size:
            sums[at] += weight
            at += at & -at
    return found


def _exchange_neighbours(net: _Net, rows: Rows, place: list[int]) -> None:
    has_changed = True
    for _ in range(10):
        if not has_changed:
            break
        has_changed = False
        for row in rows:
            for number in range(len(row) - 1):
                left, right = row[number], row[number + 1]
                if _crossings_of(net, place, left, right) > _crossings_of(net, place, right, left):
                    row[number], row[number + 1] = right, left
                    place[left], place[right] = number + 1, number
                    has_changed = True


def _crossings_of(net: _Net, place: list[int], left: int, right: int) -> int:
    """Return the crossings between the links of two nodes if one is left of the other."""
    costs = [
        net.weight(left, one) * net.weight(right, other)
        for neighbours in (net.upper, net.lower)
        for one in neighbours[left]
        for other in neighbours[right]
        if place[one] > place[other]
    ]
    return sum(cost for cost in costs if cost != TURN * TURN)
