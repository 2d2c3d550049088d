"""Items of a request that draws, as values checked for their form only (D17)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from elements.writing.findings import Findings
from elements.writing.inputs import InputReader, ReferenceInput
from repository_site.core.problems import Unreadable
from repository_site.core.wording import GUID, printable

MAX_INDEX = 2**31 - 1


@dataclass(slots=True)
class ItemInput:
    """A shape to draw, or (with `shape` and without an element) an existing shape to connect."""

    place: str
    index: int | None = None
    shape: str | None = None
    predecessors: list[int] = field(default_factory=list)
    element: ReferenceInput | None = None


class ItemReader:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.inputs = InputReader(findings)

    def items(self, document: Any) -> list[ItemInput]:
        if not isinstance(document, dict) or not isinstance(document.get("values"), list):
            self.wrong("body", 'expected an object with a list of values, such as {"values": [{"shapeInfo": {…}}]}')
            return []
        for key in document.keys() - {"count", "values"}:
            self.wrong("body", f"unknown field {printable(key, 40)!r}; allowed: count and values")
        count, found = document.get("count"), document["values"]
        if count is not None and (count is True or count != len(found)):
            text = f"is {printable(str(count), 40)}, but the list has {len(found)} values; correct it or leave it out"
            self.wrong("count", text)
        return [self.item(each, f"values[{index}]") for index, each in enumerate(found)]

    def item(self, document: Any, place: str) -> ItemInput:
        found = ItemInput(place)
        if not isinstance(document, dict) or not isinstance(document.get("shapeInfo"), dict):
            self.wrong(place, 'expected an object with shapeInfo, such as {"shapeInfo": {"index": 0}}')
            return found
        for key in document.keys() - {"shapeInfo", "element"}:
            self.wrong(place, f"unknown field {printable(key, 40)!r}; allowed: shapeInfo and element")
        self.shape_info(document["shapeInfo"], found)
        element = document.get("element")
        if element is not None:
            found.element = self.inputs.reference(element, f"{place}: element")
        return found

    def shape_info(self, info: dict[str, Any], found: ItemInput) -> None:
        place = f"{found.place}: shapeInfo"
        for key in info.keys() - {"index", "id", "predecessors"}:
            self.wrong(place, f"unknown field {printable(key, 40)!r}; allowed: index, id and predecessors")
        if _is_index(info.get("index")):
            found.index = info["index"]
        else:
            self.wrong(f"{place}.index", "expected a whole number, such as 0")
        shape = info.get("id")
        if isinstance(shape, str) and GUID.fullmatch(shape):
            found.shape = shape.lower()
        elif shape is not None:
            self.wrong(f"{place}.id", f"{printable(str(shape), 80)!r} is not a GUID")
        before = info.get("predecessors")
        if before is not None and not (isinstance(before, list) and all(map(_is_index, before))):
            self.wrong(f"{place}.predecessors", "expected a list of whole numbers, such as [0, 1]")
        else:
            found.predecessors = list(before or [])

    def wrong(self, place: str, text: str) -> None:
        self.findings.add(Unreadable, place, text)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INDEX
