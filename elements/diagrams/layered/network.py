"""A connected diagram in layers whose links join neighbours: long arrows pass through points in between.

An arrow that leads back has a lane: a point in each layer from its target's down to its source's. It leaves its source
downwards like any other, turns into the lane, and comes down on its target from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from elements.diagrams.layered.effort import Share
from elements.diagrams.layered.frames import Port
from elements.diagrams.layered.layers import Arrow, assign_layers, find_back_arrows

# Maximum number of points of a diagram, and a minimum for each part. Beyond that, the longest arrows share one path
# around the outside.
MAX_POINTS, LEAST_POINTS = 8_000, 200


@dataclass(frozen=True, slots=True)
class Chain:
    """One arrow. `points` are the nodes it passes through, from the upper layer to the lower one."""

    source: int
    target: int
    is_back: bool
    is_outer: bool
    points: tuple[int, ...] = ()
    port: Port | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes below `size` are shapes, all others points. `upper` and `lower` are their neighbours in the layers."""

    size: int
    layer: list[int]
    chains: list[Chain] = field(default_factory=list)
    upper: list[list[int]] = field(default_factory=list)
    lower: list[list[int]] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return max(self.layer) + 1

    def is_point(self, node: int) -> bool:
        return node >= self.size

    def link(self, above: int, below: int) -> None:
        self.lower[above].append(below)
        self.upper[below].append(above)

    def add_point(self, layer: int) -> int:
        self.layer.append(layer)
        self.upper.append([])
        self.lower.append([])
        return len(self.layer) - 1


def build_network(
    size: int, arrows: Sequence[Arrow], share: Share, ports: Sequence[Port | None] | None = None
) -> Network:
    """Build the network. `arrows` ascend; two of them join the same nodes only if their `ports` differ."""
    successors: list[list[int]] = [[] for _ in range(size)]
    for source, target in arrows:
        successors[source].append(target)
    back = find_back_arrows(size, successors)
    ahead = [[target for target in successors[source] if (source, target) not in back] for source in range(size)]
    network = Network(size, assign_layers(size, ahead))
    network.upper.extend([] for _ in range(size))
    network.lower.extend([] for _ in range(size))
    outer = _outer_arrows(network, arrows, back, max(LEAST_POINTS, share.of(MAX_POINTS)))
    for (source, target), port in zip(arrows, ports or [None] * len(arrows), strict=True):
        is_back, is_outer = (source, target) in back, (source, target) in outer
        points = () if is_outer else _join(network, source, target, is_back)
        network.chains.append(Chain(source, target, is_back, is_outer, points, port))
    return network


def _points_between(network: Network, arrow: Arrow, is_back: bool) -> range:
    """Return the layers in which an arrow needs a point."""
    source, target = (network.layer[node] for node in arrow)
    return range(target, source + 1) if is_back else range(source + 1, target)


def _outer_arrows(network: Network, arrows: Sequence[Arrow], back: set[Arrow], most: int) -> set[Arrow]:
    """Return the longest arrows, if all arrows together would need too many points."""
    lengths = {arrow: len(_points_between(network, arrow, arrow in back)) for arrow in arrows}
    left = most
    outer = set()
    for arrow in sorted(arrows, key=lambda each: (lengths[each], each)):
        left -= lengths[arrow]
        if left < 0:
            outer.add(arrow)
    return outer


def _join(network: Network, source: int, target: int, is_back: bool) -> tuple[int, ...]:
    layers = _points_between(network, (source, target), is_back)
    points = tuple(network.add_point(layer) for layer in layers)
    nodes = points if is_back else (source, *points, target)
    for above, below in pairwise(nodes):
        network.link(above, below)
    return points
