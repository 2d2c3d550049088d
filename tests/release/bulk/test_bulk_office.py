"""Bulk changes in the back office: select, choose, preview, run and report (D471)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.bulk import runs
from elements.models import BulkRun
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office, main_text, names_of
from tests.jobs import run_jobs
from tests.release.bulk.bulk_calls import bulk
from tests.release.house import ID, HouseClient, MakeClient, Wire
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
LIST, BULK = "elements/element/", "elements/bulk/"


@pytest.fixture
def office(house: Storage) -> Office:
    return Office(house, Role.ARCHITECT)


def preview(office: Office, what: str, *names: str, **values: str) -> Any:
    """Return the page of the preview of an operation on some elements."""
    data = {"element": [ID[each] for each in names], "scope": "selected", "list": "", "what": what, "preview": "1"}
    response = office.post(BULK, {**data, **values})
    assert response.status_code == 302, main_text(response)
    return office.get(response["Location"])


def run(office: Office, previewed: Any) -> Any:
    response = office.post(previewed.request["PATH_INFO"])
    assert response.status_code == 302, main_text(response)
    return office.get(response["Location"])


def test_selected_elements_are_changed_after_a_preview(office: Office, caller: HouseClient) -> None:
    selected = {"action": "change_in_bulk", "index": "0", "_selected_action": [ID["inProcess"], ID["inReview"]]}
    choosing = office.post(f"{LIST}?facet=processes", selected)
    text = main_text(choosing)
    assert "The 2 selected elements" in text
    assert re.search(r"All \d+ elements of the list", text)
    assert "Set: Purpose" in text
    assert "Send back for editing (In review) " in text
    valued = office.post(
        BULK, {"element": selected["_selected_action"], "scope": "selected", "list": "", "what": "set:purp"}
    )
    assert "2 elements: Set: Purpose" in main_text(valued)
    previewed = preview(office, "set:purp", "inProcess", "inReview", **{"a-purp-1033": "New"})
    text = main_text(previewed)
    assert "Set: Purpose = New" in text
    assert "Change 1 element" in text
    assert "inReview-1 Purpose cannot be changed in the state" in text
    assert caller.element("inProcess")["attributes"]["purp"] == {"1033": "Purpose"}
    deletion = main_text(preview(office, "delete", "inProcess", "released"))
    assert "Delete 1 element" in deletion
    refused = main_text(preview(office, "transition:InProcessToInReview", "released"))
    assert "in the state Released. Available transitions: Request expiry." in refused
    done = main_text(run(office, previewed))
    assert "2 of 2 elements, done" in done
    assert "Change 1 element" not in done
    assert caller.element("inProcess")["attributes"]["purp"] == {"1033": "New"}


def test_all_elements_of_a_filtered_list(office: Office, caller: HouseClient) -> None:
    choosing = main_text(office.get(f"{BULK}?state=inProcess&facet=processes"))
    assert "The only element of the list" in choosing
    data = {"scope": "all", "list": "state=inProcess&facet=processes", "what": "clear:owner"}
    page = office.get(office.post(BULK, data)["Location"])
    assert "Clear: Owner" in main_text(page)
    run(office, page)
    assert "owner" not in caller.element("inProcess")["related"]


@pytest.mark.parametrize(
    ("what", "values", "words"),
    first_quick([
        ("add:secondaryAuthors", {"r-secondaryAuthors": f"{ID['ben']},{ID['dora']}"}, "Add references: Further authors = Ben, Dora"),
        ("remove:systems", {"r-systems": ID["erp"]}, "Remove references: Systems = ERP"),
        ("set:owner", {"r-owner": ID["cora"]}, "Set: Owner = Cora"),
        ("move", {"parent": ID["released"]}, "Move: released-1"),
        ("transition:InProcessToInReview", {"ignoreWarnings": "true", "comment": "c"}, "Transition:"),
        ("delete", {}, "Delete"),
    ], 2),
)  # fmt: skip
def test_operations(office: Office, what: str, values: dict[str, str], words: str) -> None:
    previewed = preview(office, what, "inProcess", **values)
    assert words in main_text(previewed)
    assert "1 of 1 elements, done" in main_text(run(office, previewed))


def test_new_versions(office: Office, caller: HouseClient) -> None:
    run(office, preview(office, "createVersion", "released"))
    assert caller.element("released")["state"] == "inProcess"


def test_missing_values_are_asked_for(office: Office) -> None:
    data = {"element": [ID["inProcess"]], "scope": "selected", "list": "", "what": "set:purp", "preview": "1"}
    assert "Enter a value. To remove values, choose Clear." in main_text(office.post(BULK, data))


def test_a_large_run_shows_its_progress(office: Office, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALL", 1)
    page = preview(office, "set:purp", "inProcess", "inReview", "released", **{"a-purp-1033": "New"})
    assert "0 of 3 elements, waiting" in main_text(page)
    assert b'http-equiv="refresh"' in page.content
    run_jobs()
    page = office.get(page.request["PATH_INFO"])
    assert "3 of 3 elements, done" in main_text(page)
    assert b'http-equiv="refresh"' not in page.content
    listed = office.page("elements/bulk/runs/")
    assert "Set: Purpose = New preview" in listed


def test_a_run_is_stopped_on_its_page(office: Office, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALL", 1)
    page = preview(office, "set:purp", "inProcess", "inReview", "released", **{"a-purp-1033": "New"})
    path = page.request["PATH_INFO"]
    assert b'id="stop-run"' in page.content
    assert Office(house, Role.EDITOR).post(path, {"stop": "1"}).status_code == 404
    assert office.post(path, {"stop": "1"}).status_code == 302
    stopped = office.get(path)
    assert "0 of 3 elements, stopped Stopped by the caller." in main_text(stopped)
    assert b'id="stop-run"' not in stopped.content
    assert b"hx-trigger" not in stopped.content.partition(b'id="bulk-run"')[2].partition(b">")[0]
    run_jobs()
    assert "0 of 3 elements" in main_text(office.get(path))


def test_reports_are_in_the_language_of_the_page(house: Storage) -> None:
    german = Office(house, Role.ARCHITECT, language="de")
    text = main_text(preview(german, "set:purp", "inProcess", "inReview", **{"a-purp-1033": "Neu"}))
    assert "1 Element ändern" in text
    assert "Abgelehnte Elemente" in text


def test_others_cannot_see_or_run_a_preview(house: Storage, office: Office) -> None:
    previewed = preview(office, "delete", "inProcess")
    path = previewed.request["PATH_INFO"]
    assert Office(house, Role.EDITOR).get(path).status_code == 404
    administrator = Office(house, Role.ADMINISTRATOR)
    assert "Change 1 element" not in main_text(administrator.get(path))
    assert administrator.post(path).status_code == 422
    with tenant_scope(house):
        assert not BulkRun.objects.filter(is_dry_run=False).exists()


def test_readers_get_no_selection(house: Storage, desk: MakeClient) -> None:
    reader = Office(house, Role.ANALYZER)
    page = reader.get(LIST)
    assert b"_selected_action" not in page.content
    assert "Change all elements" not in main_text(page)
    assert reader.get(BULK).status_code == 403


def test_an_empty_selection_is_refused(office: Office) -> None:
    assert office.get(f"{BULK}?state=none").status_code == 404


def test_an_element_counts_once(office: Office) -> None:
    page = preview(office, "clear:owner", "inProcess", "inProcess")
    assert "1 of 1 elements, done" in main_text(page)


def test_an_unknown_filter_of_the_list_is_reported(office: Office) -> None:
    assert office.get(f"{BULK}?nonsense__exact=1").status_code == 400


def test_selecting_across_pages_means_the_whole_list(office: Office) -> None:
    data = {"action": "change_in_bulk", "index": "0", "select_across": "1", "_selected_action": [ID["inProcess"]]}
    page = office.post(f"{LIST}?facet=processes", data)
    assert b'name="element"' not in page.content
    assert "All" in main_text(page)


def test_reports_and_their_list_need_a_constant_number_of_statements(house: Storage, caller: HouseClient) -> None:
    administrator, counts = Office(house, Role.ADMINISTRATOR), []
    states = [ID["inReview"], ID["readyForQa"], ID["readyForRelease"]]
    for ids in (states[:1], states):
        report = bulk(caller, {"createVersion": True}, ids=ids)
        bulk(caller, {"set": {"related": {"owner": [{"id": ID["cora"]}]}}}, ids=ids)
        with CaptureQueriesContext(connection) as reported:
            assert "already has an open version" in main_text(administrator.get(f"{BULK}{report['id']}/"))
        with CaptureQueriesContext(connection) as listed:
            administrator.get("elements/bulk/runs/")
        counts.append((len(reported), len(listed)))
    assert counts[0] == counts[1]


def test_long_values_are_shortened(house: Storage, caller: HouseClient) -> None:
    text = "Very long. " * 50
    references = [{"id": ID[each]} for each in ("anna", "ben")]
    operation: Wire = {
        "set": {
            "attributes": {"purp": {"1033": text, "1031": None}},
            "related": {"secondaryAuthors": references, "systems": []},
        }
    }
    bulk(caller, operation)
    shown = Office(house, Role.ADMINISTRATOR).page("elements/bulk/runs/")
    assert "Purpose = Very long. Very long." in shown
    assert text.strip() not in shown
    assert "Purpose = –" in shown
    assert "Systems = –" in shown
    assert "Further authors = Anna, Ben" in shown


def test_elements_are_filtered_by_tag(office: Office, caller: HouseClient) -> None:
    body = {"elements": [{"type": "tag", "attributes": {"name": {"1033": "Urgent"}}}]}
    made = caller.post("rest/facets/tags/views/detail/elements", body).json()["elements"][0]
    run(office, preview(office, "add:tagFilters", "released", "inProcess", **{"r-tagFilters": made["id"]}))
    found = office.get(f"{LIST}?tag={made['id']}")
    assert sorted(names_of(found)) == ["inProcess-1", "released-1"]
    assert "Tag: Urgent" in main_text(found)
    assert names_of(office.get(f"{LIST}?tag=nothing")) == []
