"""Draft of a row (D465): the changes of an element cell by cell, or the values of a new one. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from elements.tables.cells import Cell, plain_text
from elements.tables.columns import INVARIANT, PARENT, PARENT_ID, Column, ColumnKind
from elements.tables.mapping import ColumnMapping
from elements.tables.read_tables import BadCell, ReadCell, ReadRow, address
from elements.tables.typed_values import CellProblem, is_cut, items, same_cell, same_files, value_of
from elements.writing.inputs import SERVER_ATTRIBUTES, SERVER_CONTEXTS, ElementInput, ReferenceInput
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType, Property
from repository_site.core.wording import GUID, printable

BETWEEN_IDS = re.compile(r"[\s,;]+")
ROOT_PATH = "rootPath"


@dataclass(frozen=True, slots=True)
class CellNote:
    """A text about a cell, or about a row if `cell` is the number of the row."""

    cell: str
    text: str


@dataclass(frozen=True, slots=True)
class CellChange:
    cell: str
    column: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class TargetNames:
    """Names in a cell that have to be found: the targets of a context, or the parent."""

    place: int
    key: str
    names: tuple[str, ...]


@dataclass(slots=True)
class RowDraft:
    row: ReadRow
    given: ElementInput
    type: ElementType | None = None
    revision: int | None = None
    """The revision of the stored version, which must be the same when the row is written."""
    changes: dict[int, CellChange] = field(default_factory=dict)
    """By the place of the column."""
    problems: list[CellNote] = field(default_factory=list)
    notes: list[CellNote] = field(default_factory=list)
    names: list[TargetNames] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        return self.given.id is None

    def problem(self, place: int | None, text: str) -> None:
        self.problems.append(CellNote(self._cell(place), text))

    def note(self, place: int, text: str) -> None:
        self.notes.append(CellNote(self._cell(place), text))

    def _cell(self, place: int | None) -> str:
        return str(self.row.number) if place is None else address(place, self.row.number)


def row_place(number: int) -> str:
    """Return the place of a row in the findings of an update."""
    return f"row {number}"


class RowDrafter:
    """Compares rows of a file with the cells that an export would have. `current` is empty for a new element."""

    def __init__(self, mapping: ColumnMapping) -> None:
        self.mapping = mapping

    def draft(self, draft: RowDraft, type: ElementType, current: Mapping[Column, Cell]) -> None:
        draft.type = type
        properties = {each.key: each for each in type.properties}
        references: dict[str, dict[ColumnKind, int]] = {}
        for place, column in self.mapping.columns.items():
            cell = draft.row.cells.get(place)
            if isinstance(cell, BadCell):
                draft.problem(place, cell.problem)
            elif column.kind is ColumnKind.VALUE:
                self._value(draft, place, column, properties.get(column.key), cell, current.get(column))
            elif column.kind in (ColumnKind.TARGETS, ColumnKind.TARGET_IDS):
                references.setdefault(column.key, {})[column.kind] = place
            elif column.kind is ColumnKind.TYPE:
                self._type(draft, place, type, cell)
            elif column.kind is ColumnKind.STATE and cell is not None and not same_cell(cell, current.get(column)):
                draft.note(place, _("was ignored: only a transition changes the state"))
        for key, places in references.items():
            self._context(draft, key, properties.get(key), places, current)
        self._parent(draft, current)

    def _type(self, draft: RowDraft, place: int, type: ElementType, cell: Cell) -> None:
        if cell is not None and plain_text(cell).strip().casefold() != type.key.casefold():
            text = _("the element has the type %(type)s, which cannot change") % {"type": type.key}
            draft.problem(place, text)

    def _value(
        self, draft: RowDraft, place: int, column: Column, property: Property | None, cell: Cell, current: Cell
    ) -> None:
        attribute = property.attribute if property else None
        is_of_type = attribute is not None and attribute.is_invariant_culture == (column.culture == INVARIANT)
        if attribute is None or not is_of_type:
            if cell is not None:
                type = draft.type.key if draft.type else ""
                draft.problem(place, _("the type %(type)s has no such attribute") % {"type": type})
            return
        if same_cell(cell, current) or (attribute.data_type is DataType.FILES and same_files(cell, current)):
            return
        if column.key in SERVER_ATTRIBUTES:
            draft.note(place, _("was ignored: the value is read-only"))
            return
        if is_cut(current) and not is_cut(cell):
            draft.problem(place, _("is too long for a cell; change it on the page of the element"))
            return
        try:
            value = value_of(attribute, cell)
        except CellProblem as problem:
            draft.problem(place, str(problem))
            return
        draft.given.attributes.setdefault(column.key, {})[column.culture] = value
        self._change(draft, place, column, current, cell)

    def _context(
        self,
        draft: RowDraft,
        key: str,
        property: Property | None,
        places: Mapping[ColumnKind, int],
        current: Mapping[Column, Cell],
    ) -> None:
        related = property.related if property else None
        if related is None:
            for place in places.values():
                if draft.row.cells.get(place) is not None:
                    type = draft.type.key if draft.type else ""
                    draft.problem(place, _("the type %(type)s has no such related context") % {"type": type})
            return
        is_fixed = related.read_only or key in SERVER_CONTEXTS
        ids, names = places.get(ColumnKind.TARGET_IDS), places.get(ColumnKind.TARGETS)
        found = self._targets(draft, ids, names, current, key, is_fixed=is_fixed)
        if found is not None:
            draft.given.related[key] = found

    def _parent(self, draft: RowDraft, current: Mapping[Column, Cell]) -> None:
        ids, names = self.mapping.places.get(PARENT_ID), self.mapping.places.get(PARENT)
        found = self._targets(draft, ids, names, current, ROOT_PATH, is_fixed=False)
        if found is not None:
            draft.given.root_path = found

    def _targets(
        self,
        draft: RowDraft,
        ids: int | None,
        names: int | None,
        current: Mapping[Column, Cell],
        key: str,
        *,
        is_fixed: bool,
    ) -> list[ReferenceInput] | None:
        """Return the new targets, None if they stay. Ids decide; names count if there are no ids."""
        changed = [place for place in (ids, names) if place is not None and self._differs(draft, place, current)]
        if not changed or any(isinstance(draft.row.cells.get(place), BadCell) for place in changed):
            return None
        if is_fixed:
            for place in changed:
                draft.note(place, _("was ignored: the value is read-only"))
            return None
        has_ids, has_names = (place is not None and draft.row.cells.get(place) is not None for place in (ids, names))
        if names in changed and has_names and not has_ids and names is not None:
            return self._by_name(draft, names, key, current)
        if ids in changed and ids is not None:
            return self._by_id(draft, ids, key, current)
        if ids is None and names is not None:
            self._change(draft, names, self.mapping.columns[names], current.get(self.mapping.columns[names]), None)
            return []
        if names is not None and ids is not None:
            text = _("was ignored: the ids in %(column)s decide; change or empty that cell")
            draft.note(names, text % {"column": self.mapping.columns[ids].header})
        return None

    def _differs(self, draft: RowDraft, place: int, current: Mapping[Column, Cell]) -> bool:
        column, cell = self.mapping.columns[place], draft.row.cells.get(place)
        now = current.get(column)
        if isinstance(cell, BadCell):
            return True
        if column.kind in (ColumnKind.TARGET_IDS, ColumnKind.PARENT_ID):
            return _ids(cell) != _ids(now)
        return items(plain_text(cell)) != items(plain_text(now))

    def _by_id(
        self, draft: RowDraft, place: int, key: str, current: Mapping[Column, Cell]
    ) -> list[ReferenceInput] | None:
        column, cell = self.mapping.columns[place], draft.row.cells.get(place)
        found = _ids(None if isinstance(cell, BadCell) else cell)
        wrong = next((each for each in found if not GUID.fullmatch(each)), None)
        if wrong is not None:
            draft.problem(place, _("%(text)s is not a GUID") % {"text": repr(printable(wrong, 80))})
            return None
        if key == ROOT_PATH and len(found) > 1:
            draft.problem(place, _("has several ids; an element has one parent"))
            return None
        self._change(draft, place, column, current.get(column), cell)
        where = f"{row_place(draft.row.number)}: {key}"
        return [ReferenceInput(where, id=each) for each in found]

    def _by_name(
        self, draft: RowDraft, place: int, key: str, current: Mapping[Column, Cell]
    ) -> list[ReferenceInput] | None:
        column, cell = self.mapping.columns[place], draft.row.cells.get(place)
        found = items("" if isinstance(cell, BadCell) else plain_text(cell))
        draft.names.append(TargetNames(place, key, tuple(found)))
        self._change(draft, place, column, current.get(column), cell)
        return None

    def _change(self, draft: RowDraft, place: int, column: Column, old: Cell, new: ReadCell) -> None:
        text = "" if isinstance(new, BadCell) else plain_text(new)
        change = CellChange(address(place, draft.row.number), column.header, plain_text(old), text)
        draft.changes[place] = change


def _ids(cell: Cell) -> list[str]:
    return [each.lower() for each in BETWEEN_IDS.split(plain_text(cell)) if each]
