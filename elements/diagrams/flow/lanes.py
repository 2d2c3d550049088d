"""Lanes of a diagram: its own, or else one for each role; shapes without one follow their neighbours."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elements.diagrams.drawables import DrawableLane, Drawing
from elements.diagrams.flow.nesting import TOP, Nesting

MAX_LANE_DEPTH = 5


@dataclass(frozen=True, slots=True)
class LaneLeaf:
    """A lane without lanes below it. `path` are the lanes around it from the outside, and itself."""

    key: str
    path: tuple[DrawableLane, ...]


@dataclass(frozen=True, slots=True)
class LaneOrder:
    lanes: Sequence[LaneLeaf]
    number: Mapping[str, int]
    """Number of the lane by shape of the diagram itself."""

    @property
    def depth(self) -> int:
        return max((len(lane.path) for lane in self.lanes), default=0)


def lanes_of(drawing: Drawing, nesting: Nesting, without: str) -> LaneOrder:
    """Return the lanes of a diagram; `without` is the name of the lane for shapes that have none."""
    shapes = nesting.members[TOP]
    known = _tree(drawing.lanes)
    if known:
        chosen = {shape.key: _leaf(known, shape.lane) for shape in shapes}
    else:
        roles = dict.fromkeys(shape.notes.roles[0] for shape in shapes if shape.notes.roles)
        known = [LaneLeaf(name, (DrawableLane(name, name),)) for name in roles]
        chosen = {shape.key: shape.notes.roles[0] if shape.notes.roles else "" for shape in shapes}
    pairs = [(each.source, each.target) for each in nesting.flows(drawing.flows).get(TOP, ())]
    _follow(chosen, pairs)
    _follow(chosen, [(target, source) for source, target in pairs])
    if any(not lane for lane in chosen.values()) or not known:
        known = [*known, LaneLeaf("", (DrawableLane("", without),))]
    number = {lane.key: place for place, lane in enumerate(known)}
    return LaneOrder(known, {shape: number[lane] for shape, lane in chosen.items()})


def _tree(lanes: Sequence[DrawableLane]) -> list[LaneLeaf]:
    """Return the innermost lanes in the order of the tree."""
    by_key = {lane.key: lane for lane in lanes}
    paths = {key: _lane_path(lane, by_key) for key, lane in by_key.items()}
    below: dict[str, list[DrawableLane]] = {}
    for lane in lanes:
        path = paths[lane.key]
        below.setdefault(path[-2].key if len(path) > 1 else "", []).append(lane)
    found: list[LaneLeaf] = []
    waiting = list(reversed(below.get("", ())))
    while waiting:
        lane = waiting.pop()
        if lane.key in below:
            waiting.extend(reversed(below[lane.key]))
        else:
            found.append(LaneLeaf(lane.key, paths[lane.key]))
    return found


def _lane_path(lane: DrawableLane, by_key: Mapping[str, DrawableLane]) -> tuple[DrawableLane, ...]:
    path = [lane]
    while path[-1].parent in by_key and by_key[path[-1].parent] not in path and len(path) < MAX_LANE_DEPTH:
        path.append(by_key[path[-1].parent])
    # The outermost lane of a cycle, or of a path that is too long, has no parent.
    return (lane,) if path[-1].parent in by_key else tuple(reversed(path))


def _leaf(lanes: Sequence[LaneLeaf], key: str) -> str:
    """Return the lane, or the first one below it."""
    return next((lane.key for lane in lanes if key and any(each.key == key for each in lane.path)), "")


def _follow(chosen: dict[str, str], pairs: Iterable[tuple[str, str]]) -> None:
    """Let each shape without a lane take that of the nearest shape before it."""
    after: dict[str, list[str]] = {}
    for source, target in pairs:
        after.setdefault(source, []).append(target)
    waiting = deque(shape for shape, lane in chosen.items() if lane)
    while waiting:
        shape = waiting.popleft()
        for other in after.get(shape, ()):
            if not chosen[other]:
                chosen[other] = chosen[shape]
                waiting.append(other)
