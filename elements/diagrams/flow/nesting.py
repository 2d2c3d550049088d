"""Structure of a diagram: containers with their shapes, hosts with the events at their edges, and flows by level.

A level is the key of a container, or empty for the diagram itself. References that make no sense, such as a shape that
contains itself, are ignored, so every diagram can be drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from elements.diagrams.drawables import EVENTS, DrawableFlow, DrawableShape, Drawing

# Shapes in deeper containers are drawn in the container of this depth.
MAX_DEPTH = 12
TOP = ""


@dataclass(frozen=True, slots=True)
class LevelFlow:
    """A flow between two shapes of one level. `port` is the attached event where it leaves its source."""

    flow: DrawableFlow
    source: str
    target: str
    port: str


@dataclass(frozen=True, slots=True)
class Nesting:
    shapes: Mapping[str, DrawableShape]
    paths: Mapping[str, tuple[str, ...]]
    """Keys of the containers around each shape, from the outside."""
    hosts: Mapping[str, str]
    """Hosts by attached event."""
    members: Mapping[str, Sequence[DrawableShape]]
    """Shapes by level, without attached events."""
    attached: Mapping[str, Sequence[DrawableShape]]

    @property
    def levels(self) -> list[str]:
        """Levels from the innermost to the diagram itself."""
        return [*sorted((each for each in self.members if each), key=self._depth, reverse=True), TOP]

    def _depth(self, level: str) -> tuple[int, int]:
        return len(self.paths[level]), self.shapes[level].rank

    def is_container(self, key: str) -> bool:
        return key in self.members

    def flows(self, flows: Sequence[DrawableFlow]) -> Mapping[str, Sequence[LevelFlow]]:
        """Return the flows by the innermost level that contains both ends. An end further inside is replaced by its
        container."""
        found: dict[str, list[LevelFlow]] = {}
        for flow in flows:
            if flow.source in self.shapes and flow.target in self.shapes:
                source, target = (self._steps(each) for each in (flow.source, flow.target))
                shared = sum(1 for _ in _common(source[:-1], target[:-1]))
                is_host = source[shared] == self.hosts.get(flow.source)
                level = source[shared - 1] if shared else TOP
                port = flow.source if is_host else ""
                found.setdefault(level, []).append(LevelFlow(flow, source[shared], target[shared], port))
        return found

    def _steps(self, key: str) -> tuple[str, ...]:
        drawn = self.hosts.get(key, key)
        return *self.paths[drawn], drawn


def _common(one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    for first, second in zip(one, other, strict=False):
        if first != second:
            return
        yield first


def nest(drawing: Drawing) -> Nesting:
    shapes = {shape.key: shape for shape in sorted(drawing.shapes, key=lambda shape: (shape.rank, shape.key))}
    hosts = {
        shape.key: shape.host
        for shape in shapes.values()
        if shape.kind in EVENTS and shape.host in shapes and shapes[shape.host].is_step
    }
    paths = {key: _path(key, shapes) for key in shapes}
    members: dict[str, list[DrawableShape]] = {TOP: []}
    attached: dict[str, list[DrawableShape]] = {}
    for key, shape in shapes.items():
        if key in hosts:
            attached.setdefault(hosts[key], []).append(shape)
        else:
            members.setdefault(paths[key][-1] if paths[key] else TOP, []).append(shape)
    return Nesting(shapes, paths, hosts, members, attached)


def _path(key: str, shapes: Mapping[str, DrawableShape]) -> tuple[str, ...]:
    found: list[str] = []
    around = shapes[key].container
    while around in shapes and shapes[around].is_step and around != key and around not in found:
        found.append(around)
        around = shapes[around].container
    # A shape on a cycle of containers is drawn in the diagram itself, and so is what leads to the cycle.
    if around in found or around == key:
        return ()
    return tuple(reversed(found))[:MAX_DEPTH]
