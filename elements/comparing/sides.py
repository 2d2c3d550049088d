"""The two sides of a comparison: versions with their references and diagrams, as one reader sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import cached_property

from elements.comparing.differences import Drawn, Flows, Item
from elements.reading import rows
from elements.reading.assembly.assembler import Reader
from elements.reading.assembly.projection import NOT_STORED
from elements.reading.bounds import most_text
from elements.reading.diagrams.drawings import DrawnFlow, DrawnShape, drawn_shapes_of, read_flows
from elements.reading.names import ByCulture
from elements.reading.referrers import read_whole_names
from elements.reading.rows import Identity, VersionRow
from facets.blueprint.definitions import ElementType
from repository_site.core.database.statements import Inquiry


@dataclass(frozen=True, slots=True)
class Side:
    """A version. `identities` has the elements that the reader may see; all others are left out."""

    row: VersionRow
    references: Mapping[str, Sequence[str]]
    """Elements by related context."""
    shapes: Sequence[DrawnShape]
    flows: Mapping[str, Sequence[DrawnFlow]]
    """Flows by the shape that they lead to."""
    identities: Mapping[str, Identity]
    children: Sequence[Identity] = ()
    names: Mapping[str, ByCulture] = field(default_factory=dict)
    """Names of the elements, by version."""

    def name(self, of: Identity) -> ByCulture:
        return self.names.get(of.version, {})

    def targets(self, context: str) -> list[Identity]:
        found = self.references.get(context, ())
        return [self.identities[each] for each in found if each in self.identities]


def read_sides(
    reader: Reader, versions: Sequence[VersionRow], *, with_names: bool = False, with_place: bool = False
) -> list[Side]:
    """Read the sides of versions in a fixed number of statements. Parent and children belong to the element, so they
    are the same for all its versions at one time."""
    inquiry = Inquiry()
    elements = {row.element for row in versions} if with_place else ()
    types = [id for id, type in reader.types.items() if not type.lives_in_diagrams]
    asked_children = inquiry.add(rows.children_of(reader.audience, elements, types))
    asked = [inquiry.add(drawn_shapes_of(row.version)) for row in versions]
    asked_references = inquiry.add(rows.references_of([row.version for row in versions], None))
    inquiry.ask()
    shapes, held, children = [found() for found in asked], asked_references(), asked_children()
    targets = {each for contexts in held.values() for found in contexts.values() for each in found}
    targets |= {shape.element for found in shapes for shape in found}
    targets |= {row.parent for row in versions if with_place and row.parent}
    identities = rows.read_identities(reader.audience, targets)
    shown = {each.version for found in (identities.values(), *children.values()) for each in found}
    names = read_whole_names({*shown, *(row.version for row in versions)}) if with_names else {}
    flows: dict[str, list[DrawnFlow]] = {}
    for flow in read_flows([shape.shape for found in shapes for shape in found]):
        flows.setdefault(flow.shape, []).append(flow)
    return [
        Side(row, held.get(row.version, {}), drawn, flows, identities, children.get(row.element, ()), names)
        for row, drawn in zip(versions, shapes, strict=True)
    ]


def read_step_sides(reader: Reader, versions: Collection[str]) -> dict[str, Side]:
    """Read elements that live in diagrams, by version: their attributes and references, without diagram and place.

    The number of statements is fixed. Raise TooHeavy if they are too long together.
    """
    found = rows.read_versions(versions, most=most_text(len(versions)))
    held = rows.read_references([*found], None)
    targets = {each for contexts in held.values() for ids in contexts.values() for each in ids}
    identities = rows.read_identities(reader.audience, targets)
    names = read_whole_names({*found, *(each.version for each in identities.values())})
    return {id: Side(row, held.get(id, {}), (), {}, identities, (), names) for id, row in found.items()}


def compared_contexts(type: ElementType) -> list[str]:
    """Return the contexts that are stored with a version."""
    return [each.key for each in type.properties if each.related and each.key not in NOT_STORED]


def items(of: Collection[Identity], text: Callable[[Identity], str]) -> list[Item]:
    """Return elements for comparing lists. Copies of an element in other versions have its creation id (D11)."""
    return [Item(each.creation, text(each)) for each in of]


@dataclass(frozen=True)
class KeyedDiagram:
    """The visible part of a diagram, with keys that are the same in all versions (D11)."""

    shapes: Sequence[Drawn]
    flows: Flows

    @cached_property
    def by_key(self) -> Mapping[str, Drawn]:
        return {each.key: each for each in self.shapes}


def keyed_diagram(
    side: Side, show: Callable[[Identity], tuple[Any, str]], label: Callable[[Mapping[str, str]], Any]
) -> KeyedDiagram:
    """Return the diagram of a side. `show` returns the name and the type of an element, `label` that of a flow."""
    keys: dict[str, str] = {}
    seen: Counter[str] = Counter()
    visible = [shape for shape in side.shapes if shape.element in side.identities]
    for shape in visible:
        creation = side.identities[shape.element].creation
        seen[creation] += 1
        # A number distinguishes shapes that show the same element.
        keys[shape.shape] = f"{creation}-{seen[creation]}"
    drawn: list[Drawn] = []
    labels: dict[tuple[str, str], Any] = {}
    for shape in visible:
        key = keys[shape.shape]
        before = [flow for flow in side.flows.get(shape.shape, ()) if flow.predecessor in keys]
        predecessors = frozenset(keys[flow.predecessor] for flow in before)
        container, host = (keys.get(each or "", "") for each in (shape.container, shape.host))
        name, type = show(side.identities[shape.element])
        drawn.append(Drawn(key, name, type, predecessors, (container, host), shape.shape, shape.element))
        labels |= {(keys[flow.predecessor], key): label(flow.label) for flow in before}
    return KeyedDiagram(drawn, labels)
