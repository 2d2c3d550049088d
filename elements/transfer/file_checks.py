"""Checks over all lines of a transfer file: identities, versions of an element, references, trees and diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from django.conf import settings

from elements.related_contexts import accepts
from elements.sizes.limits import DEPTH
from elements.transfer.file_facts import FileFacts, ImportedElement
from elements.transfer.lines import TransferLine
from facets.blueprint.cycles import OPEN, Category
from facets.blueprint.definitions import ElementType, Related
from facets.blueprint.private_content import TOKEN_TYPE

# Places of references in diagrams; no context has such a name.
CONTENT = ""
LANES = "lanes[].element"
# Viewers see the elements that such a version draws.
VISIBLE = (Category.PUBLISHED, Category.STATIC)
# An id addresses an element or a version, never both.
ADDRESSES = """SELECT v.line, v.id FROM version v JOIN element e ON e.id = v.element JOIN type t ON t.key = e.type
    WHERE t.is_versioned AND (EXISTS (SELECT 1 FROM element o WHERE o.id = v.id)
        OR EXISTS (SELECT 1 FROM there o WHERE o.id = v.id))"""
VERSION_THERE = """SELECT v.line, EXISTS (SELECT 1 FROM there t WHERE t.id = v.element) FROM version v WHERE v.id = ?"""
# Columns of `ReferenceKind`.
KIND = "r.context, r.owner, r.type, coalesce(e.type, t.type), e.id IS NOT NULL"
REFERENCES = "FROM reference r LEFT JOIN element e ON e.id = r.target LEFT JOIN there t ON t.id = r.target"
TARGETS = """SELECT id FROM version
    UNION ALL SELECT e.id FROM element e WHERE NOT EXISTS (SELECT 1 FROM version v WHERE v.id = e.id)
    UNION ALL SELECT DISTINCT r.target FROM reference r WHERE NOT EXISTS (SELECT 1 FROM element e WHERE e.id = r.target)
        AND NOT EXISTS (SELECT 1 FROM version v WHERE v.id = r.target)"""
CHILDREN = """SELECT c.line, c.parent, c.version, c.position, c.id, c.type, p.type, p.newest, e.type
    FROM child c JOIN element p ON p.id = c.parent LEFT JOIN element e ON e.id = c.id ORDER BY c.rowid"""
ADD_PLACE = "INSERT OR IGNORE INTO placed VALUES (?, ?, ?)"
DRAWN = "FROM drawing d JOIN element e ON e.id = d.id JOIN type t ON t.key = e.type WHERE t.lives_in_diagrams"
# SQLite takes the other columns from the row with the smallest rowid.
PLACE_DRAWN = f"""INSERT OR REPLACE INTO placed SELECT id, owner, position
    FROM (SELECT d.id, d.owner, d.position, min(d.rowid) {DRAWN} GROUP BY d.id)"""  # noqa: S608  constants
SHOW_DRAWN = """UPDATE element
    SET published = CASE WHEN EXISTS (SELECT 1 FROM drawing d WHERE d.id = element.id AND d.is_visible) THEN newest END
    WHERE type IN (SELECT key FROM type WHERE lives_in_diagrams)"""
# Elements below a root with their levels. Elements of a cycle, and those below them, are not reached.
LEVELS = """CREATE TABLE level AS WITH RECURSIVE below (id, level) AS (
        SELECT DISTINCT p.parent, 1 FROM placed p WHERE NOT EXISTS (SELECT 1 FROM placed o WHERE o.id = p.parent)
        UNION ALL SELECT p.id, b.level + 1 FROM below b JOIN placed p ON p.parent = b.id)
    SELECT id, level FROM below"""
NOT_REACHED = """SELECT e.id, p.parent, e.line FROM element e JOIN placed p ON p.id = e.id
    WHERE e.id NOT IN (SELECT id FROM level) ORDER BY e.place"""


class ReferenceKind(NamedTuple):
    """Facts on which a problem of a reference depends. There are few combinations, and each is checked once."""

    place: str
    owner: str
    """Type of the element that refers."""
    claimed: str
    """Type of the target according to the line."""
    type: str | None
    """Actual type of the target, if it exists."""
    is_new: bool
    """Whether the target is in the file."""


class Survey:
    """Facts that reading a file collects. `finish` checks all lines together once they are known."""

    def __init__(self, types: Mapping[str, ElementType]) -> None:
        self.types = types
        self.problems: list[str] = []
        self.facts = FileFacts()
        self.facts.write(
            "INSERT INTO type VALUES (?, ?, ?)",
            ((key, type.is_versioned, type.lives_in_diagrams) for key, type in types.items()),
        )

    def close(self) -> None:
        self.facts.close()

    def report(self, number: int, text: str) -> None:
        self.problems.append(f"line {number}: {text}")

    def add(self, number: int, line: TransferLine) -> bool:
        """Add a line; report it and return False if the file already has this version."""
        facts, type_key = self.facts, line.type.key
        if not facts.add_version(line.version, line.element, number):
            self.report(number, f"{line.version}: the file contains this version twice")
            return False
        known = facts.element(line.element)
        if is_new := known is None:
            known = ImportedElement(type_key, number, line.creation)
        elif known.type != type_key:
            self.report(number, f"{line.version}: its other version, in line {known.line}, has the type {known.type}")
        self._add_version(number, line, known)
        facts.keep_element(line.element, known, is_new=is_new)
        for context, targets in line.related.items():
            for target in targets:
                facts.add_reference(context, type_key, target, number)
        if line.children:
            children = enumerate(line.children)
            facts.write(
                "INSERT INTO child VALUES (?, ?, ?, ?, ?, ?)",
                ((number, line.element, line.version, position, *child) for position, child in children),
            )
        self._add_diagram(number, line)
        return True

    def _add_diagram(self, number: int, line: TransferLine) -> None:
        facts, type_key = self.facts, line.type.key
        for shape, target in line.diagram.shapes:
            if not facts.add_once("shape", shape.shape, number):
                self.report(number, f"{line.version}: the file draws the shape {shape.shape} twice")
            facts.add_reference(CONTENT, type_key, target, number)
            row = target.id, line.element, shape.position, line.category in VISIBLE
            facts.execute("INSERT INTO drawing VALUES (?, ?, ?, ?)", *row)
        for lane, role in line.diagram.lanes:
            if not facts.add_once("lane", lane.lane, number):
                self.report(number, f"{line.version}: the file draws the lane {lane.lane} twice")
            if role is not None:
                facts.add_reference(LANES, type_key, role, number)

    def _add_version(self, number: int, line: TransferLine, known: ImportedElement) -> None:
        if not line.type.is_versioned:
            known.newest = line.version
            # Viewers do not see the elements of tokens (D206).
            known.published = None if line.type.key == TOKEN_TYPE else line.version
            return
        which = major, minor = (line.major or 0, line.minor or 0)
        if known.newest is not None and not self._add_number(line.element, known, which):
            self.report(number, f"{line.version}: another version also has the number {major}.{minor}")
        if which > (known.major, known.minor):
            known.newest, known.major, known.minor, known.state = line.version, major, minor, line.state
        if line.category is Category.PUBLISHED:
            if known.published is not None:
                self.report(number, f"{line.version}: another version of {line.element} is also published")
            known.published, known.published_state = line.version, line.state
            known.published_major, known.published_minor = which
        if line.category in OPEN:
            if known.open_version is not None:
                self.report(number, f"{line.version}: another version of {line.element} is also in process")
            known.open_version = line.version

    def _add_number(self, element: str, known: ImportedElement, number: tuple[int, int]) -> bool:
        """Add the number of a further version. Most elements have one version, which needs no row."""
        self.facts.add_number(element, known.major, known.minor)
        return self.facts.add_number(element, *number)

    def finish(
        self,
        there: Iterable[tuple[str, str]],
        versions: Iterable[str],
        shapes: Iterable[str],
        lanes: Iterable[str] = (),
    ) -> None:
        """Check all lines together, and against the elements, versions, shapes and lanes that the storage has.

        `there` has elements of the storage with their types.
        """
        facts = self.facts
        facts.write_references()
        facts.write("INSERT INTO there VALUES (?, ?)", there)
        for line, element in facts.rows("SELECT e.line, e.id FROM there t JOIN element e ON e.id = t.id"):
            self.report(line, f"{element}: the storage already has this element")
        self._check_versions(versions)
        for number, version in facts.rows(ADDRESSES):
            self.report(number, f"{version}: the versionId is the id of an element")
        for table, ids in (("shape", shapes), ("lane", lanes)):
            for id in ids:
                for (line,) in facts.rows(f"SELECT line FROM {table} WHERE id = ?", id):  # noqa: S608  constants
                    self.report(line, f"the storage already has the {table} {id}")
        self._check_references()
        self._place_children()
        self._place_drawn()
        self._check_tree()
        self.problems.sort(key=lambda text: int(text.split(":")[0].removeprefix("line ")))

    def _check_versions(self, versions: Iterable[str]) -> None:
        for version in versions:
            found = self.facts.row(VERSION_THERE, version)
            if found is None:
                for (line,) in self.facts.rows("SELECT line FROM element WHERE id = ?", version):
                    self.report(line, f"{version}: the storage has a version with this id")
            elif not found[1]:
                self.report(found[0], f"{version}: the storage already has this version, of another element")

    def _check_references(self) -> None:
        contexts = {
            (type.key, each.key): each.related
            for type in self.types.values()
            for each in type.properties
            if each.related
        }
        facts, wrong = self.facts, set()
        for row in facts.rows(f"SELECT DISTINCT {KIND} {REFERENCES}"):
            kind = ReferenceKind(*row)
            if self._reference_problem(kind, contexts.get((kind.owner, kind.place)), ""):
                wrong.add(kind)
        if not wrong:
            return
        facts.execute("CREATE INDEX version_line ON version (line)")
        for target, lines, *values in facts.rows(f"SELECT r.target, r.lines, {KIND} {REFERENCES} ORDER BY r.rowid"):
            kind = ReferenceKind(*values)
            if kind not in wrong:
                continue
            problem = self._reference_problem(kind, contexts.get((kind.owner, kind.place)), target)
            for number in map(int, lines.split()):
                for (version,) in facts.rows("SELECT id FROM version WHERE line = ?", number):
                    self.report(number, f"{version}: {kind.place or 'content'}: {problem}")

    def _place_children(self) -> None:
        facts = self.facts
        for number, parent, version, position, child, claimed, owner, newest, type in facts.rows(CHILDREN):
            if position == 0 and version != newest:
                self.report(number, f"{version}: only the newest version can have children")
            if type is None:
                problem = f"the file has no element {child}"
            elif type != claimed:
                problem = f"{child} has the type {type}, not {claimed}"
            elif owner in self.types[type].parents and facts.execute(ADD_PLACE, child, parent, position):
                continue
            elif found := facts.row("SELECT parent FROM placed WHERE id = ?", child):
                problem = f"{child} also has the parent {found[0]}"
            else:
                problem = f"elements of type {type} cannot be placed below elements of type {owner}"
            self.report(number, f"{version}: children: {problem}")

    def _place_drawn(self) -> None:
        """Place elements that live in a diagram below its element; they are visible if the diagram is."""
        often = f"SELECT e.line, d.id, count(*) {DRAWN} GROUP BY d.id HAVING count(*) > 1"
        for line, element, count in self.facts.rows(often):
            self.report(line, f"{element}: belongs to one diagram, but the file draws it {count} times")
        self.facts.execute("CREATE INDEX drawing_element ON drawing (id)")
        self.facts.execute(PLACE_DRAWN)
        self.facts.execute(SHOW_DRAWN)

    def _check_tree(self) -> None:
        """Report cycles, and the first element of each branch that is too deep."""
        facts = self.facts
        facts.execute("CREATE INDEX placed_parent ON placed (parent)")
        facts.execute(LEVELS)
        most = settings.MAX_DEPTH + 1
        for element, line in facts.rows(
            "SELECT e.id, e.line FROM level l JOIN element e ON e.id = l.id WHERE l.level = ?", most
        ):
            self._report_depth(line, element, most)
        self._check_cycles({element: (parent, line) for element, parent, line in facts.rows(NOT_REACHED)})

    def _check_cycles(self, parents: Mapping[str, tuple[str, int]]) -> None:
        """Report each cycle once. `parents` has the elements of cycles and below them, with their lines."""
        settled: dict[str, int] = {}
        for start, (_, line) in parents.items():
            path: list[str] = []
            on_path: set[str] = set()
            current = start
            while current not in settled and current not in on_path:
                path.append(current)
                on_path.add(current)
                current = parents[current][0]
            if current in on_path:
                self.report(line, f"{start}: its parents form a cycle")
                settled.update(dict.fromkeys(path, 0))
                continue
            for level, element in enumerate(reversed(path), settled[current] + 1):
                settled[element] = level
                if level == settings.MAX_DEPTH + 1:
                    self._report_depth(parents[element][1], element, level)

    def _report_depth(self, line: int, element: str, level: int) -> None:
        if problem := DEPTH.problem(level):
            self.report(line, f"{element}: {problem}")

    def targets(self) -> Iterator[str]:
        """Return all ids of elements and versions that the file contains or refers to."""
        self.facts.write_references()
        return (id for (id,) in self.facts.rows(TARGETS))

    def _reference_problem(self, kind: ReferenceKind, related: Related | None, target: str) -> str | None:
        """Return the problem of a reference to a target, or None."""
        if kind.type is None:
            return f"there is no element {target}"
        type, place = self.types[kind.type], kind.place
        if type.key != kind.claimed:
            return f"{target} has the type {type.key}, not {kind.claimed}"
        if place == LANES and type.lives_in_diagrams:
            return f"elements of type {type.key} live in diagrams and have no lane"
        if place == CONTENT and type.key not in self.types[kind.owner].insertables:
            return f"elements of type {type.key} cannot be drawn in this diagram"
        if related is not None and not accepts(place, related, type):
            allowed = ", ".join(related.types) or f"a type of the facet {related.facet}"
            return f"{target} has the type {type.key}; expected {allowed}"
        if place == CONTENT and type.lives_in_diagrams and not kind.is_new:
            return f"{target} already belongs to a diagram of the storage"
        return None
