"""Lines of a connected part: the gap in which each bends, how it meets its shapes, and thus the distances of layers.

Lines run in gaps, through points between shapes, and inside the two shapes they join, so they never cross another
shape.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from elements.diagrams.layered.frames import Frame, LayoutPart, Outline, Point, Polyline
from elements.diagrams.layered.network import Chain, Network
from elements.diagrams.layered.tracks import MANY, Gap, Net, overlay

# Minimum distance between two layers.
GAP = 44
# A line with an offset up to this is drawn straight.
STEP = 8
# Distance from the middle at which a line meets a shape whose middle is taken.
ASIDE = 12
# Distance between the outermost shape and the path around the outside.
OUTSIDE = 24


@dataclass(slots=True)
class Bend:
    """Path of one line through one gap: in at `enter`, along the track of its net, out at `leave`."""

    gap: int
    net: Net
    enter: int
    leave: int
    at_source: bool = False
    at_target: bool = False


class Router:
    def __init__(self, network: Network, rows: Sequence[Sequence[int]], axis: Sequence[int], frames: Sequence[Frame]):
        self.network = network
        self.rows = rows
        self.axis = axis
        self.frames = frames
        self.gaps = [Gap() for _ in range(network.depth + 1)]
        # Lines that lead down from one shape share a track.
        self.forks = {node for node in range(network.size) if len(network.lower[node]) > 1}
        self.sides = self._sides()
        self.outside = OUTSIDE + max(
            axis[node] + (0 if network.is_point(node) else frames[node].after) for node in range(len(network.layer))
        )

    def route(self) -> LayoutPart:
        bends = [self._bends(chain) for chain in self.network.chains]
        for gap in self.gaps:
            gap.assign_tracks()
        self._part_overlays(bends)
        middles, starts, length = self._measure()
        lines = [
            Polyline(chain.source, chain.target, chain.is_back, self._points(chain, found, middles, starts), number)
            for number, (chain, found) in enumerate(zip(self.network.chains, bends, strict=True))
        ]
        return self._as_part(middles, lines, length)

    def _sides(self) -> dict[tuple[int, bool], int]:
        """Return the lanes that meet their shape from the side because they are right beside it: by last or first
        point, and whether that shape is the target."""
        ends: dict[int, list[tuple[int, bool]]] = {}
        for chain in self.network.chains:
            if chain.is_back and not chain.is_outer:
                ends.setdefault(chain.points[0], []).append((chain.target, True))
                if chain.source != chain.target and not chain.port:
                    ends.setdefault(chain.points[-1], []).append((chain.source, False))
        found: dict[tuple[int, bool], int] = {}
        for row in self.rows:
            for number, node in enumerate(row):
                if self.network.is_point(node):
                    continue
                for side, others in ((-1, row[number - 1 :: -1] if number else ()), (1, row[number + 1 :])):
                    if self.frames[node].has_free_side(side):
                        self._attach(node, side, others, ends, found)
        return found

    def _attach(
        self,
        node: int,
        side: int,
        others: Sequence[int],
        ends: dict[int, list[tuple[int, bool]]],
        found: dict[tuple[int, bool], int],
    ) -> None:
        """Attach lanes to the side of a shape, outwards, as long as they belong to it and all lead to it or from it."""
        role: bool | None = None
        for point in others:
            roles = [is_target for shape, is_target in ends.get(point, ()) if shape == node]
            if not roles or role not in (None, roles[0]):
                return
            role = roles[0]
            found[point, role] = side

    def _bends(self, chain: Chain) -> list[Bend]:
        if chain.is_outer:
            return self._outer_bends(chain)
        if chain.is_back:
            return self._lane_bends(chain)
        nodes = (chain.source, *chain.points, chain.target)
        return [self._joint(chain, above, below) for above, below in pairwise(nodes)]

    def _joint(self, chain: Chain, above: int, below: int) -> Bend:
        enter, leave = self.axis[above], self.axis[below]
        port = chain.port if above == chain.source else None
        if port:
            enter += port.offset
            if abs(enter - leave) <= STEP and self._gives_way(below):
                leave = enter
        elif abs(enter - leave) <= STEP:
            enter = leave = self._straightened(above, below)
        key: Hashable = ("port", above, port) if port else ("out", above) if above in self.forks else ("in", below)
        gap = self.network.layer[below]
        net = self.gaps[gap].net(key)
        net.ups.add(enter)
        net.downs.add(leave)
        return Bend(gap, net, enter, leave, above == chain.source, below == chain.target)

    def _straightened(self, above: int, below: int) -> int:
        """Return the axis of the end that cannot be met beside its middle."""
        return self.axis[above] if not self.network.is_point(below) else self.axis[below]

    def _gives_way(self, below: int) -> bool:
        return not self.network.is_point(below) and self.frames[below].outline is Outline.STRAIGHT

    def _lane_bends(self, chain: Chain) -> list[Bend]:
        """Return the bends of a lane, upwards from the source to the target."""
        first, last = chain.points[0], chain.points[-1]
        found = []
        if (last, False) not in self.sides:
            gap = self.network.layer[chain.source] + 1
            net = self.gaps[gap].net(("below", chain.source, chain.port))
            enter, leave = self._exit(chain, self._beside(chain.source, last)), self.axis[last]
            net.ups.update((enter, leave))
            found.append(Bend(gap, net, enter, leave, at_source=True))
        for below, above in pairwise(reversed(chain.points)):
            gap = self.network.layer[below]
            net = self.gaps[gap].net(("in", below))
            net.ups.add(self.axis[above])
            net.downs.add(self.axis[below])
            found.append(Bend(gap, net, self.axis[below], self.axis[above]))
        if (first, True) not in self.sides:
            gap = self.network.layer[chain.target]
            net = self.gaps[gap].net(("above", chain.target))
            enter, leave = self.axis[first], self._beside(chain.target, first)
            net.downs.update((enter, leave))
            found.append(Bend(gap, net, enter, leave, at_target=True))
        return found

    def _exit(self, chain: Chain, usual: int) -> int:
        return self.axis[chain.source] + chain.port.offset if chain.port else usual

    def _beside(self, shape: int, lane: int) -> int:
        """Return where a lane meets a shape: beside its middle if there is room, apart from the lines that lead on."""
        frame = self.frames[shape]
        if frame.outline is not Outline.STRAIGHT:
            return self.axis[shape]
        offset = min(2 * ASIDE, frame.half_across // 2)
        return self.axis[shape] + (offset if self.axis[lane] > self.axis[shape] else -offset)

    def _outer_bends(self, chain: Chain) -> list[Bend]:
        below, above = self.network.layer[chain.source] + 1, self.network.layer[chain.target]
        leaving = self.gaps[below].net(("leaving", chain.source, chain.port))
        enter = self._exit(chain, self.axis[chain.source])
        leaving.ups.add(enter)
        leaving.downs.add(self.outside)
        coming = self.gaps[above].net(("coming", chain.target))
        coming.ups.add(self.outside)
        coming.downs.add(self.axis[chain.target])
        return [
            Bend(below, leaving, enter, self.outside, at_source=True),
            Bend(above, coming, self.outside, self.axis[chain.target], at_target=True),
        ]

    def _part_overlays(self, bends: Sequence[list[Bend]]) -> None:
        """Two lines of one gap that swap positions would look like two straight ones: let one meet its shape
        elsewhere."""
        by_net: dict[int, list[Bend]] = {}
        for bend in (each for found in bends for each in found):
            by_net.setdefault(id(bend.net), []).append(bend)
        for gap in self.gaps:
            nets = [net for net in gap.nets.values() if net.needs_track]
            if gap.tracks < 2 or len(nets) > MANY:
                continue
            for upper in nets:
                for lower in nets:
                    if upper.track < lower.track:
                        for place in overlay(upper, lower) - {self.outside}:
                            self._step_aside(by_net[id(upper)], place)

    def _step_aside(self, bends: Sequence[Bend], place: int) -> None:
        for bend in bends:
            if bend.at_target and bend.leave == place and bend.enter != place:
                bend.leave += ASIDE if bend.enter > place else -ASIDE

    def _measure(self) -> tuple[list[int], list[int], int]:
        """Return positions along the flow: the middle of each layer, the start of each gap, and the end."""
        middles, starts = [], [0]
        last = len(self.rows)
        for number, row in enumerate(self.rows):
            above = max((self.frames[node].above for node in row if not self.network.is_point(node)), default=0)
            below = max((self.frames[node].below for node in row if not self.network.is_point(node)), default=0)
            middles.append(starts[-1] + self._thickness(number) + above)
            starts.append(middles[-1] + below)
        return middles, starts, starts[-1] + self._thickness(last)

    def _thickness(self, gap: int) -> int:
        is_between = 0 < gap < len(self.rows)
        return self.gaps[gap].thickness(GAP if is_between else 0)

    def _points(
        self, chain: Chain, bends: Sequence[Bend], middles: Sequence[int], starts: Sequence[int]
    ) -> tuple[Point, ...]:
        points: list[Point] = []
        source, target = self.frames[chain.source], self.frames[chain.target]
        source_at, target_at = middles[self.network.layer[chain.source]], middles[self.network.layer[chain.target]]
        if bends and bends[0].at_source:
            offset = bends[0].enter - self.axis[chain.source]
            depth = chain.port.depth if chain.port else source.depth_at(offset)
            points.append((bends[0].enter, source_at + depth))
        else:
            lane = chain.points[-1]
            side = self.sides[lane, False]
            points += [(self.axis[chain.source] + side * source.half_across, source_at), (self.axis[lane], source_at)]
        for bend in bends:
            if bend.enter != bend.leave:
                gap = self.gaps[bend.gap]
                track = starts[bend.gap] + gap.offset(bend.net, self._thickness(bend.gap))
                points += [(bend.enter, track), (bend.leave, track)]
        if bends and bends[-1].at_target:
            offset = bends[-1].leave - self.axis[chain.target]
            points.append((bends[-1].leave, target_at - target.depth_at(offset)))
        else:
            lane = chain.points[0]
            side = self.sides[lane, True]
            points += [(self.axis[lane], target_at), (self.axis[chain.target] + side * target.half_across, target_at)]
        return _without_idle(points)

    def _as_part(self, middles: Sequence[int], lines: Sequence[Polyline], length: int) -> LayoutPart:
        """Move the part so that it begins at 0."""
        shapes = range(self.network.size)
        first = min(self.axis[node] - self.frames[node].before for node in shapes)
        last = max(self.axis[node] + self.frames[node].after for node in shapes)
        places = [point[0] for line in lines for point in line.points]
        first, last = min((first, *places)), max((last, *places))
        return LayoutPart(
            [(self.axis[node] - first, middles[self.network.layer[node]]) for node in shapes],
            [replace(each, points=tuple((x - first, y) for x, y in each.points)) for each in lines],
            last - first,
            length,
        )


def _without_idle(points: Sequence[Point]) -> tuple[Point, ...]:
    kept: list[Point] = []
    for point in points:
        if kept and kept[-1] == point:
            continue
        if len(kept) > 1 and (kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]):
            kept[-1] = point
        else:
            kept.append(point)
    return tuple(kept)
