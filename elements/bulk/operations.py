"""The operations of a bulk change: their form, and the change that they mean for one element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elements.extension import elements_extensions
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import VersionRow
from elements.writing.findings import Findings
from elements.writing.inputs import (
    POSITION,
    SERVER_ATTRIBUTES,
    SERVER_CONTEXTS,
    ElementInput,
    InputReader,
    PositionInput,
    ReferenceInput,
)
from elements.writing.planned_changes import VALIDITY
from facets.blueprint.definitions import ElementType
from facets.configuration import Configuration
from repository_site.core.problems import Unreadable
from repository_site.core.wording import GUID, listed, printable
from storage.localisation.cultures import INVARIANT_CULTURE

MOST_OPERATIONS, MOST_NAMES = 20, 200
SET, CLEAR, ADD, REMOVE, MOVE, DELETE = "set", "clear", "add", "remove", "move", "delete"
EDITS = (SET, CLEAR, ADD, REMOVE, MOVE)
INVARIANT = str(INVARIANT_CULTURE)
# Columns of a version that are attributes for clients.
COLUMNS = frozenset({*VALIDITY, "stereotype"})


@dataclass(frozen=True, slots=True)
class Edit:
    """One of the operations that change values, references or the place in the tree."""

    kind: str
    attributes: Mapping[str, Mapping[str, Any]]
    related: Mapping[str, Sequence[str]]
    names: Sequence[str] = ()
    parent: str | None = None
    position: PositionInput | None = None


@dataclass(frozen=True, slots=True)
class EditStage:
    """Operations that follow each other and become one change of an element."""

    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class StepStage:
    """An operation of its own: `delete`, or a step that another app adds."""

    name: str
    options: Mapping[str, Any]


Stage = EditStage | StepStage


def read_operations(document: Any) -> list[Stage]:
    """Return the stages of `operations`; raise Unreadable with all problems."""
    findings = Findings()
    stages = _OperationReader(findings).stages(document)
    findings.raise_any()
    return stages


class _OperationReader:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.reader = InputReader(findings)
        self.steps = {name for extension in elements_extensions for name in extension.bulk_steps}

    def stages(self, document: Any) -> list[Stage]:
        if not isinstance(document, list) or not 0 < len(document) <= MOST_OPERATIONS:
            text = f'expected a list of 1 to {MOST_OPERATIONS} operations, such as [{{"clear": ["owner"]}}]'
            self._wrong("operations", text)
            return []
        found: list[Stage] = []
        for index, each in enumerate(document):
            stage = self._stage(each, f"operations[{index}]")
            last = found[-1] if found else None
            if isinstance(stage, EditStage) and isinstance(last, EditStage):
                found[-1] = EditStage((*last.edits, *stage.edits))
            elif stage is not None:
                found.append(stage)
        if any(isinstance(each, StepStage) and each.name == DELETE for each in found[:-1]):
            self._wrong("operations", "delete must be the last operation")
        return found

    def _stage(self, document: Any, place: str) -> Stage | None:
        names = sorted({*EDITS, DELETE, *self.steps})
        named = [name for name in names if isinstance(document, dict) and name in document]
        if len(named) != 1:
            self._wrong(place, f"expected an object with one of {listed(names, 'or')}")
            return None
        [name] = named
        options = {key: value for key, value in document.items() if key != name}
        value, place = document[name], f"{place}: {name}"
        if name in EDITS:
            self._refuse(options, place)
            edit = self._edit(name, value, place)
            return EditStage((edit,)) if edit else None
        if name == DELETE:
            self._refuse(options, place)
            if value is not True:
                self._wrong(place, "expected true")
            return StepStage(name, {})
        for extension in elements_extensions:
            if name in extension.bulk_steps:
                return self._step(name, value, options, place, extension.bulk_steps[name].read)
        return None

    def _step(self, name: str, value: Any, options: dict[str, Any], place: str, read: Any) -> StepStage | None:
        try:
            return StepStage(name, read(value, options))
        except Unreadable as problem:
            self._wrong(place, problem.message.rstrip("."))
            return None

    def _refuse(self, options: Mapping[str, Any], place: str) -> None:
        for key in options:
            self._wrong(place, f"unknown field {printable(key, 40)!r}; an operation has one field")

    def _edit(self, kind: str, value: Any, place: str) -> Edit | None:
        if kind == CLEAR:
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value) or not value:
                self._wrong(place, 'expected names of attributes and contexts, such as ["owner", "name[1031]"]')
                return None
            self._check_names([each.partition("[")[0] for each in value], place)
            return Edit(kind, {}, {}, value)
        if kind == MOVE:
            return self._move(value, place)
        parts = ("attributes", "related") if kind == SET else ("related",)
        if not isinstance(value, dict) or not value or value.keys() - set(parts):
            self._wrong(place, f"expected an object with {listed(parts, 'or')}")
            return None
        given = [name for part in parts if isinstance(value.get(part), dict) for name in value[part]]
        self._check_names(given, place)
        attributes = self.reader.attributes(value.get("attributes"), place)
        related = self.reader.related(value.get("related"), place)
        return Edit(kind, attributes, {name: [*self._ids(held)] for name, held in related.items()})

    def _check_names(self, names: Sequence[str], place: str) -> None:
        if len(names) > MOST_NAMES:
            self._wrong(place, f"names {len(names)} properties; at most {MOST_NAMES} are allowed")
        for name in names:
            if name in SERVER_ATTRIBUTES or name in SERVER_CONTEXTS:
                self._wrong(place, f"{name} is read-only")

    def _ids(self, references: Sequence[ReferenceInput]) -> Iterator[str]:
        for each in references:
            if each.id is None:
                self._wrong(each.place, 'expected the id of an existing element, such as {"id": "…"}')
            else:
                yield each.id

    def _move(self, value: Any, place: str) -> Edit | None:
        known = isinstance(value, dict) and not value.keys() - {"parent", POSITION}
        parent = value.get("parent", 0) if known else 0
        if parent is not None and not (isinstance(parent, str) and GUID.fullmatch(parent)):
            text = 'expected {"parent": "…"} with the id of an element, or null for the top of the tree'
            self._wrong(place, f"{text}, and optionally {POSITION}")
            return None
        position = self.reader.position(value.get(POSITION), f"{place}: {POSITION}")
        if position and parent is None:
            self._wrong(f"{place}: {POSITION}", "elements without a parent are sorted by name; leave it out")
        return Edit(MOVE, {}, {}, parent=parent and parent.lower(), position=position)

    def _wrong(self, place: str, text: str) -> None:
        self.findings.add(Unreadable, place, text)


def change_of(
    configuration: Configuration, stage: EditStage, row: VersionRow, references: Mapping[str, Sequence[str]]
) -> ElementInput:
    """Return the change that the operations of a stage mean for one element, as a request would describe it."""
    found = ElementInput(row.element, row.element)
    type = configuration.types_by_id[row.type]
    targets: dict[str, list[str]] = {}
    for edit in stage.edits:
        for name, values in edit.attributes.items():
            found.attributes.setdefault(name, {}).update(values)
        for name, ids in edit.related.items():
            held = targets[name] if name in targets else list(references.get(name, ()))
            targets[name] = _changed(edit.kind, held, ids)
        if edit.names:
            _clear(found, targets, type, row, edit.names)
        if edit.kind == MOVE:
            path = ReferenceInput(f"{row.element}: rootPath[0]", edit.parent)
            found.root_path, found.position = [path] if edit.parent else [], edit.position
    found.related = {
        name: [ReferenceInput(f"{row.element}: {name}[{index}]", id) for index, id in enumerate(ids)]
        for name, ids in targets.items()
    }
    return found


def _changed(kind: str, held: list[str], ids: Sequence[str]) -> list[str]:
    if kind == REMOVE:
        removed = {*ids}
        return [each for each in held if each not in removed]
    return [*dict.fromkeys([*held, *ids] if kind == ADD else ids)]


def _clear(
    found: ElementInput, targets: dict[str, list[str]], type: ElementType, row: VersionRow, names: Sequence[str]
) -> None:
    stored = read_exactly(row.attributes)
    contexts = {each.key for each in type.properties if each.related}
    for written in names:
        name, bracket, culture = written.partition("[")
        if name in contexts and not bracket:
            targets[name] = []
            continue
        given = found.attributes.setdefault(name, {})
        every = [*given, *([INVARIANT] if name in COLUMNS else stored.get(name, ()))]
        given.update(dict.fromkeys([culture.removesuffix("]")] if bracket else every))
