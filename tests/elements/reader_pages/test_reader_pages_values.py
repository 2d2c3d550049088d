"""Values by data type, with the words, dates and numbers of the culture, and never as executable markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from elements.models import ElementVersion
from elements.values.markup import shown_markup
from storage.localisation.culture_names import interface_language, language_names, language_tag, writing
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.cycles import STANDARD_CYCLES
from tests.elements.reader_page import ParsedReaderPage, read_page
from tests.scale import first_quick

ITEM = "00000000-0000-4000-8000-0000000000aa"
PICTURE = {"address": "1", "fullAddress": "https://x.example/a.png", "mimeType": "image/png", "protocol": "https"}
CHOICES = [
    {"displayNames": {"1031": "Nicht gesagt", "1033": "Not said"}},
    {"key": "low", "displayNames": {"1031": "Niedrig", "1033": "Low"}},
    {"key": "high", "displayNames": {"1031": "Hoch", "1033": "High"}},
]


def attribute(type: str, english: str, german: str, **more: Any) -> dict[str, Any]:
    names = {"1031": german, "1033": english}
    return {"displayNames": names, "attribute": {"dataType": type, "isInvariantCulture": True, **more}}


PROPERTIES = {
    "name": {"displayNames": {"1033": "Name"}, "attribute": {"dataType": "MultiLineText"}},
    "text": {"displayNames": {"1031": "Text", "1033": "Text"}, "attribute": {"dataType": "SingleLineText"},
             "tooltips": {"1033": "What it says."}, "descriptions": {"1031": "Was dasteht."}},
    "lines": {"displayNames": {"1031": "Zeilen", "1033": "Lines"}, "attribute": {"dataType": "MultiLineText"}},
    "html": {"displayNames": {"1031": "Markup", "1033": "Markup"}, "attribute": {"dataType": "Html"}},
    "choice": attribute("SelectionValue", "Choice", "Auswahl", selectableValues=CHOICES),
    "choices": attribute("MultiSelectionValue", "Choices", "Mehrere", selectableValues=CHOICES[1:]),
    "truth": attribute("Boolean", "Truth", "Wahrheit"),
    "lie": attribute("Boolean", "Lie", "Lüge"),
    "whole": attribute("Integer", "Whole", "Ganz"),
    "part": attribute("Decimal", "Part", "Bruch"),
    "day": attribute("Date", "Day", "Tag"),
    "moment": attribute("DateTime", "Moment", "Moment"),
    "link": attribute("Url", "Link", "Adresse"),
    "files": attribute("Files", "Files", "Dateien"),
    "empty": attribute("SingleLineText", "Empty", "Leer"),
}  # fmt: skip
VALUES: dict[str, dict[str, Any]] = {
    "name": {"1031": "Ding", "1033": "Thing"},
    "text": {"1031": "Nur deutsch"},
    "lines": {"1033": "One\nTwo", "1031": " "},
    "html": {"1033": '<?xml version="1.0" encoding="utf-8"?><h2>Why</h2><p>So.</p>'},
    "choice": {"127": "low"},
    "choices": {"127": ["high", "low"]},
    "truth": {"127": True},
    "lie": {"127": False},
    "whole": {"127": 9007199254740993},
    "part": {"127": 1234.50},
    "day": {"127": "2026-03-01"},
    "moment": {"127": "2026-03-01T14:05:06.789"},
    "link": {"127": "https://x.example/?a=1&b=2"},
    "files": {"127": [{**PICTURE, "title": "Board"}, {**PICTURE, "title": "Report", "mimeType": "application/pdf"}]},
    "empty": {"127": ""},
}


@pytest.fixture(scope="module")
def museum(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """An element with a value of every data type."""
    folder = tmp_path_factory.mktemp("museum")
    template, lines = folder / "template.json", folder / "lines.ndjson"
    document = {
        "name": "museum",
        "title": "Museum",
        "releaseCycles": STANDARD_CYCLES,
        "cultures": {"data": [1033, 1031, 1036], "default": 1033, "mandatory": [1033]},
        "properties": PROPERTIES,
        "facets": {"things": {"displayNames": {"1033": "Things"}, "typeName": "Things", "views": {"detail": {"displayNames": {"1033": "Detail"}, "key": "Detail", "properties": "all"}}}},
        "types": {"thing": {"facet": "things", "displayNames": {"1033": "Thing"}, "color": "#123456", "elementTypeName": "Thing", "entityTypeName": "Thing", "properties": list(PROPERTIES)}},
    }  # fmt: skip
    template.write_text(json.dumps(document), encoding="utf-8")
    line = {"facetName": "things", "id": ITEM, "creationId": ITEM, "type": "thing", "attributes": VALUES}
    lines.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with filled_storage(lines, collection="acme", key="museum", template=str(template), anonymous="read") as storage:
        yield storage


def thing(lcid: int = 1033) -> ParsedReaderPage:
    response = Client().get(f"/acme/museum/{lcid}/things/{ITEM}")
    assert response.status_code == 200
    return read_page(response.content.decode())


@pytest.mark.django_db
def test_every_data_type_in_english(museum: Storage) -> None:
    page = thing()
    assert page.section("Details") == [
        "Text", "?", "What it says.", "Deutsch", "Nur deutsch",
        "Lines", "One / Two",
        "Markup", "Why", "So.",
        "Choice", "Low",
        "Choices", "High", "Low",
        "Truth", "Yes",
        "Lie", "No",
        "Whole", "9,007,199,254,740,993",
        "Part", "1,234.5",
        "Day", "March 1, 2026",
        "Moment", "March 1, 2026, 2:05 PM",
        "Link", "https://x.example/?a=1&b=2",
        "Files", "Board image/png", "Show the picture", "Report application/pdf",
    ]  # fmt: skip
    assert page.address("https://x.example/?a=1&b=2") == "https://x.example/?a=1&b=2"
    assert (3, "Why") in page.headings
    pictures = page.attributes("img")
    assert pictures == [{"src": "https://x.example/a.png", "alt": "Board", "loading": "lazy"}]
    assert [each["lang"] for each in page.attributes("dd") if "lang" in each] == ["de-DE"]


@pytest.mark.django_db
def test_every_data_type_in_german(museum: Storage) -> None:
    lines = thing(1031).lines
    for shown in ("Niedrig", "9.007.199.254.740.993", "1.234,5", "1. März 2026", "1. März 2026, 14:05", "Was dasteht."):
        assert shown in lines
    assert "Zeilen" in lines
    assert "One / Two" in lines


@pytest.mark.django_db
def test_a_language_without_interface_texts(museum: Storage) -> None:
    response = Client().get(f"/acme/museum/1036/things/{ITEM}")
    assert response["Content-Language"] == "fr-FR"
    page = read_page(response.content.decode())
    assert page.attributes("html") == [{"lang": "fr-FR", "dir": "ltr"}]
    assert "1 mars 2026" in page.lines
    # The interface is in English then and marks its language.
    headings = [each for each in page.attributes("h2") if each.get("id") == "details"]
    assert headings == [{"id": "details", "lang": "en"}]
    assert [text for text, _ in page.links if text in ("English", "Deutsch", "Français")] == [
        "English",
        "Deutsch",
        "Français",
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"),
    first_quick([
        ("html", "<p onclick='x()'>Text</p><script>alert(1)</script><img src=x onerror=alert(1)>"),
        ("html", "<a href='javascript:alert(1)'>Text</a><a href=' java\tscript:alert(1)'>Text</a>"),
        ("html", "<svg><script>alert(1)</script><a xlink:href='javascript:x'>Text</a></svg><math><mtext><script>x</script>"),
        ("html", "<style>p { background: url(javascript:x) }</style><p style='color: red' class='note' id='content'>Text</p>"),
        ("html", "<iframe src='https://x.example'></iframe><object data='x'></object><embed src='x'><form action='x'><input>"),
        ("html", "<a href='data:text/html,<script>alert(1)</script>'>Text</a><img src='data:image/svg+xml,<svg onload=x>'>"),
        ("html", "</dd></dl></section></main><h1>Text</h1>"),
        ("link", "javascript:alert(1)"),
        ("link", " JaVaScript:alert(1)"),
        ("link", "javascript://x.example/%0aalert(1)"),
        ("link", "data:text/html,x"),
        ("link", "https:///"),
        ("link", "//x.example"),
        ("link", "https://[x"),
        ("files", [{**PICTURE, "title": "Text", "fullAddress": "javascript:alert(1)"}]),
        ("files", [{**PICTURE, "title": "Text", "fullAddress": "javascript://x.example/%0aalert(1)"}]),
        ("files", [{**PICTURE, "title": "Text", "fullAddress": "data:image/png;base64,AAAA"}]),
        ("choice", {"<b>": "x"}),
        ("choices", "<script>"),
        ("day", "<script>"),
        ("moment", 5),
        ("whole", "<script>"),
        ("part", "NaN"),
        ("truth", "<script>"),
        ("text", ["<script>"]),
    ], 8),
)  # fmt: skip
def test_invalid_stored_values_do_no_harm(museum: Storage, name: str, value: Any) -> None:
    """The API refuses these values; should they exist anyway, a page neither runs them nor fails."""
    lcid = "1033" if name in ("html", "text", "lines", "name") else "127"
    with tenant_scope(museum):
        ElementVersion.objects.filter(id=ITEM).update(attributes={**VALUES, name: {lcid: value}})
        page = thing()
    tags = {tag for tag, given in page.tags if not given.get("src", "").startswith("/static/")}
    assert not {"script", "style", "iframe", "object", "embed", "math"} & tags
    assert [text for level, text in page.headings if level == 1] == ["Thing"]
    for tag, attributes in page.tags:
        assert not [each for each in attributes if each.startswith("on") or each == "style"]
        for each in ("href", "src"):
            scheme = attributes.get(each, "").strip().lower().partition(":")[0]
            assert scheme not in ("javascript", "data", "vbscript"), (tag, attributes)


def test_markup_keeps_the_structure_of_texts() -> None:
    given = (
        '<?xml version="1.0" encoding="utf-8"?>\n<p lang="en">A <strong>b</strong><br/>&amp; <a href="https://x.example/" target="_blank">c</a></p>'
        '<ol start="3"><li>d</li></ol><img src="data:image/png;base64,AAAA" width="3"/><a href="/relative">e</a><a href="mailto:a@x.example">f</a>'
    )
    assert shown_markup(given, "Table") == (
        '\n<p lang="en">A <strong>b</strong><br>&amp; <a href="https://x.example/" rel="noopener noreferrer">c</a></p>'
        '<ol start="3"><li>d</li></ol><img referrerpolicy="no-referrer" alt="" src="data:image/png;base64,AAAA" width="3" loading="lazy">'
        '<a rel="noopener noreferrer">e</a><a href="mailto:a@x.example" rel="noopener noreferrer">f</a>'
    )


def test_headings_in_markup_are_below_those_of_the_page() -> None:
    assert shown_markup("<h1>a</h1><h3>b</h3><h6>c</h6>", "") == "<h3>a</h3><h4>b</h4><h5>c</h5>"
    assert shown_markup("<h4>a</h4>", "") == "<h3>a</h3>"


def test_wide_tables_scroll_by_keyboard() -> None:
    assert shown_markup("<table><tr><th scope='row'>a</th></tr></table>", 'Wide "one"') == (
        '<div class="scroll" role="group" tabindex="0" aria-label="Wide &quot;one&quot;">'
        '<table><tr><th scope="row">a</th></tr></table></div>'
    )


def test_cultures_as_languages() -> None:
    assert [language_tag(lcid) for lcid in (1031, 1033, 127, 1)] == ["de-DE", "en-US", "", ""]
    assert [interface_language(lcid) for lcid in (1031, 3079, 1033, 1036, 99999)] == ["de", "de", "en", "en", "en"]
    assert language_names((1031, 3079, 1036)) == {
        1031: "Deutsch (Deutschland)",
        3079: "Deutsch (Österreich)",
        1036: "Français",
    }
    assert language_names((1031, 1033)) == {1031: "Deutsch", 1033: "English"}
    # A culture that only Windows knows.
    assert (str(writing(9225)), str(writing(1025)), writing(1025).text_direction) == ("en", "ar_SA", "rtl")
