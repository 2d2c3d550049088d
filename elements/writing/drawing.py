"""Diagrams: drawing shapes, operation 11, and taking them away (D17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _

from elements.locks import Lock
from elements.reading.rows import (
    ShapeRow,
    VersionRow,
    read_predecessors,
    read_references,
    read_shapes,
    read_versions,
)
from elements.writing import statements
from elements.writing.findings import Findings, Kind, no_element
from elements.writing.history import Action, Entry, deletion_entry, record
from elements.writing.inputs import InputReader, ReferenceInput
from elements.writing.obstacles import find_obstacles
from elements.writing.stored import lock_elements, lock_targets
from elements.writing.updating import OnLocked, Update, Writer, way_out
from facets.configuration import CompiledView
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound
from repository_site.core.wording import GUID, listed, printable

MAX_INDEX = 2**31 - 1


@dataclass(slots=True)
class ItemInput:
    """One item of a request: a shape to draw, or (with `shape` and no element) one to draw on from."""

    place: str
    index: int | None = None
    shape: str | None = None
    predecessors: list[int] = field(default_factory=list)
    element: ReferenceInput | None = None

    @property
    def is_anchor(self) -> bool:
        return self.shape is not None and self.element is None


class ItemReader:
    """The form of a request that draws; what is wrong joins the findings."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.inputs = InputReader(findings)

    def items(self, document: Any) -> list[ItemInput]:
        if not isinstance(document, dict) or not isinstance(document.get("values"), list):
            self.wrong("body", "expected an object with a list of values")
            return []
        for key in document.keys() - {"count", "values"}:
            self.wrong("body", f"unknown field {printable(key, 40)!r}; there are count and values")
        count = document.get("count")
        if count is not None and (count is True or count != len(document["values"])):
            self.wrong("count", f"is {printable(str(count), 40)}, but there are {len(document['values'])} values")
        return [self.item(each, f"values[{index}]") for index, each in enumerate(document["values"])]

    def item(self, document: Any, place: str) -> ItemInput:
        found = ItemInput(place)
        if not isinstance(document, dict) or not isinstance(document.get("shapeInfo"), dict):
            self.wrong(place, "expected an object with shapeInfo")
            return found
        for key in document.keys() - {"shapeInfo", "element"}:
            self.wrong(place, f"unknown field {printable(key, 40)!r}; there are shapeInfo and element")
        self.shape_info(document["shapeInfo"], found)
        element = document.get("element")
        if element is not None:
            found.element = self.inputs.reference(element, f"{place}: element")
        return found

    def shape_info(self, info: dict[str, Any], found: ItemInput) -> None:
        place = f"{found.place}: shapeInfo"
        for key in info.keys() - {"index", "id", "predecessors"}:
            self.wrong(place, f"unknown field {printable(key, 40)!r}; there are index, id and predecessors")
        if _is_index(info.get("index")):
            found.index = info["index"]
        else:
            self.wrong(f"{place}.index", "expected a whole number")
        shape = info.get("id")
        if isinstance(shape, str) and GUID.fullmatch(shape):
            found.shape = shape.lower()
        elif shape is not None:
            self.wrong(f"{place}.id", f"{printable(str(shape), 80)!r} is no GUID")
        before = info.get("predecessors")
        if before is not None and not (isinstance(before, list) and all(map(_is_index, before))):
            self.wrong(f"{place}.predecessors", "expected a list of whole numbers")
        else:
            found.predecessors = list(before or [])

    def wrong(self, place: str, text: str) -> None:
        self.findings.add(Kind.UNREADABLE, place, text)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INDEX


def draw(
    writer: Writer,
    view: CompiledView,
    owner: VersionRow,
    items: Sequence[ItemInput],
    findings: Findings,
    on_locked: OnLocked,
) -> list[str]:
    """The shape of each item, in the order of the request."""
    findings.raise_any()
    drawing = _Drawing(writer, view, findings)
    drawing.lock(owner, on_locked)
    drawing.prepare_items(items)
    findings.raise_any()
    return drawing.write(items)


