"""Import of tables in the back office (D466): upload, columns, preview, confirmation."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import Settings

from elements.models import TableMapping
from elements.tables.remembered import MOST_REMEMBERED, remember_columns, remembered_columns
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office, form_data, main_text
from tests.elements.tables.spreadsheets import edited, saved_csv
from tests.elements.tables.table_desk import TableDesk
from tests.elements.workshop import ID

pytestmark = pytest.mark.django_db
IMPORT = "elements/element/import/"


@pytest.fixture
def office(workshop: Storage) -> Office:
    return Office(workshop, Role.EDITOR)


def choose(office: Office, content: bytes, name: str = "table.csv", **more: str) -> Any:
    return office.post(IMPORT, {"file": SimpleUploadedFile(name, content), "_preview": "", **more})


def test_preview_changes_nothing_and_its_button_imports(office: Office, desk: TableDesk) -> None:
    assert "Import" in office.page("elements/element/")
    assert "Workbook (xlsx) or csv" in office.page(IMPORT)
    row = [each[0] for each in desk.csv()].index(ID["thing"]) + 1
    content = edited("xlsx", desk.file("xlsx"), {(row, "name[1033]"): "New name"})
    preview = choose(office, content, "table.xlsx")
    text = main_text(preview)
    assert preview.status_code == 200
    assert "0 new, 1 changed, 6 unchanged. Nothing is stored yet." in text
    assert f"{row} H{row} name[1033] Thing New name" in text
    assert desk.element(ID["thing"])["attributes"]["name"]["1033"] == "Thing"
    response = office.post(IMPORT, {**form_data(preview), "_import": ""})
    assert response.status_code == 302, main_text(response)
    assert "1 element was imported." in office.get("elements/element/").content.decode()
    assert desk.element(ID["thing"])["attributes"]["name"]["1033"] == "New name"
    again = choose(office, content, "table.xlsx")
    assert "The table changes nothing." in main_text(again)
    assert "_import" not in form_data(again)


def test_problems_have_their_cells_and_prevent_the_import(office: Office, desk: TableDesk) -> None:
    preview = choose(office, saved_csv([["id", "count"], [ID["thing"], "many"], ["?", "1"]]))
    text = main_text(preview)
    assert "2 problems: nothing can be imported until they are solved." in text
    assert "B2 : must be a whole number of up to 64 bits" in text
    assert "A3 : '?' is not a GUID" in text
    forced = office.post(IMPORT, {**form_data(preview), "_import": ""})
    assert forced.status_code == 422
    assert "count" not in desk.element(ID["thing"])["attributes"]


def test_a_change_between_preview_and_import(office: Office, desk: TableDesk) -> None:
    preview = choose(office, saved_csv([["id", "note"], [ID["thing"], "mine"]]))
    desk.update({"id": ID["thing"], "attributes": {"note": {"127": "theirs"}}})
    response = office.post(IMPORT, {**form_data(preview), "_import": ""})
    assert response.status_code == 409
    assert "The elements have changed since the preview." in main_text(response)
    assert desk.element(ID["thing"])["attributes"]["note"] == {"127": "theirs"}
    # The form still has the file: the next preview shows the new state.
    again = office.post(IMPORT, {**form_data(response), "_preview": ""})
    assert "theirs mine" in main_text(again)


def test_columns_are_chosen_and_remembered(office: Office, desk: TableDesk, workshop: Storage) -> None:
    content = saved_csv([["Kennung", "Bemerkung", "Name[1033]", "other"], [ID["thing"], "a", "Thing", "x"]])
    preview = choose(office, content)
    form = form_data(preview)
    assert [form[f"column-{place}"] for place in range(4)] == ["", "", "name[1033]", ""]
    mapped = office.post(IMPORT, {**form, "column-0": "id", "column-1": "note", "_preview": ""})
    assert "0 new, 1 changed, 0 unchanged." in main_text(mapped)
    with tenant_scope(workshop):
        assert remembered_columns() == {}
    assert office.post(IMPORT, {**form_data(mapped), "_import": ""}).status_code == 302
    with tenant_scope(workshop):
        assert remembered_columns() == {"kennung": "id", "bemerkung": "note"}
        assert TableMapping.objects.count() == 1
    next_table = saved_csv([["Kennung", "Bemerkung"], [ID["thing"], "b"]])
    assert "0 new, 1 changed, 0 unchanged." in main_text(choose(office, next_table))


def test_a_column_that_is_left_out_stays_out(office: Office, workshop: Storage) -> None:
    content = saved_csv([["id", "note", "count"], [ID["thing"], "a", "1"]])
    form = form_data(choose(office, content))
    preview = office.post(IMPORT, {**form, "column-2": "", "_preview": ""})
    assert office.post(IMPORT, {**form_data(preview), "_import": ""}).status_code == 302
    with tenant_scope(workshop):
        assert remembered_columns() == {"count": ""}


def test_rows_without_an_id(office: Office, desk: TableDesk) -> None:
    content = saved_csv([["name[1031]", "name[1033]", "note"], ["Thing deutsch", "Thing", "a"], ["Neu", "New", "b"]])
    assert "a new element needs a type" in main_text(choose(office, content))
    preview = choose(office, content, key="name[1033]", type="thing")
    assert "1 new, 1 changed, 0 unchanged." in main_text(preview)
    assert office.post(IMPORT, {**form_data(preview), "_import": ""}).status_code == 302
    assert desk.element(ID["thing"])["attributes"]["note"] == {"127": "a"}


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        ({}, 422, "Choose a workbook (xlsx) or a csv file."),
        ({"document": "%"}, 400, "The preview cannot be read. Choose the file again."),
        ({"file": SimpleUploadedFile("a.xlsx", b"PK")}, 400, "it is not a workbook, or it is damaged"),
        ({"file": SimpleUploadedFile("a.csv", b"")}, 422, "The table is empty."),
        ({"file": SimpleUploadedFile("a.csv", b"a\nb")}, 422, "No column of the table is known."),
        ({"file": SimpleUploadedFile("a.csv", b"id,id\n1,2")}, 422, "B1: the column id occurs twice."),
    ],
)
def test_files_that_cannot_be_read(office: Office, data: Any, status: int, message: str) -> None:
    response = office.post(IMPORT, data)
    assert response.status_code == status
    assert message in main_text(response)


def test_a_file_that_is_too_large(office: Office, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    response = choose(office, b"id\n" + b"x" * 100)
    assert response.status_code == 413
    assert "manage.py import_table" in main_text(response)


def test_a_table_with_too_many_rows(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elements.admin.tables.importing.MOST_ROWS", 1)
    response = choose(office, b"id\n1\n2\n")
    assert response.status_code == 413
    assert "The table has more than 1 rows. Import it with manage.py import_table." in main_text(response)


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
        remember_columns({f"h{number}": "id" for number in range(MOST_REMEMBERED)})
        remember_columns({"new": "note", "x" * 300: "id"})
        found = remembered_columns()
        assert (len(found), "h0" in found, found["new"]) == (MOST_REMEMBERED, False, "note")
