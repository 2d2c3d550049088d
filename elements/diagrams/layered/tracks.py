"""Gaps between layers: every bend of an arrow is on a track of its gap, in an order with few crossings.

Lines that leave one shape, or lead to one, may share a track; unrelated lines never do.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heapreplace

# Lines closer than this would look like one.
CLEARANCE = 10
# With more nets than this in one gap, only room is made and no order is computed.
MANY = 60
# Cost above any number of crossings: two lines on top of each other would look like one.
OVERLAY = 10_000
TRACK, TIGHT_TRACK, MANY_TRACKS = 14, 4, 40
# Distance between the first or last track and the layer; arrow heads need room below.
ABOVE, BELOW = 18, 26


@dataclass(slots=True)
class Net:
    """Lines that share a track: where they come from above, and where they continue below."""

    ups: set[int] = field(default_factory=set)
    downs: set[int] = field(default_factory=set)
    track: int = 0

    @property
    def start(self) -> int:
        return min(self.ups | self.downs)

    @property
    def end(self) -> int:
        return max(self.ups | self.downs)

    @property
    def needs_track(self) -> bool:
        return self.start < self.end


class Gap:
    """The space between two layers, or beyond the first or the last."""

    def __init__(self) -> None:
        self.nets: dict[Hashable, Net] = {}
        self.tracks = 0

    def net(self, key: Hashable) -> Net:
        return self.nets.setdefault(key, Net())

    def assign_tracks(self) -> None:
        nets = [net for net in self.nets.values() if net.needs_track]
        nets.sort(key=_rank)
        if len(nets) > MANY:
            self.tracks = _pack(nets)
            return
        order = _sift(nets)
        for number, net in enumerate(order):
            above = [other.track for other in order[:number] if _touch(net, other)]
            net.track = max(above, default=-1) + 1
        self.tracks = max((net.track for net in order), default=-1) + 1

    @property
    def spacing(self) -> int:
        return TRACK if self.tracks <= MANY_TRACKS else TIGHT_TRACK

    def thickness(self, least: int) -> int:
        if not self.tracks:
            return least
        return max(least, ABOVE + (self.tracks - 1) * self.spacing + BELOW)

    def offset(self, net: Net, thickness: int) -> int:
        """Return the position of a net's track from the upper end of the gap."""
        slack = thickness - ABOVE - BELOW - (self.tracks - 1) * self.spacing
        return ABOVE + slack // 2 + net.track * self.spacing


def _rank(net: Net) -> tuple[bool, int, int]:
    """Return a first order: of lines to the right the rightmost is on top, of the others the leftmost."""
    coming = net.ups or net.downs
    going = net.downs or net.ups
    to_right = sum(going) * len(coming) > sum(coming) * len(going)
    return (not to_right, -min(coming), -max(going)) if to_right else (True, max(coming), min(going))


def _touch(one: Net, other: Net) -> bool:
    return one.start - CLEARANCE < other.end and other.start - CLEARANCE < one.end


def overlay(upper: Net, lower: Net) -> set[int]:
    """Whether a line down from the upper track would overlap one that comes down to the lower track."""
    return {down for down in upper.downs for up in lower.ups if abs(down - up) < CLEARANCE}


def _cost(upper: Net, lower: Net) -> int:
    """Return the cost of placing the track of one net above that of another."""
    crossings = sum(lower.start < each < lower.end for each in upper.downs)
    crossings += sum(upper.start < each < upper.end for each in lower.ups)
    return crossings + OVERLAY * len(overlay(upper, lower))


def _sift(nets: Sequence[Net]) -> list[Net]:
    """Move each net to its cheapest position among the others until nothing improves."""
    size = len(nets)
    costs = [[0] * size for _ in nets]
    for one in range(size):
        for other in range(size):
            if one != other and _touch(nets[one], nets[other]):
                costs[one][other] = _cost(nets[one], nets[other])
    order = list(range(size))
    for _ in range(6):
        before = order[:]
        for node in range(size):
            order.remove(node)
            total = sum(costs[node][other] for other in order)
            best, place = total, 0
            for number, other in enumerate(order, 1):
                total += costs[other][node] - costs[node][other]
                if total < best:
                    best, place = total, number
            order.insert(place, node)
        if order == before:
            break
    return [nets[number] for number in order]


def _pack(nets: Sequence[Net]) -> int:
    """Assign as few tracks as possible, from left to right; return their number."""
    ends: list[tuple[int, int]] = []
    for net in sorted(nets, key=lambda each: (each.start, each.end, each.track)):
        if ends and ends[0][0] + CLEARANCE <= net.start:
            net.track = ends[0][1]
            heapreplace(ends, (net.end, net.track))
        else:
            net.track = len(ends)
            heappush(ends, (net.end, net.track))
    return len(ends)