class _Drawing(Update):
    """New elements are made as an update makes them, with the diagram's element as their parent."""

    def lock(self, owner: VersionRow, on_locked: OnLocked) -> None:
        self.stored = lock_elements({owner.element}, {owner.version})
        row = self.stored.versions.get(owner.version)
        on_locked([row])
        if row is None:
            raise NotFound(no_element(owner.version))
        self.owner = row
        self.type = self.properties.types[row.type]
        self.shapes = read_shapes([row.version]).get(row.version, [])
        place = row.version
        if not self.type.has_diagram:
            self.findings.add(Kind.INVALID, place, _("a %(type)s has no diagram") % {"type": self.type.key})
        lock = self.lock_of(self.type, row)
        if lock in (Lock.ALL, Lock.DIAGRAM):
            text = _("the diagram cannot be changed in the state %(state)s; %(way_out)s")
            words = {"state": row.state, "way_out": way_out([row.category])}
            self.findings.add(Kind.CONFLICT, place, text % words)
        elif lock is not Lock.NONE:
            self.forbid(place, self.type, lock)

    def prepare_items(self, items: Sequence[ItemInput]) -> None:
        named = [each.element for each in items if each.element is not None]
        self.targets = lock_targets(
            {each.id for each in named if each.id}, {each.version for each in named if each.version and not each.id}
        )
        self.elements = [self._element(item) for item in items]
        self._check_indexes(items)

    def _check_indexes(self, items: Sequence[ItemInput]) -> None:
        known: dict[int, ItemInput] = {}
        there = {shape.shape for shape in self.shapes}
        for item in items:
            place = f"{item.place}: shapeInfo"
            if item.index in known:
                self.findings.add(Kind.INVALID, f"{place}.index", f"{item.index} stands in the request twice")
            if item.index is not None:
                known[item.index] = item
            if item.shape is not None and item.shape not in there:
                self.findings.add(Kind.INVALID, f"{place}.id", f"the diagram has no shape {item.shape}")
            if item.shape is not None and item.element is not None:
                self.findings.add(
                    Kind.INVALID, item.place, "an existing shape keeps its element; leave out one of the two"
                )
            if item.shape is None and item.element is None:
                self.findings.add(Kind.INVALID, item.place, "expected an element to draw, or the id of a shape")
        for item in items:
            for before in item.predecessors:
                place = f"{item.place}: shapeInfo.predecessors"
                if before not in known:
                    self.findings.add(Kind.INVALID, place, f"no item of the request has the index {before}")
                elif before == item.index or (item.shape and item.shape == known[before].shape):
                    self.findings.add(Kind.INVALID, place, "a shape cannot precede itself")

    def _element(self, item: ItemInput) -> str | None:
        """The element that an item draws: one that is named, or one that is made."""
        reference = item.element
        if reference is None:
            return None
        if not reference.names_something:
            return self._made_for_diagram(reference)
        target = self.properties.named_target(reference, self.targets)
        if target is None:
            return None
        type = self.properties.type_of(target)
        if not self._can_be_drawn(type.key, reference.place):
            return None
        if reference.has_attributes:
            self.invalid(reference.place, "an element that is there already keeps its attributes; update it instead")
        if type.lives_in_diagrams:
            self.invalid(reference.place, f"{target.element} lives in a diagram already; make a new {type.key}")
            return None
        return target.element

    def _made_for_diagram(self, reference: ReferenceInput) -> str | None:
        type = self.properties.type_called(reference.type)
        if type is None or not self._can_be_drawn(type.key, reference.place):
            if type is None:
                self.invalid(
                    reference.place, f"expected the type of a new element: {listed(self.type.insertables, 'or')}"
                )
            return None
        if reference.attributes is None:
            self.invalid(reference.place, "expected the id of an element, or attributes for a new one")
            return None
        if not type.lives_in_diagrams and self.type.key not in type.parents:
            self.invalid(
                reference.place, f"a new {type.key} cannot stand below a {self.type.key}; name one that is there"
            )
            return None
        change = self.make(reference, type)
        if change is None:
            return None
        change.note("parent", None, None, self.owner.element)
        change.parent, change.is_moved = self.owner.element, True
        change.is_hidden = type.lives_in_diagrams and self.type.is_versioned
        return change.element

    def _can_be_drawn(self, key: str, place: str) -> bool:
        if key not in self.type.insertables or key not in self.view.types:
            allowed = [each for each in self.type.insertables if each in self.view.types]
            known = listed(allowed, "or") if allowed else "nothing"
            self.invalid(place, f"a {key} cannot be drawn here; this diagram takes {known}")
            return False
        return True

    def write(self, items: Sequence[ItemInput]) -> list[str]:
        self.write_changes()
        ids = {item.index: item.shape or str(uuid4()) for item in items}
        last = fetch("SELECT max(position) FROM elements_shape WHERE version_id = %s::uuid", [self.owner.version])[0][0]
        position = -1 if last is None else last
        drawn = []
        for item, element in zip(items, self.elements, strict=True):
            if element is not None:
                position += 1
                drawn.append((ids[item.index], self.owner.version, element, position))
        statements.insert_shapes(drawn)
        flows = [(ids[item.index], ids[before]) for item in items for before in dict.fromkeys(item.predecessors)]
        statements.insert_flows(flows)
        statements.touch_versions([self.owner.version], self.writer.author.now, self.writer.author.element)
        after = {
            "shapes": [{"shapeId": shape, "element": element} for shape, _, element, _ in drawn],
            "flows": [{"shapeId": shape, "predecessor": before} for shape, before in flows],
        }
        self._record({}, after)
        return [ids[item.index] for item in items]

    def _record(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        record(self.writer.author, [Entry(self.owner.element, self.owner.version, Action.DRAWN, before, after)])

    def erase(self, shape: ShapeRow) -> None:
        """What came before the shape comes before what came after it, so that the flow stays whole."""
        before = read_predecessors([shape.shape]).get(shape.shape, [])
        sql = "SELECT shape_id::text FROM elements_shapeflow WHERE predecessor_id = %s::uuid ORDER BY position, id"
        after = [row[0] for row in fetch(sql, [shape.shape])]
        statements.delete_shapes([shape.shape])
        joined = [(each, one) for each in after for one in before if each != one]
        statements.insert_flows(joined)
        if self._goes_with(shape):
            self._delete(shape.element)
        statements.touch_versions([self.owner.version], self.writer.author.now, self.writer.author.element)
        self._record(
            {"shapes": [{"shapeId": shape.shape, "element": shape.element}],
             "flows": [{"shapeId": shape.shape, "predecessor": each} for each in before]
             + [{"shapeId": each, "predecessor": shape.shape} for each in after]},
            {"flows": [{"shapeId": each, "predecessor": one} for each, one in joined]},
        )  # fmt: skip

    def _delete(self, element: str) -> None:
        related = read_references([element], None).get(element, {})
        for row in read_versions([element]).values():
            record(self.writer.author, [deletion_entry(self.properties.types[row.type].key, row, related)])
        statements.delete_elements([element])

    def _goes_with(self, shape: ShapeRow) -> bool:
        """It lives in diagrams, and this shape is the last that shows it."""
        if not self.lives_in_diagrams(shape):
            return False
        sql = "SELECT 1 FROM elements_shape WHERE element_id = %s::uuid AND id <> %s::uuid LIMIT 1"
        return not fetch(sql, [shape.element, shape.shape])

    def lives_in_diagrams(self, shape: ShapeRow) -> bool:
        return self.properties.type_of(self.targets[shape.element]).lives_in_diagrams

    def check_erasable(self, shape: ShapeRow) -> None:
        if self._goes_with(shape):
            for text in find_obstacles([shape.element], [shape.element], also_shapes=False):
                self.findings.add(Kind.CONFLICT, shape.shape, text)


def erase_shape(
    writer: Writer, view: CompiledView, owner: VersionRow, shape_id: str, findings: Findings, on_locked: OnLocked
) -> None:
    """Take a shape out of a diagram; an element that lives only there goes with it."""
    drawing = _Drawing(writer, view, findings)
    drawing.lock(owner, on_locked)
    findings.raise_any()
    shape = next((each for each in drawing.shapes if each.shape == shape_id), None)
    if shape is None:
        words = {"shape": shape_id, "id": owner.version}
        raise NotFound(_("There is no shape %(shape)s in the diagram of %(id)s.") % words)
    drawing.targets = lock_targets({shape.element}, ())
    if drawing.lives_in_diagrams(shape):
        drawing.targets = lock_targets({shape.element}, (), to_delete=True)
    drawing.check_erasable(shape)
    findings.raise_any()
    drawing.erase(shape)
