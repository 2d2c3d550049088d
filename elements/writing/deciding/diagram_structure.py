"""Rules for the structure of a diagram: containers and hosts of shapes, and lanes inside each other (D270)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from elements.reading.diagrams.drawings import DrawnLane, DrawnShape
from elements.sizes.limits import NESTING
from elements.writing.stored import Ancestry
from repository_site.core.wording import listed, printable

# Id of a shape or a lane, name of the property that is wrong, and the problem.
StructureProblem = tuple[str, str, str]
MOST_NAMED = 5
"""Lanes that a problem names at most."""


def structure_problems(shapes: Sequence[DrawnShape], lanes: Sequence[DrawnLane]) -> Iterator[StructureProblem]:
    known_shapes, known_lanes = {each.shape for each in shapes}, {each.lane for each in lanes}
    for each in shapes:
        if each.lane is not None and each.lane not in known_lanes:
            yield each.shape, "lane", unknown_lane(each.lane, [other.lane for other in lanes])
        for name, other in (("container", each.container), ("attachedTo", each.host)):
            if other is not None and other not in known_shapes:
                yield each.shape, name, _("the diagram has no shape %(id)s") % {"id": other}
    for lane in lanes:
        if lane.parent is not None and lane.parent not in known_lanes:
            yield lane.lane, "parent", unknown_lane(lane.parent, [other.lane for other in lanes if other is not lane])
    containers = {each.shape: each.container for each in shapes}
    yield from _nesting_problems(
        containers, "container", lambda other: _("%(id)s is the shape itself or inside it") % {"id": other}
    )
    hosts = {each.shape: each.host for each in shapes}
    yield from _nesting_problems(
        hosts, "attachedTo", lambda other: _("%(id)s is the shape itself or attached to it") % {"id": other}
    )
    parents = {each.lane: each.parent for each in lanes}
    yield from _nesting_problems(
        parents, "parent", lambda other: _("%(id)s is the lane itself or inside it") % {"id": other}
    )


def unknown_lane(name: str, known: Sequence[str]) -> str:
    """Return the problem of a lane that a diagram does not have, with lanes to choose from."""
    words = {"id": printable(name, 80), "known": listed(known[:MOST_NAMED], _("or")) if known else ""}
    if not known:
        return (
            _("the diagram has no lane %(id)s and no other lanes; leave it out, or replace the whole diagram") % words
        )
    if len(known) > MOST_NAMED:
        return _("the diagram has no lane %(id)s; choose one of its lanes, such as %(known)s") % words
    return _("the diagram has no lane %(id)s; choose %(known)s") % words


def _nesting_problems(
    outer: Mapping[str, str | None], name: str, cycle: Callable[[str | None], str]
) -> Iterator[StructureProblem]:
    ancestry = Ancestry(dict(outer), {})
    in_cycles = ancestry.in_cycles()
    levels: dict[str, int] = {}
    for each, other in outer.items():
        if each in in_cycles:
            yield each, name, cycle(other)
        elif problem := NESTING.problem(_level(each, outer, in_cycles, levels)):
            yield each, name, problem


def _level(each: str, outer: Mapping[str, str | None], in_cycles: set[str], levels: dict[str, int]) -> int:
    """Return the level of a shape or lane; each is visited once."""
    path: list[str] = []
    current: str | None = each
    while current is not None and current not in levels and current in outer and current not in in_cycles:
        path.append(current)
        current = outer[current]
    level = levels.get(current or "", 0)
    for one in reversed(path):
        level += 1
        levels[one] = level
    return level
