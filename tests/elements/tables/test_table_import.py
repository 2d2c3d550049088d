"""Import of edited tables (D465): exactly the edited cells change, every problem has its cell, all rows or none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from elements.models import ElementChange
from elements.reading.rows import VersionRow
from elements.tables.cells import Cell
from elements.tables.columns import ID as ID_COLUMN
from elements.tables.columns import Column, ColumnKind, property_name
from elements.tables.files import TableFile, read_any
from elements.tables.importing import TableReport
from elements.tables.mapping import wanted_columns
from elements.tables.rows import TableRows
from elements.tables.typed_values import same_files
from repository_site.core.problems import Invalid
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.elements.tables.spreadsheets import Edits, edited, saved_csv, saved_xlsx
from tests.elements.tables.table_desk import TableDesk
from tests.elements.workshop import ID

pytestmark = pytest.mark.django_db
FORMATS = ("csv", "xlsx")
VALUE = ColumnKind.VALUE
NAMED = {"name": {"1031": "Neu", "1033": "New"}}


def run(
    desk: TableDesk, content: bytes, *, key: str = "", type: str = "", only: str = "", dry_run: bool = False
) -> TableReport:
    return TableFile(desk.storage, read_any(content, "table")).run(key, type, only, dry_run=dry_run)


def table(desk: TableDesk, format: str = "xlsx", edits: Edits | None = None, **query: str) -> bytes:
    return edited(format, desk.file(format, **query), edits)


def changes(report: TableReport) -> list[tuple[str, str, str, str]]:
    return [(each.cell, each.column, each.old, each.new) for draft in report.drafts for each in draft.changes.values()]


def problems(report: TableReport) -> list[tuple[str, str]]:
    return [(each.cell, each.text) for each in report.problems]


def rows_of(desk: TableDesk, **query: str) -> dict[str, int]:
    """Return the number of the row of each element."""
    return {row[0]: number for number, row in enumerate(desk.csv(**query)[1:], 2)}


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_that_nobody_edited_changes_nothing(desk: TableDesk, format: str) -> None:
    report = run(desk, table(desk, format))
    assert (changes(report), problems(report), report.notes) == ([], [], [])
    assert report.counts == {"create": 0, "update": 0, "unchanged": 7}


@pytest.mark.parametrize("format", FORMATS)
def test_exactly_the_edited_cells_change(desk: TableDesk, format: str) -> None:
    place = rows_of(desk)[ID["thing"]]
    before = desk.element(ID["thing"])
    content = table(
        desk, format, {(place, "name[1033]"): "New name", (place, "parts[id]"): ID["part"], (place, "count"): 12}
    )
    plan = run(desk, content, dry_run=True)
    assert {each[1:] for each in changes(plan)} == {
        ("name[1033]", "Thing", "New name"),
        ("parts[id]", "", ID["part"]),
        ("count", "", "12"),
    }
    assert desk.element(ID["thing"]) == before
    report = run(desk, content)
    assert changes(report) == changes(plan)
    after = desk.element(ID["thing"])
    assert after["attributes"]["name"] == {"1031": "Thing deutsch", "1033": "New name"}
    assert after["attributes"]["count"] == {"127": 12}
    assert [each["id"] for each in after["related"]["parts"]] == [ID["part"]]
    with tenant_scope(desk.storage):
        [entry] = ElementChange.objects.filter(element_id=ID["thing"])
    assert set(entry.after) == {"attributes", "related"}
    # The revision in the file is the old one, but nothing differs any more.
    assert changes(run(desk, content)) == []


def test_an_emptied_cell_removes_the_value(desk: TableDesk) -> None:
    desk.update({"id": ID["thing"], "attributes": {"note": {"127": "x"}, "flag": {"127": False}}})
    place = rows_of(desk)[ID["thing"]]
    run(desk, table(desk, edits={(place, "note"): None, (place, "flag"): None}))
    assert not {"note", "flag"} & desk.element(ID["thing"])["attributes"].keys()


@pytest.mark.parametrize("format", FORMATS)
def test_references_by_name(desk: TableDesk, format: str) -> None:
    place = rows_of(desk)[ID["thing"]]
    content = table(desk, format, {(place, "parts"): "Second part\nPart", (place, "author"): "Ben"})
    report = run(desk, content)
    assert len(changes(report)) == 2
    related = desk.element(ID["thing"])["related"]
    assert [each["id"] for each in related["parts"]] == [ID["part-2"], ID["part"]]
    assert [each["id"] for each in related["author"]] == [ID["ben"]]


def test_names_beside_ids_are_ignored_with_a_note(desk: TableDesk) -> None:
    desk.update({"id": ID["thing"], "related": {"parts": [{"id": ID["part"]}]}})
    place = rows_of(desk)[ID["thing"]]
    report = run(desk, table(desk, edits={(place, "parts"): "Second part", (place, "state"): "released"}))
    assert [each.text for each in report.notes] == [
        "was ignored: only a transition changes the state",
        "was ignored: the ids in parts[id] decide; change or empty that cell",
    ]
    assert changes(report) == []


def test_a_move(desk: TableDesk) -> None:
    place = rows_of(desk)[ID["thing"]]
    run(desk, table(desk, edits={(place, "parent[id]"): ID["shelf"]}))
    assert desk.element(ID["thing"])["rootPath"][0]["id"] == ID["shelf"]
    run(desk, table(desk, edits={(place, "parent[id]"): None, (place, "parent"): "Box"}))
    assert desk.element(ID["thing"])["rootPath"][0]["id"] == ID["box"]


def test_new_elements(desk: TableDesk) -> None:
    content = saved_csv(
        [["Type", "name[1031]", "name[1033]", "parent", "cost"], ["thing", "Neu", "New", "Box", "1.50"]]
    )
    report = run(desk, content)
    assert report.counts == {"create": 1, "update": 0, "unchanged": 0}
    [row] = [each for each in desk.csv(select="name,cost") if "New" in each]
    assert row[2:] == ["thing", "inProcess", "Box", ID["box"], "Neu", "New", "1.50"]


def test_elements_are_found_by_a_key(desk: TableDesk) -> None:
    content = saved_xlsx([["name[1033]", "name[1031]", "note"], ["Thing", "Thing deutsch", "a"], ["New", "Neu", "b"]])
    report = run(desk, content, key="name[1033]", type="thing")
    assert report.counts == {"create": 1, "update": 1, "unchanged": 0}
    assert desk.element(ID["thing"])["attributes"]["note"] == {"127": "a"}
    again = run(desk, content, key="name[1033]", type="thing")
    assert again.counts == {"create": 0, "update": 0, "unchanged": 2}


def test_new_or_existing_elements_can_be_left_alone(desk: TableDesk) -> None:
    rows = [["name[1033]", "name[1031]", "note"], ["Thing", "Thing deutsch", "a"], ["New", "Neu", "b"]]
    for only, create, update in (("new", 1, 0), ("existing", 0, 1)):
        report = run(desk, saved_csv(rows), key="name[1033]", type="thing", only=only, dry_run=True)
        assert report.counts == {"create": create, "update": update, "unchanged": 1}
    # What is left alone has no problems.
    assert problems(run(desk, saved_csv(rows), only="existing", dry_run=True)) == []


def test_keys_that_several_elements_or_rows_have(desk: TableDesk) -> None:
    desk.update({"id": ID["other"], "attributes": {"name": {"1033": "Thing"}}})
    rows: list[list[Any]] = [["name[1033]", "note"], ["Thing", "a"], ["New", "b"], ["New", "c"], [None, "d"]]
    report = run(desk, saved_xlsx(rows), key="name[1033]", type="thing", dry_run=True)
    assert problems(report) == [
        ("A2", "2 elements have this value"),
        ("A4", "is the same element as in row 3"),
        ("A5", "is empty, but the import finds elements by this column"),
    ]


def test_the_type_of_a_row_decides_between_elements_with_the_same_key(desk: TableDesk) -> None:
    desk.update({"id": ID["box"], "attributes": {"name": {"1033": "Thing"}}})
    rows = [["name[1033]", "type", "name[1031]"], ["Thing", "box", "Kiste"]]
    assert run(desk, saved_csv(rows), key="name[1033]").counts == {"create": 0, "update": 1, "unchanged": 0}
    assert desk.element(ID["box"])["attributes"]["name"] == {"1031": "Kiste", "1033": "Thing"}


def test_headers_are_found_without_letter_case_but_exactly_first() -> None:
    known = {each.header: each for each in (ID_COLUMN, Column("Note", VALUE, "Note"), Column("note", VALUE, "note"))}
    headers = {0: "ID", 1: "note", 2: "Note", 3: "else"}
    found = wanted_columns(headers, known, {})
    assert [each.header if each else None for each in found.values()] == ["id", "note", "Note", None]
    # A property never takes the place of the id.
    assert (property_name("ID"), property_name("name")) == ("property ID", "name")


def test_rows_without_values_of_known_columns_are_left_alone(desk: TableDesk) -> None:
    rows: list[list[Any]] = [["id", "note", "comment"], [ID["thing"], "a", "x"], [None, None, "total: 1"]]
    assert run(desk, saved_xlsx(rows), dry_run=True).counts == {"create": 0, "update": 1, "unchanged": 0}


def test_a_new_element_needs_a_value(desk: TableDesk) -> None:
    report = run(desk, saved_csv([["type", "name[1033]"], ["thing", ""]]), dry_run=True)
    assert problems(report) == [("2", "a new element needs a value")]


def test_a_change_of_another_user_since_the_export(desk: TableDesk) -> None:
    place = rows_of(desk)[ID["thing"]]
    stale = table(desk, edits={(place, "note"): "mine"})
    desk.update({"id": ID["thing"], "attributes": {"name": {"1033": "theirs"}}})
    report = run(desk, stale, dry_run=True)
    assert problems(report) == [
        (f"B{place}", "another user has changed this element since the export; export it again")
    ]
    with pytest.raises(Invalid):
        run(desk, stale)
    assert desk.element(ID["thing"])["attributes"]["name"]["1033"] == "theirs"


def test_a_change_between_the_comparison_and_the_lock(desk: TableDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another transaction may commit in between; the row is compared again under the lock."""
    compare = TableRows.read_with_versions

    def earlier(rows: TableRows, versions: Sequence[str]) -> list[tuple[VersionRow, list[Cell]]]:
        return [(row._replace(revision=row.revision - 1), cells) for row, cells in compare(rows, versions)]

    monkeypatch.setattr(TableRows, "read_with_versions", earlier)
    with pytest.raises(Invalid, match=r"A2: another user is changing this element; try again\."):
        run(desk, saved_csv([["id", "note"], [ID["thing"], "mine"]]))
    assert "note" not in desk.element(ID["thing"])["attributes"]


