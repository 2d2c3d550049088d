"""Positions of the shapes of a diagram and the course of its arrows, computed from sizes and predecessors alone.

A layered layout: it breaks loops, assigns layers, orders them, and routes arrows through the gaps. It uses integers
only, and the order of the shapes decides every choice, so equal diagrams give equal pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from elements.diagrams.layered.effort import Share
from elements.diagrams.layered.frames import Frame, LayoutPart, Outline, Point, Polyline, Port
from elements.diagrams.layered.line_routing import Router
from elements.diagrams.layered.network import build_network
from elements.diagrams.layered.order import order_layers
from elements.diagrams.layered.packing import grid, pack
from elements.diagrams.layered.placement import Extents, place_across

# Distances across the flow: between two shapes, between a shape and a line, between two lines.
SHAPE_ROOM, LINE_ROOM = 36, 18
# Numbers of two shapes, and the port where the arrow leaves.
NumberedArrow = tuple[int, int, str]


class Direction(StrEnum):
    VERTICAL = "vertical"
    HORIZONTAL = "horizontal"


@dataclass(frozen=True, slots=True)
class Box:
    """A shape to place. `rank` is its position in the diagram; sizes are measured from the middle of the figure."""

    key: str
    rank: int
    left: int
    right: int
    top: int
    bottom: int
    half_width: int
    half_height: int
    outline: Outline = Outline.STRAIGHT
    ports: Mapping[str, Port] = field(default_factory=dict)
    """Places of attached shapes, by their keys."""


@dataclass(frozen=True, slots=True)
class Placed:
    key: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """`is_back` means that the arrow closes a loop, against the flow."""

    source: str
    target: str
    is_back: bool
    points: tuple[Point, ...]
    port: str = ""


class Link(NamedTuple):
    """A predecessor and its successor. `port` is the shape at the edge of the predecessor where the arrow leaves."""

    source: str
    target: str
    port: str = ""


@dataclass(frozen=True, slots=True)
class DiagramLayout:
    """Placed shapes in their order, and arrows in the order of the shapes they come from and lead to."""

    width: int
    height: int
    shapes: tuple[Placed, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """Shapes in their order as frames, turned so that the flow leads down, with ascending arrows between them."""

    boxes: Sequence[Box]
    frames: Sequence[Frame]
    arrows: Sequence[NumberedArrow]
    direction: Direction

    def port(self, arrow: NumberedArrow) -> Port | None:
        return self.frames[arrow[0]].ports.get(arrow[2])

    def as_layout(
        self, across: int, along: int, middles: Mapping[int, Point], lines: Iterable[tuple[NumberedArrow, Polyline]]
    ) -> DiagramLayout:
        is_turned = self.direction is Direction.HORIZONTAL
        boxes = self.boxes
        return DiagramLayout(
            along if is_turned else across,
            across if is_turned else along,
            tuple(Placed(box.key, *turned(middles[place], is_turned)) for place, box in enumerate(boxes)),
            tuple(
                Arrow(
                    boxes[source].key,
                    boxes[target].key,
                    line.is_back,
                    tuple(turned(point, is_turned) for point in line.points),
                    port,
                )
                for (source, target, port), line in lines
            ),
        )


def graph_of(boxes: Iterable[Box], links: Iterable[tuple[str, str] | Link], direction: Direction) -> Graph:
    ordered = sorted(boxes, key=lambda box: (box.rank, box.key))
    number = {box.key: place for place, box in enumerate(ordered)}
    known = (each for each in (Link(*link) for link in links) if each.source in number and each.target in number)
    arrows = sorted({(number[each.source], number[each.target], each.port) for each in known})
    return Graph(ordered, [_frame(box, direction) for box in ordered], arrows, direction)


def arrange(
    boxes: Iterable[Box], predecessors: Iterable[tuple[str, str] | Link], direction: Direction
) -> DiagramLayout:
    """Arrange a diagram. `predecessors` are pairs of predecessor and successor; pairs with unknown shapes are
    ignored."""
    graph = graph_of(boxes, predecessors, direction)
    frames = graph.frames
    joined, single = _parts(len(frames), graph.arrows)
    parts = [(nodes, own, _lay_out(graph, nodes, own)) for nodes, own in joined]
    if single:
        alone = grid([frames[node] for node in single], along_first=direction is Direction.HORIZONTAL)
        parts.append((single, [], alone))
    middles: dict[int, Point] = {}
    lines: list[tuple[NumberedArrow, Polyline]] = []
    places, across, along = pack([part for _, _, part in parts])
    for (nodes, own, part), (right, down) in zip(parts, places, strict=True):
        for node, (x, y) in zip(nodes, part.middles, strict=True):
            middles[node] = (x + right, y + down)
        for line in part.lines:
            points = tuple((x + right, y + down) for x, y in line.points)
            lines.append((own[line.number], replace(line, points=points)))
    lines.sort(key=lambda each: each[0])
    return graph.as_layout(across, along, middles, lines)


def _frame(box: Box, direction: Direction) -> Frame:
    if direction is Direction.VERTICAL:
        return Frame(box.left, box.right, box.top, box.bottom, box.half_width, box.half_height, box.outline, box.ports)
    return Frame(box.top, box.bottom, box.left, box.right, box.half_height, box.half_width, box.outline, box.ports)


def turned(point: Point, is_turned: bool) -> Point:
    return (point[1], point[0]) if is_turned else point


def _parts(size: int, arrows: Sequence[NumberedArrow]) -> tuple[list[tuple[list[int], list[NumberedArrow]]], list[int]]:
    """Return the connected parts in the order of their first shapes, each with its arrows, and the nodes without
    arrows."""
    leader = list(range(size))

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    joined: set[int] = set()
    for one, two, _ in arrows:
        joined.update((one, two))
        first, second = sorted((find(one), find(two)))
        leader[second] = first
    nodes: dict[int, list[int]] = {}
    for node in sorted(joined):
        nodes.setdefault(find(node), []).append(node)
    own: dict[int, list[NumberedArrow]] = {}
    for arrow in arrows:
        own.setdefault(find(arrow[0]), []).append(arrow)
    return [(members, own[first]) for first, members in nodes.items()], [x for x in range(size) if x not in joined]


def _lay_out(graph: Graph, nodes: Sequence[int], arrows: Sequence[NumberedArrow]) -> LayoutPart:
    own = [graph.frames[node] for node in nodes]
    share = Share(len(arrows), len(graph.arrows))
    place = {node: number for number, node in enumerate(nodes)}
    pairs = [(place[one], place[two]) for one, two, _ in arrows]
    network = build_network(len(own), pairs, share, [graph.port(arrow) for arrow in arrows])
    rows = order_layers(network, share)
    points = [0] * (len(network.layer) - len(own))
    extents = Extents(
        [*(frame.before for frame in own), *points],
        [*(frame.after for frame in own), *points],
        [*(SHAPE_ROOM for _ in own), *(LINE_ROOM for _ in points)],
    )
    return Router(network, rows, place_across(network, rows, extents, share), own).route()
