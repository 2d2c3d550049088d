"""Positions of nodes across the flow: straight lines first, even branches second, in integers.

Nodes whose line should be straight form columns. Columns are pushed together from both sides, the mean of the two
results is taken, and then each column moves to the middle of its links as far as its neighbours give way.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from elements.diagrams.layered.effort import Share
from elements.diagrams.layered.network import Network

Rows = Sequence[Sequence[int]]
# Maximum number of links to visit when evening out, and of columns to move at once; both bound the time for large
# diagrams.
EFFORT, CROWD = 500_000, 40
# Strength of a line's pull: a line of its own, and a line that only bypasses something.
STRONG, WEAK = 4, 1
# Evening out uses fractions of a unit, so that rounding errors do not add up.
FINE = 16
ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Extents:
    """Extent of each node to both sides of its axis, and the margin it needs on each side."""

    before: Sequence[int]
    after: Sequence[int]
    room: Sequence[int]

    def distance(self, left: int, right: int) -> int:
        """Return the minimum distance between the axes of two neighbours."""
        return self.after[left] + max(self.room[left], self.room[right]) + self.before[right]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns by their first node: distances to those beside it, and the pull of its links."""

    of: list[int]
    after: list[dict[int, int]]
    before: list[dict[int, int]]
    pulls: list[list[tuple[int, int]]]

    @property
    def heads(self) -> list[int]:
        return [node for node, head in enumerate(self.of) if node == head]


