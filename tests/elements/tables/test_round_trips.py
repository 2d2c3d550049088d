"""Exported, edited in a spreadsheet, imported again: exactly the edited cells change, for values of all data types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elements.tables.files import TableFile, read_any
from tests.elements.tables.spreadsheets import edited
from tests.elements.tables.table_desk import THINGS, TableDesk
from tests.elements.workshop import ID
from tests.scale import scaled

pytestmark = [pytest.mark.django_db, pytest.mark.long]
ALPHABET = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
LINE_BREAKS = "\r\n\x0b\x0c\x85\u2028\u2029"
LINES = st.text(ALPHABET, max_size=30) | st.sampled_from(
    [
        "=1+1",
        "+1",
        "-1",
        "@a",
        "'x",
        "''",
        "007",
        "1E5",
        "TRUE",
        "1.0",
        "2026-12-31",
        " a ",
        "a\r\nb",
        "_x0041_",
        '"',
        ";,",
    ]
)
LINE = LINES.map(lambda text: "".join(" " if each in LINE_BREAKS else each for each in text))
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20)
DECIMALS = (
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20) | INTEGERS
)
MOMENTS = st.datetimes().map(lambda each: each.isoformat()).filter(lambda text: text >= "0100")
KEYS = st.sampled_from(["red", "green", "blue"])
PARTS = st.lists(st.sampled_from(["part", "part-2"]), max_size=2, unique=True)


def by_culture(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"1031": st.none() | values, "1033": st.none() | values})


def fixed(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"127": st.none() | values})


VALUES = {
    "name": st.fixed_dictionaries({"1031": LINE.map("N{}".format), "1033": LINE.map("n{}".format)}),
    "text": by_culture(LINES),
    "color": fixed(KEYS),
    "colors": fixed(st.lists(KEYS, unique=True)),
    "flag": fixed(st.booleans()),
    "count": fixed(INTEGERS),
    "cost": fixed(DECIMALS.map(str)),
    "day": fixed(st.dates().map(lambda each: each.isoformat())),
    "moment": fixed(MOMENTS),
    "home": fixed(LINE.map(lambda text: f"https://x.example/{text}")),
    "note": fixed(LINE),
    "files": fixed(st.lists(LINE.map(lambda text: {"address": "a", "title": text}), max_size=2)),
}
ELEMENTS = st.fixed_dictionaries({"attributes": st.fixed_dictionaries(VALUES), "parts": PARTS})
# New cells as a person types them, with the value that the API has then.
TYPED: dict[str, tuple[Any, dict[str, Any]]] = {
    "note": ("typed", {"127": "typed"}),
    "text[1031]": ("first\nsecond", {"1031": "first\nsecond"}),
    "count": (77, {"127": 77}),
    "flag": ("TRUE", {"127": True}),
    "day": ("2001-02-03", {"127": "2001-02-03"}),
    "colors": ("blue\nred", {"127": ["blue", "red"]}),
}


def write(desk: TableDesk, element: dict[str, Any]) -> None:
    """Write the element as JSON with all digits of its decimal."""
    attributes = {**element["attributes"], "cost": {"127": "COST"}}
    related = {"parts": [{"id": ID[each]} for each in element["parts"]]}
    body = json.dumps({"elements": [{"id": ID["thing"], "attributes": attributes, "related": related}]})
    exact = body.replace('"COST"', element["attributes"]["cost"]["127"] or "null")
    response = desk.api.post(THINGS, exact, "application/json", token=desk.token)
    assert response.status_code == 200, response.content


@pytest.mark.parametrize("format", ["csv", "xlsx"])
@given(element=ELEMENTS, header=st.sampled_from(sorted(TYPED)))
@settings(max_examples=scaled(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_exactly_the_edited_cells_change(desk: TableDesk, format: str, element: dict[str, Any], header: str) -> None:
    write(desk, element)
    content = desk.file(format, filter=f"id -eq '{ID['thing']}'")
    before = desk.element(ID["thing"])

    def run(data: bytes, *, dry_run: bool) -> list[str]:
        report = TableFile(desk.storage, read_any(data, "table")).run("", "", dry_run=dry_run)
        assert (report.problems, report.notes) == ([], [])
        return [each.column for draft in report.drafts for each in draft.changes.values()]

    # As it was exported, and as another program saves it.
    assert run(content, dry_run=True) == []
    assert run(edited(format, content), dry_run=True) == []
    typed, expected = TYPED[header]
    name = header.partition("[")[0]
    was = before["attributes"].get(name, {})
    changed = run(edited(format, content, {(2, header): str(typed) if format == "csv" else typed}), dry_run=False)
    after = desk.element(ID["thing"])
    assert changed == ([] if was.items() >= expected.items() else [header])
    assert after["attributes"].get(name) == {**was, **expected}
    for each in before["attributes"].keys() - {name, "changedOn"}:
        assert after["attributes"][each] == before["attributes"][each], each
    assert after.get("related", {}).get("parts") == before.get("related", {}).get("parts")
