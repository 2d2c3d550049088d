"""Lists as tables: `$format` of the list of elements (D460 to D463), and the export of the back office."""

from __future__ import annotations

from datetime import datetime

import pytest
from pytest_django import Settings

from elements.models import ElementVersion
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.office import Office
from tests.elements.tables.table_desk import THINGS, TableDesk, column, read_csv, read_xlsx
from tests.elements.workshop import ID
from tests.factories import token_for

pytestmark = pytest.mark.django_db
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
VALUES = {
    "name": {"1031": "=Ding", "1033": "'Thing"},
    "text": {"1033": 'one\ntwo, "three"; four'},
    "color": {"127": "red"},
    "colors": {"127": ["red", "blue"]},
    "flag": {"127": False},
    "count": {"127": 1_234_567_890_123_456},
    "day": {"127": "2026-12-31"},
    "moment": {"127": "2026-12-31T13:45:00"},
    "home": {"127": "https://x.example/a?b=c"},
    "note": {"127": "007"},
}


def one(desk: TableDesk) -> str:
    [id] = desk.update(
        {
            "id": ID["thing"],
            "attributes": VALUES,
            "related": {"parts": [{"id": ID["part-2"]}, {"id": ID["part"]}]},
        }
    )
    return id


ONE = {"filter": "id -eq '" + ID["thing"] + "'"}
SELECT = "note,name,colors,flag,count,day,moment,parts,validUntil"


def test_a_table_has_a_row_for_each_element_of_the_list(desk: TableDesk) -> None:
    listed = desk.api.get(THINGS, token=desk.token).json()["elements"]
    for table in (desk.csv(), desk.xlsx()):
        assert column(table, "id") == [each["id"] for each in listed]
        assert column(table, "type") == [each["type"] for each in listed]
        assert column(table, "name[1033]") == [each["attributes"]["name"]["1033"] for each in listed]


def test_columns_of_a_view(desk: TableDesk) -> None:
    assert desk.csv()[0] == [
        "id", "revision", "type", "state", "parent", "parent[id]", "name[1031]", "name[1033]", "text[1031]",
        "text[1033]", "markup[1031]", "markup[1033]", "color", "colors", "flag", "count", "cost", "day", "moment",
        "home", "files", "note", "version", "validFrom", "validUntil", "changedOn", "parts", "parts[id]", "author",
        "author[id]", "fixed", "fixed[id]", "changedBy", "changedBy[id]",
    ]  # fmt: skip
    tree = THINGS.replace("detail", "tree")
    assert read_csv(desk.get("csv", tree).content)[0][4:] == ["parent", "parent[id]", "name[1031]", "name[1033]"]


def test_selected_columns_have_the_order_of_the_selection(desk: TableDesk) -> None:
    fixed = ["id", "revision", "type", "state"]
    assert desk.csv(select="parts,name")[0] == [
        *fixed, "parent", "parent[id]", "parts", "parts[id]", "name[1031]", "name[1033]",
    ]  # fmt: skip
    assert desk.csv(select="name,parts", resources="attributes")[0] == [*fixed, "name[1031]", "name[1033]"]


def test_cells_of_csv(desk: TableDesk) -> None:
    one(desk)
    [header, row] = desk.csv(select=SELECT, **ONE)
    version = desk.element(ID["thing"])["versionId"]
    with tenant_scope(desk.storage):
        revision = ElementVersion.objects.get(id=version).revision
    assert dict(zip(header, row, strict=True)) == {
        "id": ID["thing"],
        "revision": f"{version}.{revision}",
        "type": "thing",
        "state": "inProcess",
        "parent": "Box",
        "parent[id]": ID["box"],
        "note": "007",
        "name[1031]": "'=Ding",
        "name[1033]": "''Thing",
        "colors": "red\nblue",
        "flag": "false",
        "count": "1234567890123456",
        "day": "2026-12-31",
        "moment": "2026-12-31T13:45:00",
        "parts": "Second part\nPart",
        "parts[id]": f"{ID['part-2']}\n{ID['part']}",
        "validUntil": "9999-12-31T00:00:00",
    }


def test_cells_of_a_workbook(desk: TableDesk) -> None:
    one(desk)
    [header, row] = desk.xlsx(select=SELECT, **ONE)
    found = dict(zip(header, row, strict=True))
    assert {name: found[name] for name in ("name[1031]", "note", "count", "flag", "colors", "moment", "parts")} == {
        "name[1031]": "=Ding",
        "note": "007",
        "count": "1234567890123456",
        "flag": False,
        "colors": "red\nblue",
        "moment": datetime(2026, 12, 31, 13, 45),
        "parts": "Second part\nPart",
    }


def test_headers_of_the_response(desk: TableDesk) -> None:
    for format, media_type in (("csv", "text/csv"), ("xlsx", XLSX)):
        response = desk.get(format)
        assert response["Content-Type"] == media_type
        assert response["Content-Disposition"] == f'attachment; filename="things-detail.{format}"'
        assert response["X-Content-Type-Options"] == "nosniff"
        again = desk.api.get(
            f"{THINGS}?$format={format}", token=desk.token, headers={"If-None-Match": response["ETag"]}
        )
        assert again.status_code == 304
        head = desk.api.head(f"{THINGS}?$format={format}", token=desk.token)
        assert (head.status_code, head["ETag"], head["Content-Type"]) == (200, response["ETag"], media_type)
    assert desk.get("csv").content.startswith(b"\xef\xbb\xbfid,revision,")


