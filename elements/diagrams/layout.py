"""Positions of the shapes of a diagram and the course of its arrows, computed from sizes and predecessors alone.

A layered layout: it breaks loops, assigns layers, orders them, and routes arrows through the gaps. It uses integers
only, and the order of the shapes decides every choice, so equal diagrams give equal pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from elements.diagrams.effort import Share
from elements.diagrams.frames import Frame, LayoutPart, Outline, Point, Polyline
from elements.diagrams.line_routing import Router
from elements.diagrams.network import build_network
from elements.diagrams.order import order_layers
from elements.diagrams.packing import grid, pack
from elements.diagrams.placement import Extents, place_across

# Distances across the flow: between two shapes, between a shape and a line, between two lines.
SHAPE_ROOM, LINE_ROOM = 36, 18


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


@dataclass(frozen=True, slots=True)
class DiagramLayout:
    """Placed shapes in their order, and arrows in the order of the shapes they come from and lead to."""

    width: int
    height: int
    shapes: tuple[Placed, ...]
    arrows: tuple[Arrow, ...]


def arrange(boxes: Iterable[Box], predecessors: Iterable[tuple[str, str]], direction: Direction) -> DiagramLayout:
    """Arrange a diagram. `predecessors` are pairs of predecessor and successor; pairs with unknown shapes are
    ignored."""
    ordered = sorted(boxes, key=lambda box: (box.rank, box.key))
    number = {box.key: place for place, box in enumerate(ordered)}
    arrows = sorted({(number[one], number[two]) for one, two in predecessors if one in number and two in number})
    frames = [_frame(box, direction) for box in ordered]
    joined, single = _parts(len(ordered), arrows)
    parts = [(nodes, _lay_out(nodes, frames, own, Share(len(own), len(arrows)))) for nodes, own in joined]
    if single:
        alone = grid([frames[node] for node in single], along_first=direction is Direction.HORIZONTAL)
        parts.append((single, alone))
    middles: dict[int, Point] = {}
    lines: list[Polyline] = []
    places, across, along = pack([part for _, part in parts])
    for (nodes, part), (right, down) in zip(parts, places, strict=True):
        for node, (x, y) in zip(nodes, part.middles, strict=True):
            middles[node] = (x + right, y + down)
        for line in part.lines:
            points = tuple((x + right, y + down) for x, y in line.points)
            lines.append(Polyline(nodes[line.source], nodes[line.target], line.is_back, points))
    lines.sort(key=lambda line: (line.source, line.target))
    is_turned = direction is Direction.HORIZONTAL
    return DiagramLayout(
        along if is_turned else across,
        across if is_turned else along,
        tuple(Placed(box.key, *_turned(middles[place], is_turned)) for place, box in enumerate(ordered)),
        tuple(
            Arrow(
                ordered[line.source].key,
                ordered[line.target].key,
                line.is_back,
                tuple(_turned(point, is_turned) for point in line.points),
            )
            for line in lines
        ),
    )


def _frame(box: Box, direction: Direction) -> Frame:
    if direction is Direction.VERTICAL:
        return Frame(box.left, box.right, box.top, box.bottom, box.half_width, box.half_height, box.outline)
    return Frame(box.top, box.bottom, box.left, box.right, box.half_height, box.half_width, box.outline)


def _turned(point: Point, is_turned: bool) -> Point:
    return (point[1], point[0]) if is_turned else point


def _parts(
    size: int, arrows: Sequence[tuple[int, int]]
) -> tuple[list[tuple[list[int], list[tuple[int, int]]]], list[int]]:
    """Return the connected parts in the order of their first shapes, each with its arrows, and the nodes without
    arrows."""
    leader = list(range(size))

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    joined: set[int] = set()
    for one, two in arrows:
        joined.update((one, two))
        first, second = sorted((find(one), find(two)))
        leader[second] = first
    nodes: dict[int, list[int]] = {}
    for node in sorted(joined):
        nodes.setdefault(find(node), []).append(node)
    place = {node: number for members in nodes.values() for number, node in enumerate(members)}
    own: dict[int, list[tuple[int, int]]] = {}
    for one, two in arrows:
        own.setdefault(find(one), []).append((place[one], place[two]))
    return [(members, own[first]) for first, members in nodes.items()], [x for x in range(size) if x not in joined]


def _lay_out(
    nodes: Sequence[int], frames: Sequence[Frame], arrows: Sequence[tuple[int, int]], share: Share
) -> LayoutPart:
    own = [frames[node] for node in nodes]
    network = build_network(len(own), arrows, share)
    rows = order_layers(network, share)
    points = [0] * (len(network.layer) - len(own))
    extents = Extents(
        [*(frame.before for frame in own), *points],
        [*(frame.after for frame in own), *points],
        [*(SHAPE_ROOM for _ in own), *(LINE_ROOM for _ in points)],
    )
    return Router(network, rows, place_across(network, rows, extents, share), own).route()