def test_every_problem_has_its_cell_and_nothing_is_written(desk: TableDesk) -> None:
    unknown = "ffffffff-0000-4000-8000-000000000000"
    header = ["id", "type", "name[1033]", "count", "flag", "day", "color", "parts[id]", "parts", "parent[id]", "nobody"]
    rows: list[list[Any]] = [
        header,
        [ID["thing"], "box", "fine", "many", "maybe", "31.12.2026", "pink", "x", None, ID["part"], "?"],
        [unknown],
        ["no id"],
        [ID["other"], None, "one\ntwo", None, None, None, None, unknown],
        [ID["thing"]],
        [None, None, "New"],
        [None, "nothing", "New"],
        [ID["part"], None, "Part", "1"],
        [ID["box"], None, "Edited box"],
        [ID["other"].replace("4000", "4000"), None],
    ]
    rows = [[*row, *[None] * (len(header) - len(row))] for row in rows]
    rows[4][8] = None
    report = run(desk, saved_xlsx(rows), dry_run=True)
    found = problems(report)
    assert ("D2", "must be a whole number of up to 64 bits") in found
    assert ("E2", "must be true or false") in found
    assert ("F2", "must be a date such as 2026-12-31") in found
    assert ("G2", "must be one of red, green, blue") in found
    assert ("H2", "'x' is not a GUID") in found
    assert ("B2", "the element has the type thing, which cannot change") in found
    assert ("A3", "there is no such element") in found
    assert ("A4", "'no id' is not a GUID") in found
    assert ("C5", "must be a single line") in found
    assert ("H5", f"there is no element {unknown}") in found
    assert ("A6", "is the same element as in row 2") in found
    assert ("A11", "is the same element as in row 5") in found
    assert ("B7", "a new element needs a type: box, part, thing, user") in found
    assert ("B8", "is not a type; use box, part, thing, user") in found
    assert ("D9", "the type part has no such attribute") in found
    assert report.ignored == ("nobody",)
    with pytest.raises(Invalid) as refused:
        run(desk, saved_xlsx(rows))
    assert "D2: must be a whole number of up to 64 bits." in refused.value.details
    assert desk.csv(select="name", filter="name -eq 'Edited box'")[1:] == []


