"""Import of tables in the back office (D466, D467): upload, columns, preview, confirmation, background jobs."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from elements.models import TableImport, TableMapping
from elements.tables import kept_imports
from elements.tables.kept_imports import KEPT, LOST, forget_imports
from elements.tables.mapping import MOST_REMEMBERED, known_columns, remember_columns, remembered_columns
from elements.tables.read_tables import TableBounds
from facets.configuration import configuration_of
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office, form_data, main_text
from tests.elements.tables.spreadsheets import edited, saved_csv, saved_xlsx
from tests.elements.tables.table_desk import TableDesk
from tests.elements.workshop import ID
from tests.jobs import run_jobs, waiting_jobs

pytestmark = pytest.mark.django_db
IMPORT = "elements/element/import/"


@pytest.fixture
def office(workshop: Storage) -> Office:
    return Office(workshop, Role.EDITOR)


def send(office: Office, **data: Any) -> Any:
    """Send the form and return the page after it."""
    return office.post(IMPORT, data, follow=True)


def choose(office: Office, content: bytes, name: str = "table.csv", **more: str) -> Any:
    return send(office, file=SimpleUploadedFile(name, content), _preview="", **more)


def imported(office: Office, preview: Any) -> str:
    return str(send(office, **form_data(preview), _import="").content.decode())


def test_preview_changes_nothing_and_its_button_imports(office: Office, desk: TableDesk) -> None:
    assert "Import" in office.page("elements/element/")
    assert "Workbook (xlsx) or csv" in office.page(IMPORT)
    row = [each[0] for each in desk.csv()].index(ID["thing"]) + 1
    content = edited("xlsx", desk.file("xlsx"), {(row, "name[1033]"): "New name"})
    preview = choose(office, content, "table.xlsx")
    text = main_text(preview)
    assert preview.status_code == 200
    assert "Preview: table.xlsx 0 new, 1 changed, 6 unchanged. Nothing has changed yet." in text
    assert f"{row} H{row} name[1033] Thing New name" in text
    assert desk.element(ID["thing"])["attributes"]["name"]["1033"] == "Thing"
    assert "1 element was imported." in imported(office, preview)
    assert desk.element(ID["thing"])["attributes"]["name"]["1033"] == "New name"
    # The file is gone, and the same one changes nothing any more.
    assert "Workbook (xlsx) or csv" in office.page(IMPORT)
    again = choose(office, content, "table.xlsx")
    assert "The table changes nothing." in main_text(again)
    assert "_import" not in form_data(again)


def test_problems_have_their_cells_and_prevent_the_import(office: Office, desk: TableDesk) -> None:
    preview = choose(office, saved_csv([["id", "count"], [ID["thing"], "many"], ["?", "1"]]))
    text = main_text(preview)
    assert "2 problems: nothing can be imported until they are solved." in text
    assert "B2 : must be a whole number of up to 64 bits" in text
    assert "A3 : '?' is not a GUID" in text
    forced = send(office, **form_data(preview), _import="")
    assert "Nothing was imported. B2: must be a whole number of up to 64 bits." in main_text(forced)
    assert "count" not in desk.element(ID["thing"])["attributes"]


def test_a_change_between_preview_and_import(office: Office, desk: TableDesk) -> None:
    preview = choose(office, saved_csv([["id", "note"], [ID["thing"], "mine"]]))
    desk.update({"id": ID["thing"], "attributes": {"note": {"127": "theirs"}}})
    response = send(office, **form_data(preview), _import="")
    assert "The elements have changed since the preview." in main_text(response)
    assert desk.element(ID["thing"])["attributes"]["note"] == {"127": "theirs"}
    # The file is still there: the next preview shows the new state.
    again = send(office, **form_data(response), _preview="")
    assert "theirs mine" in main_text(again)


def test_a_preview_in_another_tab_cannot_be_confirmed_by_accident(office: Office, desk: TableDesk) -> None:
    first = choose(office, saved_csv([["id", "note"], [ID["thing"], "first"]]))
    choose(office, saved_csv([["id", "note"], [ID["thing"], "second"]]))
    response = office.post(IMPORT, {**form_data(first), "_import": ""})
    assert (response.status_code, "have changed since the preview" in main_text(response)) == (409, True)
    assert "note" not in desk.element(ID["thing"])["attributes"]


def test_a_file_is_discarded(office: Office, workshop: Storage) -> None:
    choose(office, saved_csv([["id", "note"], [ID["thing"], "first"]]))
    assert "first" in office.page(IMPORT)
    assert "Workbook (xlsx) or csv" in main_text(send(office, _discard=""))
    with tenant_scope(workshop):
        assert not TableImport.objects.exists()
    assert office.post(IMPORT, {"_import": "", "digest": "x"}).status_code == 409


def test_nobody_sees_the_table_of_another_person(office: Office, workshop: Storage) -> None:
    choose(office, saved_csv([["id", "note"], [ID["thing"], "secret"]]))
    assert "secret" not in Office(workshop, Role.ADMINISTRATOR).page(IMPORT)


def test_columns_are_chosen_and_remembered(office: Office, desk: TableDesk, workshop: Storage) -> None:
    content = saved_csv([["Kennung", "Bemerkung", "Name[1033]", "other"], [ID["thing"], "a", "Thing", "x"]])
    form = form_data(choose(office, content))
    assert [form[f"column-{place}"] for place in range(4)] == ["", "", "name[1033]", ""]
    mapped = send(office, **{**form, "column-0": "id", "column-1": "note", "_preview": ""})
    assert "0 new, 1 changed, 0 unchanged." in main_text(mapped)
    with tenant_scope(workshop):
        assert remembered_columns() == {}
    assert "1 element was imported." in imported(office, mapped)
    with tenant_scope(workshop):
        assert remembered_columns() == {"kennung": "id", "bemerkung": "note"}
        assert TableMapping.objects.count() == 1
    next_table = saved_csv([["Kennung", "Bemerkung"], [ID["thing"], "b"]])
    assert "0 new, 1 changed, 0 unchanged." in main_text(choose(office, next_table))


@pytest.mark.long
def test_a_column_that_is_left_out_stays_out_until_it_is_chosen_again(office: Office, workshop: Storage) -> None:
    content = saved_csv([["id", "note", "count"], [ID["thing"], "a", "1"]])
    form = form_data(choose(office, content))
    imported(office, send(office, **{**form, "column-2": "", "_preview": ""}))
    with tenant_scope(workshop):
        assert remembered_columns() == {"count": ""}
    form = form_data(choose(office, saved_csv([["id", "count"], [ID["thing"], "2"]])))
    assert form["column-1"] == ""
    imported(office, send(office, **{**form, "column-1": "count", "_preview": ""}))
    with tenant_scope(workshop):
        assert remembered_columns() == {}


def test_rows_without_an_id(office: Office, desk: TableDesk) -> None:
    content = saved_csv([["name[1031]", "name[1033]", "note"], ["Thing deutsch", "Thing", "a"], ["Neu", "New", "b"]])
    assert "a new element needs a type" in main_text(choose(office, content))
    preview = choose(office, content, key="name[1033]", type="thing")
    assert "1 new, 1 changed, 0 unchanged." in main_text(preview)
    preview = send(office, **{**form_data(preview), "only": "new"}, _preview="")
    assert "1 new, 0 changed, 1 unchanged." in main_text(preview)
    preview = send(office, **{**form_data(preview), "only": ""}, _preview="")
    assert "2 elements were imported." in imported(office, preview)
    assert desk.element(ID["thing"])["attributes"]["note"] == {"127": "a"}


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        ({}, 422, "Choose a workbook (xlsx) or a csv file."),
        ({"file": SimpleUploadedFile("a.xlsx", b"PK")}, 400, "it is not a workbook, or it is damaged"),
        ({"file": SimpleUploadedFile("a.csv", b"")}, 422, "The table is empty."),
    ],
)
def test_files_that_cannot_be_read(office: Office, workshop: Storage, data: Any, status: int, message: str) -> None:
    response = office.post(IMPORT, data)
    assert response.status_code == status
    assert message in main_text(response)
    with tenant_scope(workshop):
        assert not TableImport.objects.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb", "No column of the table is known."),
        (b"id,id\n1,2", "B1: the column id occurs twice."),
    ],
)
def test_columns_that_are_wrong_can_be_corrected(office: Office, content: bytes, message: str) -> None:
    response = choose(office, content)
    assert message in main_text(response)
    form = form_data(response)
    assert "_import" not in form
    corrected = send(office, **{**form, "column-0": "id", "column-1": "", "_preview": ""})
    assert "is not a GUID" in main_text(corrected)


def test_characters_that_the_database_cannot_store(office: Office, desk: TableDesk) -> None:
    content = saved_xlsx([["id", "note", "a"], [ID["thing"], "a_x0000_b", "_xD800_"]])
    content = edited_sheet(content, b"_x005F_x", b"_x")
    preview = choose(office, content, "table.xlsx")
    assert "B2 : must not contain a NUL character" in main_text(preview)
    form = form_data(preview)
    assert send(office, **{**form, "column-2": "a\x00b", "_preview": ""}).status_code == 200


class TestLargeTables:
    @pytest.fixture(autouse=True)
    def small_requests(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(kept_imports, "SMALL", TableBounds(1, 100, 1_000_000))

    CONTENT = saved_csv([["id", "note"], [ID["thing"], "a"], [ID["other"], "b"]])

    def test_a_job_makes_the_preview_and_the_import(self, office: Office, desk: TableDesk, workshop: Storage) -> None:
        assert "table.csv is being read for the preview." in main_text(choose(office, self.CONTENT))
        assert [name for name, _args in waiting_jobs()] == ["elements.import_table"]
        # Meanwhile nothing else can be asked for.
        assert office.post(IMPORT, {"_discard": ""}).status_code == 409
        assert choose(office, self.CONTENT).status_code == 409
        assert run_jobs() == ["elements.import_table"]
        preview = office.get(IMPORT)
        assert "0 new, 2 changed, 0 unchanged." in main_text(preview)
        waiting = send(office, **form_data(preview), _import="")
        assert "table.csv is being imported." in main_text(waiting)
        assert "note" not in desk.element(ID["thing"])["attributes"]
        run_jobs()
        assert "table.csv : 2 elements were imported." in office.page(IMPORT)
        assert desk.element(ID["thing"])["attributes"]["note"] == {"127": "a"}
        with tenant_scope(workshop):
            assert bytes(TableImport.objects.get().content) == b""
        # The job does nothing when it runs again.
        kept_imports.run_import(workshop, table=str(kept(workshop).id))
        assert "2 elements were imported." in office.page(IMPORT)

    def test_problems_of_a_job_are_on_the_page(self, office: Office, workshop: Storage) -> None:
        choose(office, b'id,note\n1,2\n3,4\n5,"open')
        run_jobs()
        assert "Nothing was imported. The file cannot be read as a table: row 4" in office.page(IMPORT)
        choose(office, self.CONTENT)
        with tenant_scope(workshop):
            TableImport.objects.update(caller_label="staff:0")
        run_jobs()
        with tenant_scope(workshop):
            assert TableImport.objects.get().report["errors"] == ["The caller has no access to the storage any more."]

    def test_a_table_with_too_many_rows(self, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(kept_imports, "LARGE", TableBounds(1, 100, 1_000_000))
        choose(office, self.CONTENT)
        run_jobs()
        assert "The table has more than 1 rows. Divide it." in office.page(IMPORT)

    def test_a_change_between_preview_and_import(self, office: Office, desk: TableDesk) -> None:
        choose(office, self.CONTENT)
        run_jobs()
        send(office, **form_data(office.get(IMPORT)), _import="")
        desk.update({"id": ID["other"], "attributes": {"note": {"127": "theirs"}}})
        run_jobs()
        assert "The elements have changed since the preview." in office.page(IMPORT)
        assert "note" not in desk.element(ID["thing"])["attributes"]

    def test_a_lost_job_does_not_block_its_caller(self, office: Office, workshop: Storage) -> None:
        choose(office, self.CONTENT)
        with tenant_scope(workshop):
            TableImport.objects.update(changed_on=timezone.now() - LOST)
        assert "The table was not read to its end." in office.page(IMPORT)
        assert "is being read" in main_text(send(office, _preview=""))

    def test_tables_are_forgotten(self, office: Office, workshop: Storage) -> None:
        choose(office, self.CONTENT)
        forget_imports(workshop)
        assert kept(workshop).name == "table.csv"
        with tenant_scope(workshop):
            TableImport.objects.update(changed_on=timezone.now() - KEPT)
        forget_imports(workshop)
        with tenant_scope(workshop):
            assert not TableImport.objects.exists()


def kept(workshop: Storage) -> TableImport:
    with tenant_scope(workshop):
        return TableImport.objects.get()


def edited_sheet(content: bytes, old: bytes, new: bytes) -> bytes:
    """Replace bytes in all documents of a workbook."""
    source, out = ZipFile(BytesIO(content)), BytesIO()
    with ZipFile(out, "w") as made:
        for name in source.namelist():
            made.writestr(name, source.read(name).replace(old, new))
    return out.getvalue()


def test_only_editors_import(workshop: Storage) -> None:
    analyst = Office(workshop, Role.ANALYZER)
    assert analyst.get(IMPORT).status_code == 403
    assert choose(analyst, b"id\n").status_code == 403
    assert "import/" not in analyst.get("elements/element/").content.decode()


def test_in_german(workshop: Storage) -> None:
    office = Office(workshop, Role.EDITOR, language="de")
    assert "Arbeitsmappe (xlsx) oder CSV" in office.page(IMPORT)
    text = main_text(choose(office, saved_csv([["id", "count"], [ID["thing"], "viele"]])))
    assert "muss eine ganze Zahl" in text


def test_the_oldest_choices_are_forgotten(workshop: Storage) -> None:
    with tenant_scope(workshop):
        known = known_columns(configuration_of(workshop))
        # The database sorts the fields of objects by their length.
        remember_columns({0: "the oldest header"}, known, {0: "id"})
        headers = {number: f"h{number}" for number in range(MOST_REMEMBERED - 1)}
        remember_columns(headers, known, dict.fromkeys(headers, "id"))
        assert remembered_columns()["the oldest header"] == "id"
        remember_columns({0: "new", 1: "x" * 300, 2: "typo"}, known, {0: "note", 1: "id", 2: "nobody"})
        found = remembered_columns()
        assert (len(found), "the oldest header" in found, found["new"]) == (MOST_REMEMBERED, False, "note")
