"""Arrangement in lanes: each shape stays inside the band of its lane, the flow leads through all lanes alike.

Layers, order and lines are those of every flow; only the positions across the flow differ. The work is proportional to
the number of nodes and links.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from elements.diagrams.layered.effort import Share
from elements.diagrams.layered.layout import (
    LINE_ROOM,
    SHAPE_ROOM,
    Box,
    DiagramLayout,
    Direction,
    Graph,
    Link,
    graph_of,
)
from elements.diagrams.layered.line_routing import Router
from elements.diagrams.layered.network import Network, build_network
from elements.diagrams.layered.order import order_layers
from elements.diagrams.layered.placement import Extents, place_across

# Distance between the border of a lane and its shapes, and the least extent of a lane across the flow.
LANE_MARGIN, LEAST_LANE = 22, 96


@dataclass(frozen=True, slots=True)
class LaneLayout:
    """A layout with the borders of its lanes across the flow: one more than there are lanes."""

    layout: DiagramLayout
    borders: tuple[int, ...]


def arrange_in_lanes(
    boxes: Iterable[Box],
    links: Iterable[tuple[str, str] | Link],
    direction: Direction,
    lane_of: Mapping[str, int],
    lanes: int,
) -> LaneLayout:
    """Arrange a diagram in lanes. `lane_of` is the number of the lane of each shape, from 0 to `lanes`."""
    graph = graph_of(boxes, links, direction)
    if not graph.boxes:
        empty = tuple(number * LEAST_LANE for number in range(lanes + 1))
        return LaneLayout(graph.as_layout(empty[-1], 0, {}, ()), empty)
    lane = [lane_of[box.key] for box in graph.boxes]
    network = _network(graph, lane)
    rows = [sorted(row, key=lambda node: lane[node]) for row in order_layers(network, Share(1, 1))]
    borders, axis = _place(graph, network, rows, lane, lanes)
    part = Router(network, rows, axis, graph.frames).route()
    # The router moves everything so that it begins at 0. Move it back, so that the first border is at 0.
    first = axis[0] - part.middles[0][0]
    back = max(0, first - borders[0])
    edges = [0, *(border - first + back for border in borders[1:])]
    edges[-1] = max(edges[-1], part.across + back)
    middles = {node: (x + back, y) for node, (x, y) in enumerate(part.middles)}
    lines = [
        (graph.arrows[line.number], replace(line, points=tuple((x + back, y) for x, y in line.points)))
        for line in part.lines
    ]
    return LaneLayout(graph.as_layout(edges[-1], part.along, middles, lines), tuple(edges))


def _network(graph: Graph, lane: list[int]) -> Network:
    """Build the network of all parts, and add the lanes of its points to `lane`. Shapes without arrows follow each
    other in their lane."""
    pairs = [(one, two) for one, two, _ in graph.arrows]
    network = build_network(len(graph.boxes), pairs, Share(1, 1), [graph.port(each) for each in graph.arrows])
    lane.extend(0 for _ in range(len(network.layer) - network.size))
    for chain in network.chains:
        for point in chain.points:
            lane[point] = lane[chain.source]
    joined = {node for pair in pairs for node in pair}
    alone: dict[int, int] = {}
    for node in range(network.size):
        if node not in joined:
            network.layer[node] = alone.get(lane[node], 0)
            alone[lane[node]] = network.layer[node] + 1
    return network


def _extents(graph: Graph, network: Network, lanes: int) -> Extents:
    """Return the extents of all nodes, of the borders of the lanes, and of the least content of each lane."""
    points = [0] * (len(network.layer) - network.size)
    # A border is nearer to its neighbours than they are to each other.
    borders = [LANE_MARGIN - SHAPE_ROOM] * (lanes + 1)
    contents = [LEAST_LANE // 2 - LANE_MARGIN] * lanes
    rooms = [SHAPE_ROOM] * (2 * lanes + 1)
    return Extents(
        [*(frame.before for frame in graph.frames), *points, *borders, *contents],
        [*(frame.after for frame in graph.frames), *points, *borders, *contents],
        [*(SHAPE_ROOM for _ in graph.frames), *(LINE_ROOM for _ in points), *rooms],
    )


def _place(
    graph: Graph, network: Network, rows: Sequence[Sequence[int]], lane: Sequence[int], lanes: int
) -> tuple[list[int], list[int]]:
    """Return the borders of the lanes and the axis of each node.

    A border is a node of every row, so it is straight and keeps the nodes of two lanes apart. One more row has a node
    for each lane, which keeps it from being too narrow.
    """
    size = len(network.layer)
    borders, contents = range(size, size + lanes + 1), range(size + lanes + 1, size + 2 * lanes + 1)
    bounded = [_with_borders(row, lane, borders) for row in rows]
    bounded.append(_with_borders(contents, dict(zip(contents, range(lanes), strict=True)), borders))
    more = 2 * lanes + 1
    whole = replace(
        network,
        layer=[*network.layer, *[0] * more],
        upper=[*network.upper, *[[]] * more],
        lower=[*network.lower, *[[]] * more],
    )
    axis = place_across(whole, bounded, _extents(graph, network, lanes), Share(1, 1), lane)
    return axis[size : size + lanes + 1], axis[:size]


def _with_borders(row: Sequence[int], lane: Sequence[int] | Mapping[int, int], borders: Sequence[int]) -> list[int]:
    """Return a row of nodes, which are sorted by their lanes, with all borders."""
    inside: list[list[int]] = [[] for _ in borders[1:]]
    for node in row:
        inside[lane[node]].append(node)
    return [borders[0], *(node for found, border in zip(inside, borders[1:], strict=True) for node in (*found, border))]