def test_pages_filters_and_reads_by_post(desk: TableDesk) -> None:
    whole = desk.csv(select="name")
    page = desk.get("csv", select="name", page="2", pageSize="2")
    assert read_csv(page.content) == [whole[0], *whole[3:5]]
    assert page["X-Total-Count"] == str(len(whole) - 1)
    assert "$format=csv" in page["Link"]
    assert column(desk.csv(filter="name -eq 'Box'"), "id") == [ID["box"]]
    assert desk.csv(select="name", orderBy="name[1033] desc")[1:] == whole[:0:-1]
    posted = desk.api.post(f"{THINGS}?$format=csv&$select=name", b"", "application/json", token=desk.token)
    assert read_csv(posted.content) == whole


def test_an_empty_list_has_a_header_only(desk: TableDesk) -> None:
    nothing = {"filter": "name -eq 'nobody'", "select": "name"}
    assert desk.csv(**nothing) == [desk.csv(select="name")[0]]
    assert desk.xlsx(**nothing) == [desk.csv(select="name")[0]]


def test_what_a_client_accepts(desk: TableDesk) -> None:
    def status(query: str, accept: str) -> int:
        response = desk.api.get(f"{THINGS}{query}", token=desk.token, headers={"Accept": accept})
        return int(response.status_code)

    assert status("?$format=csv", "text/csv") == 200
    assert status("?$format=csv", "application/json") == 200
    assert status("?$format=csv", "text/html, */*;q=0.8") == 200
    assert status("?$format=csv", "image/png") == 406
    # Without the parameter nothing has changed.
    assert status("", "text/csv") == 406


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("$format=pdf", "$format: expected xlsx or csv, not 'pdf'."),
        ("$format=CSV", "$format: expected xlsx or csv, not 'CSV'."),
        ("format=csv", "format: the $ is missing; write $format."),
        (
            "$format=csv&$expandRelated=parts",
            "$expandRelated: a table has no references of references; leave it out.",
        ),
        ("$format=csv&$culture=1033", "$culture: a table has a column for each culture; leave it out."),
    ],
)
def test_mistakes(desk: TableDesk, query: str, message: str) -> None:
    response = desk.api.get(f"{THINGS}?{query}", token=desk.token)
    assert (response.status_code, response.json()["message"]) == (400, message)
    other = desk.api.get(f"{THINGS}/{ID['box']}?$format=csv", token=desk.token)
    assert other.status_code == 400


def test_readers_see_published_versions_only(desk: TableDesk, workshop: Storage, api: ApiClient) -> None:
    """Also through names: a part that only a draft has is not named."""
    for token in (None, token_for(workshop, Role.VIEWER)):
        listed = api.get(THINGS, token=token).json()["elements"]
        table = read_csv(api.get(f"{THINGS}?$format=csv", token=token).content)
        assert column(table, "id") == [each["id"] for each in listed]
        assert ID["thing"] not in column(table, "id")
        assert ID["gone"] in column(table, "id")


@pytest.mark.long
def test_a_long_table_is_streamed(desk: TableDesk, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    one(desk)
    whole = {"csv": desk.csv(), "xlsx": desk.xlsx()}
    assert not hasattr(desk.get("csv"), "was_streamed")
    monkeypatch.setattr("elements.api.reading_viewset.BATCH", 2)
    assert hasattr(desk.get("csv"), "was_streamed")
    assert {"csv": desk.csv(), "xlsx": desk.xlsx()} == whole
    monkeypatch.undo()
    settings.RESPONSE_BYTES = 1_500
    assert hasattr(desk.get("csv"), "was_streamed")
    assert {"csv": desk.csv(), "xlsx": desk.xlsx()} == whole


def test_a_workbook_has_at_most_so_many_rows(desk: TableDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elements.tables.formats.MOST_ROWS", 5)
    monkeypatch.setattr("elements.api.reading_viewset.BATCH", 2)
    response = desk.get("xlsx")
    assert response.status_code == 422
    assert response.json()["message"].endswith("rows; xlsx allows 4. Use a filter, or csv.")
    assert desk.get("csv").status_code == 200


class TestBackOffice:
    def test_the_list_as_it_is_filtered(self, desk: TableDesk, workshop: Storage) -> None:
        one(desk)
        office = Office(workshop, Role.ADMINISTRATOR)
        assert "Export" in office.page("elements/element/?type=part")
        response = office.get("elements/element/table/csv/?type=part")
        assert (response.status_code, response["Content-Type"]) == (200, "text/csv")
        assert response["Content-Disposition"] == 'attachment; filename="elements.csv"'
        table = read_csv(b"".join(response))
        assert table[0] == ["id", "revision", "type", "state", "parent", "parent[id]", "name[1031]", "name[1033]"]
        assert column(table, "name[1033]") == ["Part", "Second part"]

    def test_the_elements_that_a_search_finds(self, desk: TableDesk, workshop: Storage) -> None:
        office = Office(workshop, Role.ANALYZER)
        table = read_xlsx(b"".join(office.get("elements/element/table/xlsx/?q=second")))
        assert column(table, "name[1033]") == ["Second part"]

    def test_other_formats_and_viewers(self, workshop: Storage) -> None:
        assert Office(workshop, Role.ADMINISTRATOR).get("elements/element/table/pdf/").status_code == 404
        assert Office(workshop, Role.VIEWER).get("elements/element/table/csv/").status_code == 403

    def test_in_german(self, workshop: Storage) -> None:
        text = Office(workshop, Role.ADMINISTRATOR, language="de").page("elements/element/")
        assert "Exportieren" in text
        assert "Excel-Arbeitsmappe (xlsx)" in text
