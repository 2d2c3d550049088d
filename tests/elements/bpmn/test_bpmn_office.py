"""BPMN documents in the back office: export, preview and import on the pages of a diagram."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.shortcuts import redirect
from pytest_django import Settings

from elements.admin import bpmn
from repository_site.core.database.commits import ShardMoved
from storage.models import Storage
from storage.options import Role
from tests.elements.bpmn.conftest import DRAFT, RELEASED, BpmnClient
from tests.elements.bpmn.documents import SMALL, definitions
from tests.elements.office import Office, form_data, main_text

pytestmark = pytest.mark.django_db
IMPORT = f"elements/element/{DRAFT}/bpmn/import/"


@pytest.fixture
def office(showcase: Storage) -> Office:
    return Office(showcase, Role.ARCHITECT)


def choose(office: Office, document: str, **more: str) -> Any:
    form = office.form(IMPORT)
    file = SimpleUploadedFile("small.bpmn", document.encode(), "application/xml")
    return office.post(IMPORT, {"revision": form["revision"], "file": file, **more})


def test_preview_changes_nothing_and_its_button_imports(office: Office, client_of_bpmn: BpmnClient) -> None:
    assert "Import BPMN" in office.element(DRAFT, tab="diagram")
    before = client_of_bpmn.content()
    preview = choose(office, SMALL, _preview="")
    text = main_text(preview)
    assert preview.status_code == 200
    for part in ("Added (15)", "Shape Check", "Flow Yes", "Changed (1)", "Kept in the document (3)", "association A"):
        assert part in text, text
    assert client_of_bpmn.content() == before
    response = office.post(IMPORT, {**form_data(preview), "_import": ""})
    assert response.status_code == 302, main_text(response)
    assert [each["attributes"]["name"]["1033"] for each in client_of_bpmn.content()] == [
        "Need", "Check stock", "Enough?", "Order", "Done",
    ]  # fmt: skip
    assert "The document changes nothing." in main_text(choose(office, SMALL, _preview=""))


def test_preview_names_the_diagrams_that_call_the_process(office: Office, client_of_bpmn: BpmnClient) -> None:
    caller = client_of_bpmn.new_process("Sell bicycles")
    inner = '<callActivity id="Call" calledElement="P"/>'
    client_of_bpmn.bring_in(definitions(f'<process id="Caller">{inner}</process>'), caller)
    preview = choose(office, SMALL, _preview="")
    assert "Changed (2) BPMN document Diagram that calls this process Sell bicycles" in main_text(preview)
    assert [each["type"] for each in client_of_bpmn.content(caller)] == ["processInterfacePlaceholder"]


def test_import_that_meets_a_moving_shard_is_made_once(
    office: Office, client_of_bpmn: BpmnClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is repeated with the same upload, and tells its message once (D308)."""
    attempts = []

    def interrupted(address: str) -> Any:
        attempts.append(address)
        if len(attempts) < 3:
            raise ShardMoved("the query contains a join that requires repartitioning")
        return redirect(address)

    monkeypatch.setattr(bpmn, "redirect", interrupted)
    response = choose(office, SMALL, _import="")
    assert (response.status_code, len(attempts)) == (302, 3), main_text(response)
    page = office.get(response["Location"]).content.decode()
    assert page.count("was imported") == 1
    assert len(client_of_bpmn.content()) == 5


def test_export_is_that_of_the_api(office: Office, client_of_bpmn: BpmnClient) -> None:
    response = office.get(f"elements/element/{DRAFT}/bpmn/")
    assert response["Content-Type"] == "application/xml"
    assert response["Content-Disposition"].startswith("attachment; filename=")
    assert response.content == client_of_bpmn.take_out()


def test_wrong_file_is_explained(office: Office, settings: Settings) -> None:
    response = choose(office, "<a><b></a>", _preview="")
    assert response.status_code == 400
    assert "line 1, column 9: the file is not well-formed XML" in main_text(response)
    form = office.form(IMPORT)
    assert "Choose a BPMN 2.0 file." in main_text(office.post(IMPORT, {"revision": form["revision"]}))
    response = office.post(IMPORT, {"revision": form["revision"], "document": "§", "_import": ""})
    assert (response.status_code, "Choose the file again" in main_text(response)) == (400, True)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = choose(office, SMALL, _preview="")
    assert (response.status_code, "more than 700 bytes" in main_text(response)) == (413, True)


def test_change_of_another_user_is_not_overwritten(office: Office, client_of_bpmn: BpmnClient) -> None:
    preview = form_data(choose(office, SMALL, _preview=""))
    client_of_bpmn.bring_in(SMALL.replace("Order", "Buy"))
    response = office.post(IMPORT, {**preview, "_import": ""})
    assert response.status_code == 412
    assert "Another user has changed this element" in main_text(response)
    assert "Buy" in str(client_of_bpmn.content())


def test_only_drafts_and_editors_get_the_form(office: Office, showcase: Storage) -> None:
    assert office.get(f"elements/element/{RELEASED}/bpmn/import/").status_code == 409
    assert "Import BPMN" not in office.element(RELEASED, tab="diagram")
    reader = Office(showcase, Role.ANALYZER)
    assert reader.get(IMPORT).status_code == 403
    assert reader.post(IMPORT, {"document": "PGEvPg==", "_import": ""}).status_code == 403
    assert "Export as BPMN" in reader.element(DRAFT, tab="diagram")
    assert "Import BPMN" not in reader.element(DRAFT, tab="diagram")
