"""Import of a table (D465): one plan for the preview and for the import, by the same rules as every other change.

A plan writes nothing. An import makes the plan again under locks and writes it in one transaction, unless a cell has a
problem. The API and the pages use the same update (`elements/writing/updating.py`), so history and events are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from elements.reading.assembly.assembler import Reader
from elements.reading.assembly.response_addresses import detail_view_of
from elements.reading.bounds import TooHeavy, halved
from elements.reading.rows import VersionRow
from elements.related_contexts import accepts
from elements.tables.cells import Cell, plain_text
from elements.tables.columns import ID, REVISION, TYPE, Column, ColumnKind, table_columns
from elements.tables.drafts import ROOT_PATH, CellNote, RowDraft, RowDrafter, TargetNames, row_place
from elements.tables.finding_rows import NamedElement, elements_by_name, elements_by_value
from elements.tables.mapping import ColumnMapping
from elements.tables.read_tables import BadCell, ReadTable
from elements.tables.rows import BATCH, TableRows
from elements.writing.deciding.lookups import type_called
from elements.writing.findings import Findings
from elements.writing.inputs import ElementInput, ReferenceInput
from elements.writing.persisting import prepare_changes, write_changes
from elements.writing.planned_changes import PlannedChange
from elements.writing.updating import OnLocked, plan_update
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from repository_site.core.problems import Invalid, Problem
from repository_site.core.wording import GUID, printable


@dataclass(frozen=True, slots=True)
class ImportChoices:
    """Choices about rows without an id."""

    key: Column | None = None
    """Attribute by which rows without an id are found."""
    type: str = ""
    """Type of new elements in rows that name none."""
    creates: bool = True
    updates: bool = True
    """Rows of elements that are not to be created or updated are left alone."""


@dataclass(frozen=True, slots=True)
class TableReport:
    """Result of a plan or an import, row by row."""

    drafts: Sequence[RowDraft]
    ignored: Sequence[str]

    @property
    def problems(self) -> list[CellNote]:
        return [each for draft in self.drafts for each in draft.problems]

    @property
    def notes(self) -> list[CellNote]:
        return [each for draft in self.drafts for each in draft.notes]

    @property
    def changed(self) -> list[RowDraft]:
        return [each for each in self.drafts if each.changes]

    @property
    def counts(self) -> dict[str, int]:
        new = sum(each.is_new for each in self.changed)
        unchanged = sum(not each.changes and not each.problems for each in self.drafts)
        return {"create": new, "update": len(self.changed) - new, "unchanged": unchanged}


class TableFindings(Findings):
    """Problems of an update, each at the cell that has caused it."""

    def __init__(self, drafts: Sequence[RowDraft], mapping: ColumnMapping) -> None:
        super().__init__()
        self._drafts = {row_place(each.row.number): each for each in drafts}
        self._mapping = mapping

    def add(self, kind: type[Problem], place: str, text: str) -> None:
        super().add(kind, place, text)
        row, _separator, name = place.partition(": ")
        draft = self._drafts.get(row)
        if draft is not None:
            # Rights and locks are problems of the element whose texts begin with the property.
            found = self._place(draft, name or text.partition(" ")[0])
            draft.problem(found, text if found is not None or not name else f"{name}: {text}")

    def place(self, problem: Problem) -> None:
        """Add a problem that was raised with its places in its details."""
        for text in problem.details:
            row, *rest = text.removesuffix(".").split(": ", 2)
            if row in self._drafts and len(rest) == 2:
                self.add(type(problem), f"{row}: {rest[0]}", rest[1])
            else:
                next(iter(self._drafts.values())).problem(None, text.removesuffix("."))

    def _place(self, draft: RowDraft, name: str) -> int | None:
        """Return the column that a name such as name[1033], parts[0] or rootPath means; one with a change first."""
        key, _bracket, rest = name.partition("[")
        columns = self._mapping.columns
        fitting = [
            place
            for place, each in columns.items()
            if (each.kind is ColumnKind.VALUE and each.key == key and (not rest or each.culture == rest.rstrip("]")))
            or (each.kind in (ColumnKind.TARGET_IDS, ColumnKind.TARGETS) and each.key == key)
            or (each.kind in (ColumnKind.PARENT_ID, ColumnKind.PARENT) and key == ROOT_PATH)
            or (each.kind is ColumnKind.TYPE and key == "type")
        ]
        return next((place for place in fitting if place in draft.changes), fitting[0] if fitting else None)


def plan_import(
    writer: Writer, reader: Reader, table: ReadTable, mapping: ColumnMapping, choices: ImportChoices
) -> TableReport:
    """Return what an import would change, without writing anything."""
    return _TableImport(writer, reader, table, mapping, choices).plan()


def import_table(
    writer: Writer, reader: Reader, table: ReadTable, mapping: ColumnMapping, choices: ImportChoices
) -> TableReport:
    """Import a table, or raise Invalid with all problems. Call this in a transaction."""
    found = _TableImport(writer, reader, table, mapping, choices)
    report = found.plan(writes=True)
    if problems := report.problems:
        count = _("The table has %(count)d problems; nothing was imported.") % {"count": len(problems)}
        texts = [f"{each.cell}: {each.text}." for each in problems]
        raise Invalid(texts[0] if len(texts) == 1 else count, texts)
    return report


class _TableImport:
    def __init__(
        self, writer: Writer, reader: Reader, table: ReadTable, mapping: ColumnMapping, choices: ImportChoices
    ) -> None:
        self.writer, self.reader, self.table, self.mapping, self.choices = writer, reader, table, mapping, choices
        self.configuration = reader.configuration
        self.drafter = RowDrafter(mapping)
        self.is_writing = False
        # Rows that have values only in other columns, such as a total below the table, are left alone.
        self.drafts = [
            RowDraft(row, ElementInput(row_place(row.number)))
            for row in table.rows
            if not mapping.columns.keys().isdisjoint(row.cells)
        ]

    def plan(self, *, writes: bool = False) -> TableReport:
        if not self.mapping.columns:
            raise Invalid(
                _("No column of the table is known. Name columns as an export does, such as id and name[1033].")
            )
        self._find_elements()
        fine = [each for each in self.drafts if not each.problems]
        if self.choices.updates:
            self._compare([each for each in fine if not each.is_new])
        for draft in fine if self.choices.creates else ():
            if draft.is_new:
                self._draft_new(draft)
        self._find_targets()
        # Rows with a problem are checked, too: all problems are reported together.
        self._update_all([each for each in self.drafts if each.changes and each.type is not None], writes=writes)
        return TableReport(self.drafts, self.mapping.ignored)

    def _find_elements(self) -> None:
        place = self.mapping.places.get(ID)
        seen: dict[str, int] = {}
        unidentified: list[RowDraft] = []
        for draft in self.drafts:
            cell = draft.row.cells.get(place) if place is not None else None
            if isinstance(cell, BadCell):
                draft.problem(place, cell.problem)
            elif cell is None:
                unidentified.append(draft)
            elif not GUID.fullmatch(id := plain_text(cell).strip().lower()):
                draft.problem(place, _("%(text)s is not a GUID") % {"text": repr(printable(id, 80))})
            else:
                self._identify(draft, id, place, seen)
        if self.choices.key is not None:
            self._find_by_key(unidentified, self.choices.key, seen)

    def _identify(self, draft: RowDraft, id: str, place: int | None, seen: dict[str, int]) -> None:
        if id in seen:
            draft.problem(place, _("is the same element as in row %(row)d") % {"row": seen[id]})
        else:
            seen[id] = draft.row.number
            draft.given.id = id

    def _find_by_key(self, drafts: Sequence[RowDraft], key: Column, seen: dict[str, int]) -> None:
        place = self.mapping.places.get(key)
        if place is None:
            raise Invalid(_("The table has no column %(column)s.") % {"column": printable(key.header, 100)})
        wanted: dict[str, list[RowDraft]] = {}
        for draft in drafts:
            cell = draft.row.cells.get(place)
            if isinstance(cell, BadCell) or cell is None:
                draft.problem(place, _("is empty, but the import finds elements by this column"))
            else:
                wanted.setdefault(plain_text(cell), []).append(draft)
        found = elements_by_value(self.reader.audience, key.key, key.culture, wanted)
        for text, (first, *others) in wanted.items():
            for draft in others:
                draft.problem(place, _("is the same element as in row %(row)d") % {"row": first.row.number})
            fitting = found.get(text, [])
            if len(fitting) > 1 and (type := self._type_of(first)) is not None:
                fitting = [each for each in fitting if each.type == str(self.configuration.type_ids[type.key])]
            if len(fitting) > 1:
                first.problem(place, _("%(count)d elements have this value") % {"count": len(fitting)})
            elif fitting:
                self._identify(first, fitting[0].id, place, seen)

    def _compare(self, drafts: Sequence[RowDraft]) -> None:
        """Compare rows with the cells that an export would have now, in batches."""
        types = self.configuration.types.values()
        wanted = {each.key for each in self.mapping.columns.values() if each.key}
        columns = table_columns(
            [(type, type.properties) for type in types], self.configuration.cultures.data, order=sorted(wanted)
        )
        rows = TableRows(self.reader, columns)
        for start in range(0, len(drafts), BATCH):
            by_id = {str(each.given.id): each for each in drafts[start : start + BATCH]}
            known = self.reader.identities.read(list(by_id))
            versions = [each.version for each in known.values() if each.type not in self.reader.audience.closed]
            for batch in halved(sorted(versions), rows.read_with_versions):
                for row, cells in batch:
                    self._compare_row(by_id.pop(row.element), row, dict(zip(columns.columns, cells, strict=True)))
            for draft in by_id.values():
                draft.problem(self.mapping.places.get(ID), _("there is no such element"))

    def _compare_row(self, draft: RowDraft, row: VersionRow, current: Mapping[Column, Cell]) -> None:
        draft.revision = row.revision
        self.drafter.draft(draft, self.reader.types[row.type], current)
        place = self.mapping.places.get(REVISION)
        exported = draft.row.cells.get(place) if place is not None else None
        if not draft.changes or exported is None or isinstance(exported, BadCell):
            return
        if plain_text(exported).strip() != row.entity_tag.strip('"'):
            draft.problem(place, _("another user has changed this element since the export; export it again"))

    def _type_name(self, draft: RowDraft) -> str:
        place = self.mapping.places.get(TYPE)
        cell = draft.row.cells.get(place) if place is not None else None
        return plain_text(None if isinstance(cell, BadCell) else cell).strip() or self.choices.type

    def _type_of(self, draft: RowDraft) -> ElementType | None:
        return type_called(self.configuration, self._type_name(draft) or None)

    def _draft_new(self, draft: RowDraft) -> None:
        place, type = self.mapping.places.get(TYPE), self._type_of(draft)
        if type is None:
            known = ", ".join(sorted(self.configuration.types))
            has_name = bool(self._type_name(draft))
            text = _("is not a type; use %(known)s") if has_name else _("a new element needs a type: %(known)s")
            draft.problem(place, text % {"known": known})
            return
        draft.given.type = type.key
        self.drafter.draft(draft, type, {})
        if not draft.changes and not draft.problems:
            draft.problem(None, _("a new element needs a value"))

    def _find_targets(self) -> None:
        names = {name for draft in self.drafts for each in draft.names for name in each.names}
        found = elements_by_name(self.reader.audience, names) if names else {}
        for draft in self.drafts:
            for each in draft.names:
                self._set_targets(draft, each, found)

    def _set_targets(self, draft: RowDraft, wanted: TargetNames, found: Mapping[str, Sequence[NamedElement]]) -> None:
        targets: list[ReferenceInput] = []
        where = f"{row_place(draft.row.number)}: {wanted.key}"
        for name in wanted.names:
            fitting = [each for each in found.get(name, ()) if self._fits(draft.type, wanted.key, each.type)]
            words = {"name": printable(name, 80), "count": len(fitting)}
            if not fitting:
                draft.problem(wanted.place, _("there is no element “%(name)s” that fits here") % words)
            elif len(fitting) > 1:
                text = _("%(count)d elements have the name “%(name)s”; use the column with ids")
                draft.problem(wanted.place, text % words)
            else:
                targets.append(ReferenceInput(where, id=fitting[0].id))
        if wanted.key != ROOT_PATH:
            draft.given.related[wanted.key] = targets
        elif len(targets) > 1:
            draft.problem(wanted.place, _("has several names; an element has one parent"))
        else:
            draft.given.root_path = targets

    def _fits(self, type: ElementType | None, key: str, target: str) -> bool:
        if type is None or target not in self.reader.types:
            return False
        named = self.reader.types[target]
        if key == ROOT_PATH:
            return named.key in type.parents
        related = next((each.related for each in type.properties if each.key == key), None)
        return related is not None and accepts(key, related, named)

    def _update_all(self, drafts: Sequence[RowDraft], *, writes: bool) -> None:
        """Plan and write rows in batches of one type each. After the first problem nothing is written, but every other
        problem is still found. A batch that is too heavy is divided (D188)."""
        self.is_writing = writes and not any(each.problems for each in self.drafts)
        for same in _by_type(drafts):
            for is_fine in halved(same, self._update, BATCH):
                self.is_writing &= is_fine

    def _update(self, drafts: Sequence[RowDraft]) -> bool:
        """Plan and write one batch; return whether it has no problems. A plan unlocks its elements at once."""
        findings = TableFindings(drafts, self.mapping)
        assert drafts[0].type is not None  # noqa: S101  drafted before
        view = detail_view_of(self.writer.configuration, drafts[0].type)
        before = sum(len(each.problems) for each in drafts)
        try:
            with transaction.atomic():
                plan = plan_update(self.writer, view, [each.given for each in drafts], findings, self._check(drafts))
                _keep_real_changes(drafts, plan.changes, self.mapping)
                changes = [each for each in plan.changes if each.is_new or each.after]
                if self.is_writing:
                    write_changes(self.writer, changes)
                else:
                    late = Findings()
                    prepare_changes(self.writer, changes, late)
                    late.raise_any()
                    transaction.set_rollback(True)
        except Problem as problem:
            if isinstance(problem, TooHeavy) and len(drafts) > 1:
                raise
            if sum(len(each.problems) for each in drafts) == before:
                findings.place(problem)
            return False
        return True

    def _check(self, drafts: Sequence[RowDraft]) -> OnLocked:
        """Return the check under locks that no row was changed since it was compared."""

        def check(rows: list[VersionRow | None]) -> None:
            place = self.mapping.places.get(ID)
            pairs = zip(drafts, rows, strict=True)
            changed = [draft for draft, row in pairs if row is not None and row.revision != draft.revision]
            for draft in changed:
                draft.problem(place, _("another user is changing this element; try again"))
            if changed:
                raise Invalid(_("Other users are changing the same elements."))

        return check


def _by_type(drafts: Sequence[RowDraft]) -> Iterator[list[RowDraft]]:
    """Return the rows of each type. Elements are locked in the order of their ids, as in every change."""
    ordered = sorted(drafts, key=lambda each: (str(each.type.key if each.type else ""), str(each.given.id or "~")))
    for _type, same in groupby(ordered, key=lambda each: each.type):
        yield list(same)


def _keep_real_changes(drafts: Sequence[RowDraft], planned: Sequence[PlannedChange], mapping: ColumnMapping) -> None:
    """Forget changes of cells whose new values are the stored ones in another form, such as 1.0 for 1."""
    notes = {each.place: each.after for each in planned if not each.is_new}
    for draft in drafts:
        after = notes.get(draft.given.place)
        if after is not None:
            draft.changes = {
                place: each for place, each in draft.changes.items() if _is_noted(mapping.columns[place], after)
            }


def _is_noted(column: Column, after: Mapping[str, Any]) -> bool:
    """Return whether the change history has the property of a column."""
    if column.kind is ColumnKind.VALUE:
        return f"{column.key}[{column.culture}]" in after.get("attributes", ()) or column.key in after
    if column.kind in (ColumnKind.TARGETS, ColumnKind.TARGET_IDS):
        return column.key in after.get("related", ())
    return "parent" in after