def test_values_that_the_configuration_refuses(desk: TableDesk) -> None:
    place = rows_of(desk)[ID["thing"]]
    header = desk.csv()[0]
    edits = {(place, "color"): "pink", (place, "day"): "31.12.2026", (place, "parent[id]"): ID["part"]}
    report = run(desk, table(desk, edits=edits), dry_run=True)
    cells = {cell for cell, _text in problems(report)}
    letters = {name: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[header.index(name)] for name in ("color", "day", "parent[id]")}
    assert cells == {f"{letter}{place}" for letter in letters.values()}


def test_released_elements_are_refused(desk: TableDesk) -> None:
    place = rows_of(desk)[ID["gone"]]
    [(cell, text)] = problems(run(desk, table(desk, edits={(place, "name[1033]"): "x"}), dry_run=True))
    assert (cell, text.partition(" ")[0]) == (f"H{place}", "name")


def test_a_preview_counts_children(desk: TableDesk, settings: Settings) -> None:
    settings.MAX_CHILDREN = 1
    place = rows_of(desk)[ID["other"]]
    content = table(desk, edits={(place, "parent[id]"): ID["thing"]}, select="name")
    desk.update({"type": "thing", "attributes": NAMED, "rootPath": [{"id": ID["thing"]}]})
    [(cell, text)] = problems(run(desk, content, dry_run=True))
    assert (cell, "children" in text) == (f"F{place}", True)


