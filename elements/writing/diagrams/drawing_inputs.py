"""Items of a request that draws, and a whole diagram to draw, as values checked for their form only (D17, D272)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from elements.diagrams.geometry import NotDrawable, ShapeBounds, read_bounds
from elements.writing.diagrams.wanted_diagrams import (
    KEPT,
    Unmentioned,
    WantedDiagram,
    WantedFlow,
    WantedLane,
    WantedShape,
)
from elements.writing.findings import Findings
from elements.writing.inputs import InputReader, ReferenceInput
from repository_site.core.problems import Unreadable
from repository_site.core.wording import GUID, listed, printable

MAX_INDEX = 2**31 - 1
T = TypeVar("T")
# Index of an item of the request, or id of a shape or lane.
ShapeName = int | str
INDEXES = "expected a list of whole numbers, such as [0, 1]"
NAMES = "expected a list of indexes or ids of shapes, such as [0, 1]"
NAME = "expected the index of an item, such as 0, or the id of an existing one"
SHAPE_MEMBERS = ("index", "id", "predecessors", "bounds", "lane", "container", "attachedTo", "labels")
# Members that make no sense if the request has all flows anyway.
REWIRING = ("replacePredecessors", "removePredecessors")
LANE_MEMBERS = ("index", "id", "name", "element", "parent", "isPool", "bounds")


@dataclass(slots=True)
class ItemInput:
    """A shape to draw, or (with `shape` and without an element) an existing shape to connect."""

    place: str
    index: int | None = None
    shape: str | None = None
    predecessors: list[ShapeName] = field(default_factory=list)
    element: ReferenceInput | None = None
    bounds: ShapeBounds | Unmentioned | None = KEPT
    lane: ShapeName | Unmentioned | None = KEPT
    container: ShapeName | Unmentioned | None = KEPT
    host: ShapeName | Unmentioned | None = KEPT
    labels: dict[ShapeName, Any] = field(default_factory=dict)
    """Texts by predecessor."""
    replaces_predecessors: bool = False
    removed_predecessors: list[ShapeName] = field(default_factory=list)
    rewires: bool = False
    """The item has members that change single flows."""

    def named_shapes(self) -> Iterator[tuple[str, ShapeName]]:
        """Yield each member that names a shape, with the name."""
        yield from (("predecessors", each) for each in self.predecessors)
        yield from (("removePredecessors", each) for each in self.removed_predecessors)
        for name, other in (("container", self.container), ("attachedTo", self.host)):
            if other is not None and not isinstance(other, Unmentioned):
                yield name, other

    def wanted(self) -> WantedShape:
        place = f"{self.place}: shapeInfo"
        return WantedShape(
            str(self.index),
            place,
            self.shape,
            self.element,
            [WantedFlow(str(each), self.labels.get(each, KEPT)) for each in dict.fromkeys(self.predecessors)],
            self.bounds,
            _text(self.lane),
            _text(self.container),
            _text(self.host),
        )


class ItemReader:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.inputs = InputReader(findings)

    def items(self, document: Any) -> list[ItemInput]:
        return self._items(document, ("count", "values"), self.element)

    def diagram(self, document: Any) -> WantedDiagram:
        """Read the body of a request that replaces a diagram."""
        items = self._items(document, ("count", "values", "lanes"), self.described_element)
        lanes = document.get("lanes") if isinstance(document, dict) else None
        if lanes is not None and not isinstance(lanes, list):
            self.wrong("lanes", 'expected a list of lanes, such as [{"index": 0, "name": {"1033": "Sales"}}]')
            lanes = None
        self.name_alike(items)
        for item in items:
            if item.rewires:
                text = f"{listed(REWIRING, 'and')} are not allowed here; predecessors has all of them"
                self.wrong(f"{item.place}: shapeInfo", text)
        found = None if lanes is None else [self.lane(each, f"lanes[{index}]") for index, each in enumerate(lanes)]
        return WantedDiagram([each.wanted() for each in items], found)

    def name_alike(self, items: list[ItemInput]) -> None:
        """Name stored shapes by the index of their item, so that a predecessor and its label can be named
        differently."""
        indexes: dict[ShapeName, ShapeName] = {
            each.shape: each.index for each in items if each.shape and each.index is not None
        }
        for item in items:
            item.predecessors = [indexes.get(each, each) for each in item.predecessors]
            given, item.labels = item.labels, {}
            for name, texts in given.items():
                before = indexes.get(name, name)
                place = f"{item.place}: shapeInfo.labels"
                if before not in item.predecessors:
                    self.wrong(place, f"{name} is not among the predecessors of the item")
                if before in item.labels:
                    self.wrong(place, f"two labels for the flow from {name}; send one")
                item.labels[before] = texts

    def _items(
        self, document: Any, allowed: tuple[str, ...], read: Callable[[Any, str], ReferenceInput | None]
    ) -> list[ItemInput]:
        if not isinstance(document, dict) or not isinstance(document.get("values"), list):
            self.wrong("body", 'expected an object with a list of values, such as {"values": [{"shapeInfo": {…}}]}')
            return []
        for key in document.keys() - {*allowed}:
            self.wrong("body", f"unknown field {printable(key, 40)!r}; allowed: {listed(allowed, 'and')}")
        count, found = document.get("count"), document["values"]
        if count is not None and (count is True or count != len(found)):
            text = f"is {printable(str(count), 40)}, but the list has {len(found)} values; correct it or leave it out"
            self.wrong("count", text)
        return [self.item(each, f"values[{index}]", read) for index, each in enumerate(found)]

    def item(self, document: Any, place: str, read: Callable[[Any, str], ReferenceInput | None]) -> ItemInput:
        found = ItemInput(place)
        if not isinstance(document, dict) or not isinstance(document.get("shapeInfo"), dict):
            self.wrong(place, 'expected an object with shapeInfo, such as {"shapeInfo": {"index": 0}}')
            return found
        for key in document.keys() - {"shapeInfo", "element"}:
            self.wrong(place, f"unknown field {printable(key, 40)!r}; allowed: shapeInfo and element")
        self.shape_info(document["shapeInfo"], found)
        element = document.get("element")
        if element is not None:
            found.element = read(element, f"{place}: element")
        return found

    def element(self, document: Any, place: str) -> ReferenceInput | None:
        return self.inputs.drawn(document, place)

    def described_element(self, document: Any, place: str) -> ReferenceInput | None:
        """Read an element that may be the one that a shape shows already, with values to change."""
        found = self.inputs.drawn(document, place)
        if found is not None and isinstance(document, dict) and found.names_something:
            found.attributes = self.inputs.attributes(document.get("attributes"), place)
            found.related = self.inputs.related(document.get("related"), place)
        return found

    def shape_info(self, info: dict[str, Any], found: ItemInput) -> None:
        place = f"{found.place}: shapeInfo"
        self.refuse_unknown(info, (*SHAPE_MEMBERS, *REWIRING), place)
        found.rewires = not info.keys().isdisjoint(REWIRING)
        if _is_index(info.get("index")):
            found.index = info["index"]
        else:
            self.wrong(f"{place}.index", "expected a whole number, such as 0")
        found.shape = self.guid(info.get("id"), f"{place}.id")
        before = info.get("predecessors")
        if before is not None and not isinstance(before, list):
            self.wrong(f"{place}.predecessors", INDEXES)
        else:
            found.predecessors = self.names(before or [], f"{place}.predecessors", INDEXES)
        self.drawing(info, found, place)

    def drawing(self, info: dict[str, Any], found: ItemInput, place: str) -> None:
        """Read the members that say how and where a shape is drawn, and how it is rewired."""
        found.bounds = self.bounds(info, place)
        found.lane = self.name(info, "lane", place)
        found.container = self.name(info, "container", place)
        found.host = self.name(info, "attachedTo", place)
        found.removed_predecessors = self.names(
            info.get("removePredecessors") or [], f"{place}.removePredecessors", NAMES
        )
        replaces = info.get("replacePredecessors")
        if replaces is not None and not isinstance(replaces, bool):
            self.wrong(f"{place}.replacePredecessors", "expected true or false")
        found.replaces_predecessors = replaces is True
        labels = info.get("labels")
        if labels is not None and not isinstance(labels, dict):
            text = 'expected texts by predecessor and culture, such as {"0": {"1033": "yes"}}'
            self.wrong(f"{place}.labels", text)
            return
        for key, texts in (labels or {}).items():
            name = int(key) if key.isascii() and key.isdigit() and len(key) < 11 else key
            if self.names([name], f"{place}.labels", NAMES):
                found.labels[name.lower() if isinstance(name, str) else name] = {} if texts is None else texts

    def lane(self, document: Any, place: str) -> WantedLane:
        if not isinstance(document, dict):
            self.wrong(place, 'expected a lane, such as {"index": 0, "name": {"1033": "Sales"}}')
            return WantedLane(place, place)
        self.refuse_unknown(document, LANE_MEMBERS, place)
        if not _is_index(document.get("index")):
            self.wrong(f"{place}.index", "expected a whole number, such as 0")
        is_pool = document.get("isPool")
        if is_pool is not None and not isinstance(is_pool, bool):
            self.wrong(f"{place}.isPool", "expected true or false")
        element: ReferenceInput | Unmentioned | None = KEPT
        if "element" in document:
            given = document["element"]
            element = None if given is None else self.inputs.reference(given, f"{place}: element")
        return WantedLane(
            str(document.get("index")),
            place,
            self.guid(document.get("id"), f"{place}.id"),
            document.get("name") or {} if "name" in document else KEPT,
            element,
            _text(self.name(document, "parent", place)),
            bool(is_pool) if "isPool" in document else KEPT,
            self.bounds(document, place),
        )

    def bounds(self, document: dict[str, Any], place: str) -> ShapeBounds | Unmentioned | None:
        if "bounds" not in document:
            return KEPT
        try:
            return None if document["bounds"] is None else read_bounds(document["bounds"])
        except NotDrawable as problem:
            self.wrong(f"{place}.bounds", str(problem))
            return KEPT

    def name(self, document: dict[str, Any], member: str, place: str) -> ShapeName | Unmentioned | None:
        if member not in document:
            return KEPT
        value = document[member]
        found = None if value is None else self.names([value], f"{place}.{member}", NAME)
        return found[0] if found else None

    def names(self, values: Any, place: str, expected: str) -> list[ShapeName]:
        if not isinstance(values, list):
            self.wrong(place, expected)
            return []
        for each in values:
            if isinstance(each, str) and not GUID.fullmatch(each):
                self.wrong(place, f"{printable(each, 80)!r} is not a GUID")
                return []
            if not isinstance(each, str) and not _is_index(each):
                self.wrong(place, expected)
                return []
        return [each.lower() if isinstance(each, str) else each for each in values]

    def guid(self, value: Any, place: str) -> str | None:
        if isinstance(value, str) and GUID.fullmatch(value):
            return value.lower()
        if value is not None:
            self.wrong(place, f"{printable(str(value), 80)!r} is not a GUID")
        return None

    def refuse_unknown(self, document: dict[str, Any], known: tuple[str, ...], place: str) -> None:
        for key in document.keys() - {*known}:
            hint = self.findings.hint(key, known)
            self.wrong(place, f"unknown field {printable(key, 40)!r}; allowed: {listed(known, 'and')}{hint}")

    def wrong(self, place: str, text: str) -> None:
        self.findings.add(Unreadable, place, text)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INDEX


def _text(name: ShapeName | Unmentioned | None) -> str | Unmentioned | None:
    return str(name) if isinstance(name, int | str) else name
