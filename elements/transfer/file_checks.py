"""Checks over all lines of a transfer file: identities, versions of an element, references, trees and diagrams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.conf import settings

from elements.related_contexts import accepts
from elements.sizes.limits import DEPTH
from elements.transfer.diagram_lines import TransferReference
from elements.transfer.lines import TransferLine
from facets.blueprint.cycles import OPEN, Category
from facets.blueprint.definitions import ElementType, Related
from facets.blueprint.private_content import TOKEN_TYPE

# Places of references in diagrams; no context has such a name.
CONTENT = ""
LANES = "lanes[].element"
# Viewers see the elements that such a version draws.
VISIBLE = (Category.PUBLISHED, Category.STATIC)


@dataclass(slots=True)
class ImportedElement:
    """Facts about an element of the file; as few as possible, because there may be millions."""

    type: ElementType
    line: int
    creation: str
    parent: str | None = None
    position: int = 0
    newest: str | None = None
    newest_number: tuple[int, int] = (-1, -1)
    state: str = ""
    """State of the newest version."""
    published: str | None = None
    published_number: tuple[int, int] = (0, 0)
    published_state: str = ""
    open_version: str | None = None


@dataclass(slots=True)
class Survey:
    """Facts that reading a file collects. `finish` checks the references once all lines are known."""

    types: Mapping[str, ElementType]
    problems: list[str] = field(default_factory=list)
    elements: dict[str, ImportedElement] = field(default_factory=dict)
    versions: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Line and element of each version."""
    numbers: set[tuple[str, int, int]] = field(default_factory=set)
    """Numbers of the versions of each element."""
    shapes: dict[str, int] = field(default_factory=dict)
    """Line of each shape."""
    lanes: dict[str, int] = field(default_factory=dict)
    """Line of each lane."""
    references: dict[tuple[str, str, TransferReference], list[int]] = field(default_factory=dict)
    """Lines by place, type of the owner and target. Many lines share a reference, which is then checked once."""
    children: list[tuple[int, str, str, list[TransferReference]]] = field(default_factory=list)
    drawn: dict[str, list[tuple[str, int, bool]]] = field(default_factory=lambda: defaultdict(list))

    def report(self, number: int, text: str) -> None:
        self.problems.append(f"line {number}: {text}")

    def add(self, number: int, line: TransferLine) -> bool:
        """Add a line; report it and return False if the file already has this version."""
        if line.version in self.versions:
            self.report(number, f"{line.version}: the file contains this version twice")
            return False
        self.versions[line.version] = (number, line.element)
        known = self.elements.get(line.element)
        if known is None:
            known = self.elements[line.element] = ImportedElement(line.type, number, line.creation)
        elif known.type is not line.type:
            self.report(
                number, f"{line.version}: its other version, in line {known.line}, has the type {known.type.key}"
            )
        self._add_version(number, line, known)
        references, type_key = self.references, line.type.key
        for context, targets in line.related.items():
            for target in targets:
                references.setdefault((context, type_key, target), []).append(number)
        if line.children:
            self.children.append((number, line.element, line.version, line.children))
        self._add_diagram(number, line)
        return True

    def _add_diagram(self, number: int, line: TransferLine) -> None:
        for shape, target in line.diagram.shapes:
            if shape.shape in self.shapes:
                self.report(number, f"{line.version}: the file draws the shape {shape.shape} twice")
            self.shapes[shape.shape] = number
            self.references.setdefault((CONTENT, line.type.key, target), []).append(number)
            self.drawn[target.id].append((line.element, shape.position, line.category in VISIBLE))
        for lane, role in line.diagram.lanes:
            if lane.lane in self.lanes:
                self.report(number, f"{line.version}: the file draws the lane {lane.lane} twice")
            self.lanes[lane.lane] = number
            if role is not None:
                self.references.setdefault((LANES, line.type.key, role), []).append(number)

    def _add_version(self, number: int, line: TransferLine, known: ImportedElement) -> None:
        if not line.type.is_versioned:
            known.newest = line.version
            # Viewers do not see the elements of tokens (D206).
            known.published = None if line.type.key == TOKEN_TYPE else line.version
            return
        which = (line.major or 0, line.minor or 0)
        if (line.element, *which) in self.numbers:
            self.report(number, f"{line.version}: another version also has the number {which[0]}.{which[1]}")
        self.numbers.add((line.element, *which))
        if which > known.newest_number:
            known.newest, known.newest_number, known.state = line.version, which, line.state
        if line.category is Category.PUBLISHED:
            if known.published is not None:
                self.report(number, f"{line.version}: another version of {line.element} is also published")
            known.published, known.published_number, known.published_state = line.version, which, line.state
        if line.category in OPEN:
            if known.open_version is not None:
                self.report(number, f"{line.version}: another version of {line.element} is also in process")
            known.open_version = line.version

    def finish(
        self,
        there: Mapping[str, ElementType],
        versions: Iterable[str],
        shapes: Iterable[str],
        lanes: Iterable[str] = (),
    ) -> None:
        """Check all lines together, and against the elements, versions, shapes and lanes that the storage has."""
        for element, known in self.elements.items():
            if element in there:
                self.report(known.line, f"{element}: the storage already has this element")
        for version in versions:
            if version not in self.versions:
                self.report(self.elements[version].line, f"{version}: the storage has a version with this id")
            elif self.versions[version][1] not in there:
                number = self.versions[version][0]
                self.report(number, f"{version}: the storage already has this version, of another element")
        self._check_addresses(there)
        for shape in shapes:
            self.report(self.shapes[shape], f"the storage already has the shape {shape}")
        for lane in lanes:
            self.report(self.lanes[lane], f"the storage already has the lane {lane}")
        self._check_references(there)
        self._place_children()
        self._place_drawn()
        self._check_tree()
        self.problems.sort(key=lambda text: int(text.split(":")[0].removeprefix("line ")))

    def _check_addresses(self, there: Mapping[str, ElementType]) -> None:
        """An id addresses an element or a version, never both."""
        for version, (number, element) in self.versions.items():
            if self.elements[element].type.is_versioned and (version in self.elements or version in there):
                self.report(number, f"{version}: the versionId is the id of an element")

    def _check_references(self, there: Mapping[str, ElementType]) -> None:
        contexts = {
            (type.key, each.key): each.related
            for type in self.types.values()
            for each in type.properties
            if each.related
        }
        owners: dict[int, str] = {}
        for (place, owner, target), lines in self.references.items():
            known = self.elements.get(target.id)
            type = known.type if known else there.get(target.id)
            related = contexts.get((owner, place))
            problem = _reference_problem(place, self.types[owner], related, target, type)
            if problem is None and place == CONTENT and type and type.lives_in_diagrams and known is None:
                problem = f"{target.id} already belongs to a diagram of the storage"
            if problem is not None:
                owners = owners or {number: version for version, (number, _) in self.versions.items()}
                for number in lines:
                    self.report(number, f"{owners[number]}: {place or 'content'}: {problem}")

    def _place_children(self) -> None:
        for number, parent, version, children in self.children:
            owner = self.elements[parent]
            if version != owner.newest:
                self.report(number, f"{version}: only the newest version can have children")
            for position, child in enumerate(children):
                known = self.elements.get(child.id)
                if known is None:
                    self.report(number, f"{version}: children: the file has no element {child.id}")
                elif known.type.key != child.type:
                    self.report(
                        number, f"{version}: children: {child.id} has the type {known.type.key}, not {child.type}"
                    )
                elif known.parent is not None:
                    self.report(number, f"{version}: children: {child.id} also has the parent {known.parent}")
                elif owner.type.key not in known.type.parents:
                    text = f"elements of type {known.type.key} cannot be placed below elements of type {owner.type.key}"
                    self.report(number, f"{version}: children: {text}")
                else:
                    known.parent, known.position = parent, position

    def _place_drawn(self) -> None:
        """Place elements that live in a diagram below its element; they are visible if the diagram is."""
        for element, places in self.drawn.items():
            known = self.elements.get(element)
            if known is None or not known.type.lives_in_diagrams:
                continue
            if len(places) > 1:
                self.report(known.line, f"{element}: belongs to one diagram, but the file draws it {len(places)} times")
            known.parent, known.position, _ = places[0]
            known.published = known.newest if any(public for _, _, public in places) else None
        for element, known in self.elements.items():
            if known.type.lives_in_diagrams and element not in self.drawn:
                known.published = None

    def _check_tree(self) -> None:
        """Report cycles, and the first element of each branch that is too deep."""
        settled: dict[str, int] = {}
        for start in self.elements:
            path: list[str] = []
            on_path: set[str] = set()
            current: str | None = start
            while current is not None and current not in settled and current not in on_path:
                path.append(current)
                on_path.add(current)
                known = self.elements.get(current)
                current = known.parent if known else None
            if current in on_path:
                self.report(self.elements[start].line, f"{start}: its parents form a cycle")
                settled.update(dict.fromkeys(path, 0))
                continue
            level = settled[current] if current is not None else 0
            for element in reversed(path):
                level += 1
                settled[element] = level
                if level == settings.MAX_DEPTH + 1 and (problem := DEPTH.problem(level)):
                    self.report(self.elements[element].line, f"{element}: {problem}")

    def targets(self) -> Iterable[str]:
        """Return all ids of elements and versions that the file contains or refers to."""
        return {*self.elements, *self.versions, *(target.id for _, _, target in self.references)}


def _reference_problem(
    place: str, owner: ElementType, related: Related | None, target: TransferReference, type: ElementType | None
) -> str | None:
    """Return the problem of a reference. `type` is the target's actual type, or None for an unknown target."""
    if type is None:
        return f"there is no element {target.id}"
    if type.key != target.type:
        return f"{target.id} has the type {type.key}, not {target.type}"
    if place == LANES and type.lives_in_diagrams:
        return f"elements of type {type.key} live in diagrams and have no lane"
    if place == CONTENT and type.key not in owner.insertables:
        return f"elements of type {type.key} cannot be drawn in this diagram"
    if related is not None and not accepts(place, related, type):
        allowed = ", ".join(related.types) or f"a type of the facet {related.facet}"
        return f"{target.id} has the type {type.key}; expected {allowed}"
    return None
