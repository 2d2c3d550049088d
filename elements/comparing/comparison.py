"""Differences between two sides of an element as data, in wire form (D568)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import orjson

from elements import derived
from elements.comparing.differences import (
    Drawn,
    FlowDifference,
    Mark,
    Piece,
    ValueDifference,
    compare_diagrams,
    compare_flows,
    compare_lists,
    compare_texts,
    compare_values,
)
from elements.comparing.sides import KeyedDiagram, Side, compared_contexts, items, keyed_diagram
from elements.reading.assembly.assembler import Reader, Wire, add_part
from elements.reading.assembly.attributes import INVARIANT, Values
from elements.reading.assembly.projection import ATTRIBUTES, DERIVED, whole_projection
from elements.reading.bounds import BoundedWriter
from elements.reading.rows import Identity
from elements.values.markup_text import markup_text
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute
from repository_site.core.matching import Effort

# Attributes in columns that people set; all others follow from the version itself.
COMPARED_COLUMNS = frozenset({derived.STEREOTYPE, "validFrom", "validUntil"})
TEXTS = frozenset({DataType.SINGLE_LINE_TEXT, DataType.MULTI_LINE_TEXT, DataType.HTML})
FROM, TO = "from", "to"
ByMark = dict[str, list[orjson.Fragment]]


class ElementComparison:
    """Writes what differs between two sides of an element. Parts without a difference are left out.

    `select` names the properties to compare. With an `effort`, texts are compared by word.
    """

    def __init__(
        self, reader: Reader, old: Side, new: Side, select: Collection[str] | None = None, effort: Effort | None = None
    ) -> None:
        self._reader, self._effort = reader, effort
        self._old, self._new = old, new
        self._type = reader.types[new.row.type]
        self._properties = {each.key: each for each in self._type.properties if select is None or each.key in select}
        self._write = BoundedWriter()

    def wire(self) -> Wire:
        old, new = self._old, self._new
        found: Wire = {FROM: self._head(old), TO: self._head(new)}
        if old.row.state != new.row.state:
            found["state"] = {FROM: old.row.state, TO: new.row.state}
        add_part(found, "place", self._place())
        add_part(found, ATTRIBUTES, self._attributes())
        add_part(found, "references", self._references())
        add_part(found, "children", self._list(old.children, new.children))
        before, after = _diagram(old), _diagram(new)
        add_part(found, "shapes", self._shapes(before, after))
        add_part(found, "flows", self._flows(before, after))
        return found

    def _head(self, side: Side) -> Wire:
        row = side.row
        found = self._named(side, row.identity)
        if row.major is not None:
            number = {INVARIANT: f"{row.major}.{row.minor}"}
            found[ATTRIBUTES] = {**found.get(ATTRIBUTES, {}), derived.VERSION: number}
        return found

    def _named(self, side: Side, identity: Identity) -> Wire:
        return self._reader.named_reference(identity, side.name(identity))

    def _place(self) -> Wire | None:
        """Return both parents, null for one that is missing or that the caller must not see."""
        sides = {FROM: self._old, TO: self._new}
        parents = {name: side.identities.get(side.row.parent or "") for name, side in sides.items()}
        if self._old.row.parent == self._new.row.parent or not any(parents.values()):
            return None
        return {name: parent and self._named(sides[name], parent) for name, parent in parents.items()}

    def _attributes(self) -> Wire:
        shown = whole_projection(self._reader.configuration).types[self._new.row.type]
        compared = {
            name: each.attribute
            for name, each in self._properties.items()
            if each.attribute and (name not in DERIVED or name in COMPARED_COLUMNS)
        }

        def values(side: Side) -> dict[str, Values]:
            found = self._reader.writer.attributes(side.row, shown, has_authors=False)
            return {name: each for name, each in found.items() if name in compared}

        return {
            name: {culture: self._value(compared[name], each) for culture, each in changed.items()}
            for name, changed in compare_values(values(self._old), values(self._new)).items()
        }

    def _value(self, attribute: Attribute, difference: ValueDifference) -> Wire:
        found: Wire = {FROM: difference.old, TO: difference.new}
        if self._effort is not None and attribute.data_type in TEXTS:
            words = compare_texts(_text(attribute, difference.old), _text(attribute, difference.new), self._effort)
            found["words"] = {FROM: _pieces(words.old), TO: _pieces(words.new)}
        return found

    def _references(self) -> Wire:
        found: Wire = {}
        for context in sorted(compared_contexts(self._type)):
            if context in self._properties:
                add_part(found, context, self._list(self._old.targets(context), self._new.targets(context)))
        return found

    def _list(self, before: Sequence[Identity], after: Sequence[Identity]) -> ByMark:
        """Return what was added, removed, or moved to another place in the order."""
        found: ByMark = {}
        compared = compare_lists(*(items(each, lambda identity: identity.element) for each in (before, after)))
        removed = [each for each in compared.old if each.mark is Mark.REMOVED]
        for side, identities, marked in ((self._new, after, compared.new), (self._old, before, removed)):
            known = {each.element: each for each in identities}
            for each in marked:
                if each.mark is not Mark.SAME:
                    written = self._write(self._named(side, known[each.item.text]))
                    found.setdefault(each.mark.value, []).append(written)
        return found

    def _shapes(self, before: KeyedDiagram, after: KeyedDiagram) -> ByMark:
        """Return shapes that were added or removed, show another name, or are in or at another shape."""
        found: ByMark = {}
        for each in compare_diagrams(before.shapes, after.shapes):
            if each.old and each.new and not (each.is_renamed or each.is_moved):
                continue
            old = each.old and self._shape(self._old, before, each.old)
            new = each.new and self._shape(self._new, after, each.new)
            written = self._write({FROM: old, TO: new} if old and new else old or new)
            found.setdefault(each.mark.value, []).append(written)
        return found

    def _shape(self, side: Side, diagram: KeyedDiagram, drawn: Drawn, *, with_name: bool = True) -> Wire:
        properties: Wire = {"shapeId": drawn.shape}
        if with_name:
            for name, key in zip(("container", "attachedTo"), drawn.around, strict=True):
                add_part(properties, name, key and diagram.by_key[key].shape)
        identity = side.identities[drawn.element]
        named = self._named(side, identity) if with_name else self._reader.reference(identity)
        return {"properties": properties, **named}

    def _flows(self, before: KeyedDiagram, after: KeyedDiagram) -> ByMark:
        found: ByMark = {}
        for each in compare_flows(before.flows, after.flows):
            if each.mark is not Mark.SAME:
                is_old = each.mark is Mark.REMOVED
                side, diagram = (self._old, before) if is_old else (self._new, after)
                found.setdefault(each.mark.value, []).append(self._write(self._flow(side, diagram, each)))
        return found

    def _flow(self, side: Side, diagram: KeyedDiagram, flow: FlowDifference) -> Wire:
        predecessor, shape = (self._shape(side, diagram, diagram.by_key[key], with_name=False) for key in flow.ends)
        found: Wire = {"predecessor": predecessor, "shape": shape}
        if flow.mark is Mark.CHANGED:
            changed = compare_values({"": flow.old}, {"": flow.new})[""]
            found["label"] = {culture: {FROM: each.old, TO: each.new} for culture, each in changed.items()}
        else:
            add_part(found, "label", flow.new or flow.old)
        return found


def _diagram(side: Side) -> KeyedDiagram:
    return keyed_diagram(side, lambda identity: (side.name(identity), identity.type), dict)


def _text(attribute: Attribute, value: Any) -> str:
    text = "" if value is None else str(value)
    return markup_text(text) if attribute.data_type is DataType.HTML else text


def _pieces(pieces: Sequence[Piece]) -> list[Wire]:
    return [{"mark": each.mark.value, "text": each.text} for each in pieces]
