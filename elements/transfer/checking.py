"""What can only be seen over all lines: identities, versions side by side, references, trees and diagrams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from elements import states
from elements.contexts import accepts
from elements.transfer.lines import CALLERS, Line
from facets.blueprint import ElementType, Related


@dataclass(slots=True)
class Known:
    """What is remembered of an element: little, since there may be very many."""

    type: ElementType
    line: int
    creation: str
    parent: str | None = None
    position: int = 0
    newest: str | None = None
    newest_number: tuple[int, int] = (-1, -1)
    published: str | None = None
    open_version: str | None = None


@dataclass(slots=True)
class Wish:
    """A reference whose target can be looked at only when all lines are known."""

    line: int
    owner: str
    place: str
    target: str
    claim: str
    related: Related | None = None
    insertables: tuple[str, ...] | None = None


@dataclass(slots=True)
class Survey:
    """Everything the first reading of a file collects."""

    problems: list[str] = field(default_factory=list)
    elements: dict[str, Known] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)
    shapes: set[str] = field(default_factory=set)
    wishes: list[Wish] = field(default_factory=list)
    children: list[tuple[int, str, str, list[str]]] = field(default_factory=list)
    drawn: dict[str, list[tuple[str, int, bool]]] = field(default_factory=lambda: defaultdict(list))

    def report(self, number: int, text: str) -> None:
        self.problems.append(f"line {number}: {text}")

    def add(self, number: int, line: Line) -> None:
        name = str(line.version)
        if line.version in self.versions:
            self.report(number, f"{name}: the version stands twice")
            return
        self.versions.add(line.version)
        known = self.elements.get(line.element)
        if known is None:
            known = self.elements[line.element] = Known(line.type, number, line.creation)
        elif known.type is not line.type:
            self.report(number, f"{name}: its other version, in line {known.line}, is of the type {known.type.key}")
        self._add_version(number, line, known)
        contexts = {each.key: each.related for each in line.type.properties if each.related}
        for context, targets in line.related.items():
            related = None if context in CALLERS else contexts[context]
            for target in targets:
                self.wishes.append(Wish(number, name, context, target, line.claims[target], related))
        if line.children:
            self.children.append((number, line.element, line.version, line.children))
        for position, shape in enumerate(line.content):
            if shape.id in self.shapes:
                self.report(number, f"{name}: the shape {shape.id} stands in two diagrams")
            self.shapes.add(shape.id)
            claim = line.claims[shape.element]
            self.wishes.append(Wish(number, name, "content", shape.element, claim, insertables=line.type.insertables))
            self.drawn[shape.element].append((line.element, position, line.state in states.PUBLISHED))

    def _add_version(self, number: int, line: Line, known: Known) -> None:
        if not line.type.is_versioned:
            known.newest = known.published = line.version
            return
        which = (line.major or 0, line.minor or 0)
        if which == known.newest_number:
            self.report(number, f"{line.version}: another version has the number {which[0]}.{which[1]}, too")
        if which > known.newest_number:
            known.newest, known.newest_number = line.version, which
        if line.state in states.PUBLISHED:
            if known.published is not None:
                self.report(number, f"{line.version}: another version of {line.element} is published, too")
            known.published = line.version
        if line.state in states.DRAFT | states.REVIEW:
            if known.open_version is not None:
                self.report(number, f"{line.version}: another version of {line.element} is in process, too")
            known.open_version = line.version

    def finish(self, there: dict[str, ElementType]) -> None:
        """`there` holds the type of each element that is in the storage already and that this file names."""
        for element, known in self.elements.items():
            if element in there:
                self.report(known.line, f"{element}: the element is in the storage already")
        self._check_wishes(there)
        self._place_children()
        self._place_drawn()
        self._check_cycles()

    def _check_wishes(self, there: dict[str, ElementType]) -> None:
        for wish in self.wishes:
            known = self.elements.get(wish.target)
            type = known.type if known else there.get(wish.target)
            if type is None:
                self.report(wish.line, f"{wish.owner}: {wish.place}: there is no element {wish.target}")
            elif type.key != wish.claim:
                self.report(wish.line, f"{wish.owner}: {wish.place}: {wish.target} is a {type.key}, not a {wish.claim}")
            elif wish.insertables is not None and type.key not in wish.insertables:
                self.report(wish.line, f"{wish.owner}: {wish.place}: a {type.key} cannot be drawn in this diagram")
            elif wish.related is not None and not accepts(wish.place, wish.related, type):
                allowed = ", ".join(wish.related.types) or f"a type of the facet {wish.related.facet}"
                self.report(wish.line, f"{wish.owner}: {wish.place}: {wish.target} is a {type.key}, expected {allowed}")

    def _place_children(self) -> None:
        for number, parent, version, children in self.children:
            owner = self.elements[parent]
            if version != owner.newest:
                self.report(number, f"{version}: children stand with the newest version only")
            for position, child in enumerate(children):
                known = self.elements.get(child)
                if known is None:
                    self.report(number, f"{version}: children: there is no element {child} in the file")
                elif known.parent is not None:
                    self.report(number, f"{version}: children: {child} has another parent, {known.parent}, too")
                elif owner.type.key not in known.type.parents:
                    self.report(number, f"{version}: children: {known.type.key} may not stand below {owner.type.key}")
                else:
                    known.parent, known.position = parent, position

    def _place_drawn(self) -> None:
        """What lives only in diagrams stands below the element whose diagram it is in, and is as public as that."""
        for element, places in self.drawn.items():
            known = self.elements.get(element)
            if known is None or not known.type.lives_in_diagrams:
                continue
            if len(places) > 1:
                self.report(known.line, f"{element}: lives in one diagram and stands in {len(places)} places")
            known.parent, known.position, _ = places[0]
            known.published = known.newest if any(public for _, _, public in places) else None
        for element, known in self.elements.items():
            if known.type.lives_in_diagrams and element not in self.drawn:
                known.published = None

    def _check_cycles(self) -> None:
        settled: set[str] = set()
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
                self.report(self.elements[start].line, f"{start}: its parents go round in a circle")
            settled.update(path)

    def targets(self) -> Iterable[str]:
        """Every element that the file names, in it or not."""
        return {*self.elements, *(wish.target for wish in self.wishes)}
