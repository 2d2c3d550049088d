"""Places of nodes and lanes, and courses of flows, that nobody has drawn. Pure.

A diagram without any bounds is arranged as a whole. In a drawn diagram, a new node goes beside its predecessor, so that
everything else stays where a person put it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import accumulate

from elements.bpmn.document.model import Area, BpmnFlow, BpmnLane, BpmnModel, BpmnNode, Waypoint
from elements.bpmn.document.vocabulary import EVENT_TYPES, GATEWAY_TYPES
from elements.bpmn.generating.free_places import TakenRoom
from elements.diagrams.layered.frames import Outline
from elements.diagrams.layered.layout import Box, Direction, arrange

TASK_SIZE, EVENT_SIZE, GATEWAY_SIZE = (100, 80), (36, 36), (50, 50)
HEADER, MARGIN, ROOM, LABEL = 30, 30, 50, 24


@dataclass(frozen=True, slots=True)
class Placement:
    """Computed areas of nodes and lanes, and courses of flows, by id."""

    areas: dict[str, Area] = field(default_factory=dict)
    lines: dict[str, tuple[Waypoint, ...]] = field(default_factory=dict)


def place(model: BpmnModel) -> Placement:
    """Return a place for everything that has none."""
    if any(each.area for each in model.nodes):
        areas = _beside_others(model)
        lines: dict[str, tuple[Waypoint, ...]] = {}
    else:
        whole = _Arrangement(model)
        areas, lines = whole.areas, whole.lines
    known = model.areas | areas
    for flow in model.flows:
        if flow.id not in lines and flow.source in known and flow.target in known:
            lines[flow.id] = connect(known[flow.source], known[flow.target])
    return Placement(areas, lines)


def connect(source: Area, target: Area) -> tuple[Waypoint, ...]:
    """Return an angular line from one area to another."""
    (from_x, from_y), (to_x, to_y) = source.middle, target.middle
    if source.x + source.width <= target.x:
        start, end = (source.x + source.width, from_y), (target.x, to_y)
        half = (start[0] + end[0]) / 2
        return _straightened(start, (half, from_y), (half, to_y), end)
    if source.y + source.height <= target.y or target.y + target.height <= source.y:
        is_down = source.y + source.height <= target.y
        start = (from_x, source.y + source.height if is_down else source.y)
        end = (to_x, target.y if is_down else target.y + target.height)
        half = (start[1] + end[1]) / 2
        return _straightened(start, (from_x, half), (to_x, half), end)
    low = max(source.y + source.height, target.y + target.height) + 20
    start, end = (from_x, source.y + source.height), (to_x, target.y + target.height)
    return _straightened(start, (from_x, low), (to_x, low), end)


def _straightened(*points: Waypoint) -> tuple[Waypoint, ...]:
    """Return a line without corners between points on the same straight line; it has at least two points."""
    found: list[Waypoint] = [points[0]]
    for here, after in zip(points[1:], [*points[2:], None], strict=True):
        before = found[-1]
        is_corner = after is None or not (before[0] == here[0] == after[0] or before[1] == here[1] == after[1])
        if is_corner and (here != before or after is None):
            found.append(here)
    return tuple(found)


def _size(node: BpmnNode) -> tuple[int, int]:
    if node.type in EVENT_TYPES:
        return EVENT_SIZE
    return GATEWAY_SIZE if node.type in GATEWAY_TYPES else TASK_SIZE


def around(areas: Iterable[Area], margin: int = MARGIN) -> Area | None:
    found = list(areas)
    if not found:
        return None
    left, top = min(each.x for each in found) - margin, min(each.y for each in found) - margin
    right = max(each.x + each.width for each in found) + margin
    return Area(left, top, right - left, max(each.y + each.height for each in found) + margin - top)


def _on_edge(host: Area, number: int) -> Area:
    """Return the place of a boundary event on the lower edge of its host."""
    width, height = EVENT_SIZE
    shift = (number * (width + 8)) % max(int(host.width), width)
    return Area(host.x + host.width - width / 2 - 12 - shift, host.y + host.height - height / 2, width, height)


class _Arrangement:
    """A whole diagram: one block for each pool, and one for the nodes outside of pools, from top to bottom."""

    def __init__(self, model: BpmnModel) -> None:
        self.areas: dict[str, Area] = {}
        self.lines: dict[str, tuple[Waypoint, ...]] = {}
        self.flows: dict[str, list[tuple[int, BpmnFlow]]] = {}
        """Flows from each node, with their places in the model."""
        for number, flow in enumerate(model.flows):
            self.flows.setdefault(flow.source, []).append((number, flow))
        self.nodes = {each.id: each for each in model.nodes}
        self.lanes = {each.id: each for each in model.lanes}
        self.contents: dict[str | None, list[BpmnNode]] = {}
        for each in model.nodes:
            # An event is placed on the edge of its host only if both are in the same sub-process.
            host = self.nodes.get(each.host or "")
            is_apart = host is None or host.host is not None or host.container != each.container
            self.contents.setdefault(each.container, []).append(replace(each, host=None) if is_apart else each)
        top = 0.0
        for block in self._blocks():
            top = self._place_block(block, top) + ROOM

    def _root(self, lane: str | None) -> str | None:
        """Return the pool of a lane, or None for lanes and nodes outside of pools."""
        while lane is not None and self.lanes[lane].parent is not None:
            lane = self.lanes[lane].parent
        return lane if lane is not None and self.lanes[lane].is_pool else None

    def _blocks(self) -> Iterable[tuple[BpmnLane | None, list[BpmnLane], list[BpmnNode]]]:
        blocks: dict[str | None, tuple[BpmnLane | None, list[BpmnLane], list[BpmnNode]]] = {None: (None, [], [])}
        for each in self.lanes.values():
            if each.is_pool and not each.parent:
                blocks[each.id] = each, [], []
        for each in self.lanes.values():
            if each.id not in blocks:
                blocks[self._root(each.id)][1].append(each)
        for node in self.contents.get(None, ()):
            # An event goes to the block of its host, even if it has another pool.
            home = self.nodes[node.host] if node.host else node
            blocks[self._root(home.lane)][2].append(node)
        return blocks.values()

    def _place_block(self, block: tuple[BpmnLane | None, Sequence[BpmnLane], Sequence[BpmnNode]], top: float) -> float:
        """Place a block below `top` and return its end."""
        pool, lanes, nodes = block
        left = HEADER * bool(pool)
        if lanes:
            bottom, right = self._place_lanes(pool, lanes, nodes, left, top)
        else:
            right, bottom = self._place_free(nodes, left + MARGIN * bool(pool), top + MARGIN * bool(pool))
            right, bottom = right + MARGIN * bool(pool), bottom + MARGIN * bool(pool)
        if pool:
            right, bottom = max(right, 600), max(bottom, top + 120)
            self.areas[pool.id] = Area(0, top, right, bottom - top)
        return bottom

    def _place_free(self, nodes: Sequence[BpmnNode], left: float, top: float) -> tuple[float, float]:
        """Place nodes by their flows and return the lower right corner."""
        boxes = self._boxes(nodes)
        hosts = {each.id: each.host or each.id for each in nodes}
        pairs = {(hosts[each.source], hosts[each.target]): each for each in self._flows_between(hosts)}
        layout = arrange(boxes, [pair for pair in pairs if pair[0] != pair[1]], Direction.HORIZONTAL)
        sizes = {box.key: (box.half_width * 2, box.half_height * 2) for box in boxes}
        for each in layout.shapes:
            width, height = sizes[each.key]
            self._put(each.key, Area(left + each.x - width / 2, top + each.y - height / 2, width, height))
        for arrow in layout.arrows:
            flow = pairs[arrow.source, arrow.target]
            if (flow.source, flow.target) == (arrow.source, arrow.target):
                self.lines[flow.id] = tuple((left + x, top + y) for x, y in arrow.points)
        self._attach(nodes)
        return left + layout.width, top + layout.height

    def _flows_between(self, nodes: Iterable[str]) -> list[BpmnFlow]:
        """Return the flows between nodes in the order of the model."""
        known = {*nodes}
        found = (each for node in known for each in self.flows.get(node, ()) if each[1].target in known)
        return [flow for _number, flow in sorted(found, key=lambda each: each[0])]

    def _boxes(self, nodes: Sequence[BpmnNode]) -> list[Box]:
        boxes = []
        for rank, node in enumerate(each for each in nodes if not each.host):
            width, height = self._measure(node)
            half_width, half_height = int(width) // 2, int(height) // 2
            label = LABEL if node.type in EVENT_TYPES | GATEWAY_TYPES else 0
            wide = max(half_width, 40) if label else half_width
            outline = Outline.ROUND if node.type in EVENT_TYPES else Outline.STRAIGHT
            outline = Outline.POINTED if node.type in GATEWAY_TYPES else outline
            bottom = half_height + label
            boxes.append(Box(node.id, rank, wide, wide, half_height, bottom, half_width, half_height, outline))
        return boxes

    def _measure(self, node: BpmnNode) -> tuple[float, float]:
        """Return the size of a node; the contents of a sub-process are arranged at the origin for this."""
        inside = self.contents.get(node.id)
        if not inside:
            return _size(node)
        right, bottom = self._place_free(inside, 0, 0)
        return 2 * (int(right + 1) // 2 + MARGIN), 2 * (int(bottom + 1) // 2 + MARGIN)

    def _put(self, id: str, area: Area) -> None:
        """Place a node; move the contents of a sub-process from the origin into it."""
        self.areas[id] = area
        if id in self.contents:
            self._move(id, area.x + MARGIN, area.y + MARGIN)

    def _move(self, container: str, right: float, down: float) -> None:
        inside = {each.id for each in self.contents.get(container, ())}
        for id in inside:
            area = self.areas[id]
            self.areas[id] = replace(area, x=area.x + right, y=area.y + down)
            self._move(id, right, down)
        for _number, flow in (each for id in inside for each in self.flows.get(id, ())):
            if flow.id in self.lines:
                self.lines[flow.id] = tuple((x + right, y + down) for x, y in self.lines[flow.id])

    def _attach(self, nodes: Sequence[BpmnNode]) -> None:
        count: dict[str, int] = {}
        for each in nodes:
            if each.host and each.host in self.areas:
                self.areas[each.id] = _on_edge(self.areas[each.host], count.get(each.host, 0))
                count[each.host] = count.get(each.host, 0) + 1

    def _place_lanes(
        self, pool: BpmnLane | None, lanes: Sequence[BpmnLane], nodes: Sequence[BpmnNode], left: float, top: float
    ) -> tuple[float, float]:
        """Place the nodes of a block in bands, and return the end of the block. The flows decide about columns."""
        below: dict[str, list[BpmnLane]] = {each.id: [] for each in lanes}
        for each in lanes:
            if (around := below.get(each.parent or "")) is not None:
                around.append(each)
        bands = [each for each in lanes if not below[each.id]]
        levels = {each.id: self._level(each) - bool(pool) for each in lanes}
        start = left + HEADER * max(levels.values()) + MARGIN
        _right, _bottom = self._place_free(nodes, start, 0)
        fallback = bands[0].id
        homes = {each.id: self._band(each.lane, below, fallback) for each in nodes}
        members: dict[str, list[BpmnNode]] = {}
        for node in nodes:
            for _number, flow in self.flows.get(node.id, ()):
                self.lines.pop(flow.id, None)
            if not node.host:
                members.setdefault(homes[node.id], []).append(node)
        right = max([start, *(self.areas[each.id].x + self.areas[each.id].width for each in nodes)]) + MARGIN
        bottom = top
        for band in bands:
            height = self._stack(members.get(band.id, []), bottom + MARGIN) + 2 * MARGIN
            shift = left + HEADER * (levels[band.id] - 1)
            self.areas[band.id] = Area(shift, bottom, right - shift, height)
            bottom += height
        self._attach(nodes)
        for lane in sorted((each for each in lanes if below[each.id]), key=lambda each: -levels[each.id]):
            inner = [self.areas[each.id] for each in below[lane.id]]
            shift, first = left + HEADER * (levels[lane.id] - 1), min(each.y for each in inner)
            end = max(each.y + each.height for each in inner)
            self.areas[lane.id] = Area(shift, first, right - shift, end - first)
        return bottom, right

    def _level(self, lane: BpmnLane) -> int:
        level, above = 1, lane.parent
        while above is not None:
            level, above = level + 1, self.lanes[above].parent
        return level

    def _band(self, lane: str | None, below: Mapping[str, Sequence[BpmnLane]], fallback: str) -> str:
        """Return the innermost lane for a node; a node of an outer lane goes into its first inner lane."""
        while lane is not None and below.get(lane):
            lane = below[lane][0].id
        return lane if lane is not None and lane in below else fallback

    def _stack(self, nodes: Sequence[BpmnNode], top: float) -> float:
        """Place nodes of a band in as few rows as possible without changing their columns; return the height."""
        heights: list[float] = []
        chosen: list[tuple[str, int]] = []
        # Rows by the ends of their last nodes, and the numbers of rows with nothing at this column or behind it.
        taken: list[tuple[float, int]] = []
        free: list[int] = []
        for each in sorted(nodes, key=lambda node: self.areas[node.id].x):
            area = self.areas[each.id]
            while taken and taken[0][0] <= area.x:
                heappush(free, heappop(taken)[1])
            row = heappop(free) if free else len(heights)
            if row == len(heights):
                heights.append(0)
            heappush(taken, (area.x + area.width + 10, row))
            heights[row] = max(heights[row], area.height + (LABEL if each.type in EVENT_TYPES | GATEWAY_TYPES else 0))
            chosen.append((each.id, row))
        starts = [top + before + 20 * number for number, before in enumerate(accumulate(heights, initial=0.0))]
        for id, row in chosen:
            area = self.areas[id]
            y = starts[row] + (heights[row] - area.height) / 2
            self.areas[id] = replace(area, y=y)
            self._move(id, 0, y - area.y)
        return max(sum(heights) + 20 * max(len(heights) - 1, 0), TASK_SIZE[1])


def _beside_others(model: BpmnModel) -> dict[str, Area]:
    """Return places for the nodes and lanes that a drawn diagram does not show yet."""
    known = {each.id: each.area for each in model.nodes if each.area}
    before: dict[str, list[str]] = {}
    for flow in model.flows:
        before.setdefault(flow.target, []).append(flow.source)
    found: dict[str, Area] = {}
    inner: dict[str | None, list[str]] = {}
    rooms: dict[str | None, TakenRoom] = {}
    for each in model.nodes:
        inner.setdefault(each.container, []).append(each.id)
        if each.area:
            rooms.setdefault(each.container, TakenRoom()).add(each.area)
    waiting = [each for each in model.nodes if each.id not in known]
    attached: dict[str, int] = {}
    for node in sorted(waiting, key=lambda each: (bool(each.host), each.id not in before)):
        inside = [known[each] for each in inner.get(node.id, ()) if each in known]
        room = rooms.setdefault(node.container, TakenRoom())
        if node.host and node.host in known:
            area = _on_edge(known[node.host], attached.get(node.host, 0))
            attached[node.host] = attached.get(node.host, 0) + 1
        elif inside:
            area = around(inside) or Area(0, 0, *TASK_SIZE)
        else:
            previous = next((known[id] for id in before.get(node.id, ()) if id in known), None)
            area = room.free(_wanted_place(node, previous, room, known))
        found[node.id] = known[node.id] = area
        room.add(area)
    return found | _around_members(model, known)


def _wanted_place(node: BpmnNode, previous: Area | None, room: TakenRoom, known: Mapping[str, Area]) -> Area:
    """Return the place behind a predecessor, or below everything."""
    width, height = _size(node)
    if previous:
        return Area(previous.x + previous.width + ROOM, previous.middle[1] - height / 2, width, height)
    if node.container is not None and node.container in known and room.is_empty:
        return Area(known[node.container].x + MARGIN, known[node.container].y + MARGIN, width, height)
    if not room.is_empty:
        return Area(room.left, room.bottom + 20, width, height)
    return Area(0, max((each.y + each.height for each in known.values()), default=0) + ROOM, width, height)


def _around_members(model: BpmnModel, known: Mapping[str, Area]) -> dict[str, Area]:
    """Return areas of lanes without bounds: around what they contain, innermost lanes first."""
    areas = {each.id: each.area for each in model.lanes if each.area}
    found: dict[str, Area] = {}
    inside: dict[str | None, list[str]] = {}
    for each in model.nodes:
        inside.setdefault(each.lane, []).append(each.id)
    below: dict[str | None, list[str]] = {}
    for other in model.lanes:
        below.setdefault(other.parent, []).append(other.id)
    bottom = max([each.y + each.height for each in (*known.values(), *areas.values())], default=0.0)
    for lane in reversed(model.lanes):
        if lane.id in areas:
            continue
        members = [known[id] for id in inside.get(lane.id, ()) if id in known]
        members += [areas[id] for id in below.get(lane.id, ()) if id in areas]
        area = around(members)
        if area is None:
            area, bottom = Area(0, bottom + ROOM, 600, 120), bottom + ROOM + 120
        found[lane.id] = areas[lane.id] = area
    return found