def test_a_batch_that_is_too_heavy_is_divided(desk: TableDesk, settings: Settings) -> None:
    made = desk.update(*({"type": "thing", "attributes": {**NAMED, "text": {"1033": "x" * 900}}} for _ in range(8)))
    settings.RESPONSE_BYTES = 4_000
    report = run(desk, saved_csv([["id", "note"], *([id, "a"] for id in made)]))
    assert report.counts == {"create": 0, "update": 8, "unchanged": 0}


def test_a_plan_leaves_nothing_locked(desk: TableDesk) -> None:
    """Savepoints are rolled back, so that other users can go on while somebody looks at a preview."""
    content = saved_csv([["id", "note"], [ID["thing"], "a"]])
    with CaptureQueriesContext(connection) as captured:
        run(desk, content, dry_run=True)
    texts = [each["sql"] for each in captured]
    locks = [number for number, text in enumerate(texts) if "FOR NO KEY UPDATE" in text]
    ends = [number for number, text in enumerate(texts) if text.startswith("ROLLBACK TO SAVEPOINT")]
    assert locks
    assert max(locks) < max(ends)


def test_files_are_the_same_at_another_address(desk: TableDesk) -> None:
    """The address of an uploaded file is derived, so a table from another address of the service changes nothing."""
    stored = [{"address": ID["part"], "fullAddress": "https://a.example/x", "protocol": "repository", "title": "a"}]
    other = [{**stored[0], "fullAddress": "http://b.example:8080/x"}]
    assert same_files(json.dumps(other), json.dumps(stored))
    assert not same_files(json.dumps([{**other[0], "title": "b"}]), json.dumps(stored))
    assert not same_files("[", json.dumps(stored))
    assert not same_files(None, json.dumps(stored))


def test_a_long_text_can_be_edited_in_csv(desk: TableDesk) -> None:
    desk.update({"id": ID["thing"], "attributes": {"text": {"1033": "x" * 40_000}}})
    place = rows_of(desk)[ID["thing"]]
    run(desk, table(desk, "csv", edits={(place, "text[1033]"): "y" * 40_000}))
    assert desk.element(ID["thing"])["attributes"]["text"]["1033"] == "y" * 40_000