def place_across(
    network: Network, rows: Rows, extents: Extents, share: Share, lanes: Sequence[int] | None = None
) -> list[int]:
    """Return the axis of each node. With `lanes`, no column leads from a node of one lane to one of another.

    A node that is in several rows is straight in all of them.
    """
    columns = _columns(network, rows, extents, lanes)
    least = _push(columns, columns.before, columns.after)
    most = _push(columns, columns.after, columns.before)
    end = max(most)
    # The mean keeps every distance that both results keep.
    axis = [(one + end - other) // 2 for one, other in zip(least, most, strict=True)]
    _even_out(columns, axis, share.of(EFFORT))
    _settle_lanes(network, columns, axis)
    return [(axis[columns.of[node]] + FINE // 2) // FINE for node in range(len(axis))]


def _columns(network: Network, rows: Rows, extents: Extents, lanes: Sequence[int] | None) -> _Columns:
    size = len(network.layer)
    passing = _passing(network)
    of = _join(network, rows, passing, lanes)
    columns = _Columns(of, [{} for _ in range(size)], [{} for _ in range(size)], [[] for _ in range(size)])
    for row in rows:
        for left, right in pairwise(row):
            one, other = of[left], of[right]
            distance = max(columns.after[one].get(other, 0), extents.distance(left, right) * FINE)
            columns.after[one][other] = columns.before[other][one] = distance
    for above in range(size):
        for below in network.lower[above]:
            one, other = of[above], of[below]
            if one != other:
                weight = WEAK if above in passing or below in passing else STRONG
                columns.pulls[one].append((other, weight))
                columns.pulls[other].append((one, weight))
    return columns


def _passing(network: Network) -> set[int]:
    """Return the points of arrows that bypass something: other paths connect their ends."""
    return {
        point
        for chain in network.chains
        if not chain.is_back and len(network.lower[chain.source]) > 1 and len(network.upper[chain.target]) > 1
        for point in chain.points
    }


def _join(network: Network, rows: Rows, passing: set[int], lanes: Sequence[int] | None) -> list[int]:
    """Return the first node of each node's column. Points of one arrow are joined, and nodes that are each other's
    middle neighbour; where two such lines cross, the one between points stays straight."""
    place = [0] * len(network.layer)
    for row in rows:
        for number, node in enumerate(row):
            place[node] = number
    of = list(range(len(place)))
    for row in rows[1:]:
        links = [
            (above, node)
            for node in row
            for above in network.upper[node]
            if lanes is None or lanes[above] == lanes[node]
        ]
        straight = [(above, below) for above, below in links if _is_straight(network, place, passing, above, below)]
        straight.sort(key=lambda link: (not all(map(network.is_point, link)), place[link[0]], place[link[1]]))
        accepted: list[tuple[int, int]] = []
        for above, below in straight:
            at = bisect(accepted, (place[above], place[below]))
            if all(each[1] < place[below] for each in accepted[max(0, at - 1) : at]) and all(
                each[1] > place[below] and each[0] > place[above] for each in accepted[at : at + 1]
            ):
                accepted.insert(at, (place[above], place[below]))
                of[below] = of[above]
    return of


def _is_straight(network: Network, place: Sequence[int], passing: set[int], above: int, below: int) -> bool:
    if network.is_point(above) and network.is_point(below):
        return True
    is_middle = _middle(place, passing, network.lower[above]) == below
    return is_middle and _middle(place, passing, network.upper[below]) == above


def _middle(place: Sequence[int], passing: set[int], neighbours: Sequence[int]) -> int | None:
    """Return the middle neighbour; there is none for an even number. Lines that bypass something count only if that
    decides it."""
    for known in ([node for node in neighbours if node not in passing], neighbours):
        if len(known) % 2:
            return sorted(known, key=place.__getitem__)[len(known) // 2]
    return None


def _push(columns: _Columns, before: Sequence[dict[int, int]], after: Sequence[dict[int, int]]) -> list[int]:
    """Place each column as near to the beginning as those before it allow, and then as near to those after it."""
    waiting = [len(each) for each in before]
    order = [head for head in columns.heads if not waiting[head]]
    axis = [0] * len(waiting)
    for head in order:
        for other, distance in after[head].items():
            axis[other] = max(axis[other], axis[head] + distance)
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    for head in reversed(order):
        if after[head]:
            axis[head] = max(axis[head], min(axis[other] - distance for other, distance in after[head].items()))
    return axis


def _even_out(columns: _Columns, axis: list[int], effort: int) -> None:
    """Move each column to the mean of its links, repeatedly, from both ends in turn."""
    drawn = sorted((head for head in columns.heads if columns.pulls[head]), key=lambda head: (axis[head], head))
    looks_left = effort
    for _ in range(ROUNDS):
        has_moved = False
        for head in drawn:
            looks = _draw(columns, axis, head)
            has_moved |= looks > 0
            looks_left -= looks
            if looks_left < 0:
                return
        if not has_moved:
            return
        drawn.reverse()


def _draw(columns: _Columns, axis: list[int], head: int) -> int:
    """Move one column towards its links. Columns in its way move along, as long as the group as a whole is pulled
    there.

    Return the number of visited links; 0 means that nothing has moved.
    """
    group = {head: None}
    wanted = _pull(columns, axis, group)
    sign = 1 if wanted > 0 else -1
    beside = columns.after if sign > 0 else columns.before
    looks = 0
    while wanted * sign > 0 and len(group) <= CROWD:
        looks += sum(len(beside[each]) + len(columns.pulls[each]) for each in group)
        room, obstacle = abs(wanted), -1
        for each in group:
            for other, distance in beside[each].items():
                left = abs(axis[other] - axis[each]) - distance
                if left < room and other not in group:
                    room, obstacle = left, other
        for each in group:
            axis[each] += sign * room
        if obstacle < 0:
            break
        group[obstacle] = None
        wanted = _pull(columns, axis, group)
    return looks


def _settle_lanes(network: Network, columns: _Columns, axis: list[int]) -> None:
    """Move lanes as near to their shapes as there is room, without pulling others; twice, because one may make room for
    another."""
    lanes = [chain for chain in network.chains if chain.is_back and chain.points]
    for chain in (*lanes, *reversed(lanes)):
        for head in dict.fromkeys(columns.of[point] for point in chain.points):
            ends = axis[columns.of[chain.source]] + axis[columns.of[chain.target]]
            if 2 * axis[head] < ends:
                room = [axis[other] - distance for other, distance in columns.after[head].items()]
                axis[head] = max(axis[head], min((ends // 2, *room)))
            else:
                room = [axis[other] + distance for other, distance in columns.before[head].items()]
                axis[head] = min(axis[head], max((ends // 2, *room)))


def _pull(columns: _Columns, axis: Sequence[int], group: Collection[int]) -> int:
    """Return how far a group is pulled to one side, rounded towards 0."""
    total = weight = 0
    for head in group:
        for other, strength in columns.pulls[head]:
            if other not in group:
                total += strength * (axis[other] - axis[head])
                weight += strength
    return (abs(total) // weight) * (1 if total > 0 else -1) if weight else 0