def test_a_text_that_does_not_fit_into_a_cell(desk: TableDesk) -> None:
    desk.update({"id": ID["thing"], "attributes": {"text": {"1033": "x" * 40_000}}})
    place = rows_of(desk)[ID["thing"]]
    assert changes(run(desk, table(desk), dry_run=True)) == []
    report = run(desk, table(desk, edits={(place, "text[1033]"): "short"}), dry_run=True)
    assert [text for _cell, text in problems(report)] == [
        "is too long for a cell; change it on the page of the element"
    ]


def test_formulas_are_texts(desk: TableDesk) -> None:
    place = rows_of(desk)[ID["thing"]]
    for format, typed in (("xlsx", "=1+1"), ("csv", "'=1+1")):
        run(desk, table(desk, format, {(place, "note"): typed}))
        assert desk.element(ID["thing"])["attributes"]["note"] == {"127": "=1+1"}
        assert changes(run(desk, table(desk, format), dry_run=True)) == []
        desk.update({"id": ID["thing"], "attributes": {"note": {"127": None}}})


def test_the_number_of_statements_does_not_depend_on_the_rows(desk: TableDesk) -> None:
    def statements(count: int) -> int:
        made = desk.update(
            *({"type": "thing", "attributes": {"name": {"1031": f"n{n}", "1033": f"n{n}"}}} for n in range(count))
        )
        content = saved_csv([["id", "note"], *([id, f"new {id}"] for id in made)])
        with CaptureQueriesContext(connection) as captured:
            assert run(desk, content).counts["update"] == count
        return len(captured)

    statements(2)
    assert statements(3) == statements(40)


class TestCommand:
    def call(self, desk: TableDesk, path: Path, content: bytes, *options: str) -> tuple[str, str]:
        path.write_bytes(content)
        out, err = StringIO(), StringIO()
        call_command("import_table", "acme", "workshop", str(path), *options, stdout=out, stderr=err)
        return out.getvalue(), err.getvalue()

    def test_a_dry_run_and_an_import(self, desk: TableDesk, tmp_path: Path) -> None:
        place = rows_of(desk)[ID["thing"]]
        content = table(desk, edits={(place, "name[1033]"): "New name"})
        out, err = self.call(desk, tmp_path / "t.xlsx", content, "--dry-run")
        assert out == f"row {place}: {ID['thing']}\n  H{place} name[1033]: 'Thing' -> 'New name'\n"
        assert err == "0 elements would be created, 1 would be updated, 6 unchanged.\n"
        out, err = self.call(desk, tmp_path / "t.xlsx", content)
        assert (out, err) == ("", "0 elements created, 1 updated, 6 unchanged.\n")
        assert desk.element(ID["thing"])["attributes"]["name"]["1033"] == "New name"

    def test_problems(self, desk: TableDesk, tmp_path: Path) -> None:
        content = saved_csv([["id", "count", "other"], [ID["thing"], "x", ""]])
        for options in (["--dry-run"], []):
            with pytest.raises(CommandError, match=r"problem|B2"):
                self.call(desk, tmp_path / "t.csv", content, *options)
        with pytest.raises(CommandError, match="is not an attribute"):
            self.call(desk, tmp_path / "t.csv", content, "--key", "nam")
        with pytest.raises(CommandError, match="There is no type"):
            self.call(desk, tmp_path / "t.csv", content, "--type", "nothing")
        with pytest.raises(CommandError, match="No column"):
            self.call(desk, tmp_path / "t.csv", saved_csv([["a"], ["b"]]))


def test_another_storage_is_not_touched(desk: TableDesk, other_storage: Storage) -> None:
    """The rival has the same ids."""
    place = rows_of(desk)[ID["thing"]]
    run(desk, table(desk, edits={(place, "name[1033]"): "New name"}))
    rival = desk.api.get("/rival/workshop/_api/rest/facets/things/views/detail/elements?$format=csv").content.decode()
    assert "New name" not in rival
