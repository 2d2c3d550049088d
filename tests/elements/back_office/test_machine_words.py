"""Pages show words of people: titles instead of keys, readable dates and values instead of JSON and markup (D420)."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from urllib.parse import urldefrag, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from elements.models import ElementChange
from elements.presentation.labels import key_words
from elements.values.markup_text import markup_text
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import HTML, ID
from tests.elements.office import VOID, Office
from tests.scale import IS_FULL

pytestmark = pytest.mark.django_db
ROOT = "/demo/showcase"
DRAWN = {"rect", "path", "circle", "line", "polyline", "polygon", "ellipse", "use", "col"}
# A value in these is what a person has typed, or is meant for programs.
FOR_PROGRAMS = {"script", "style", "code", "pre", "textarea"}
# Keys, events and messages to programs are the subject of these pages.
ABOUT_KEYS = re.compile(r"/admin/(facets|configuration|storage/(webhook|apitoken)|elements/bpmn)")
MACHINE_WORDS = {
    "attribute with culture": r"\b\w+\[\d{2,5}\]",
    "key": r"\b[a-z]+[0-9]*[A-Z]\w*\b",
    "fraction of a second": r":\d\d\.\d+",
    "time of a program": r"\d{4}-\d\d-\d\dT\d\d",
    "end of the calendar": r"9999",
    "JSON": r"""[{\[]\s*["'{]""",
    "markup": r"</?[a-z]+[^>]*>",
    "value of a program": r"\b(None|True|False|null)\b",
}
PAGES_OF_A_KIND = 2 if IS_FULL else 1


class _VisibleParser(HTMLParser):
    """Collects visible texts, with those that a screen reader reads, and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a":
            self.links.append(given.get("href") or "")
        self.texts += [given[name] or "" for name in ("title", "aria-label", "alt", "placeholder") if name in given]
        if tag not in VOID | DRAWN:
            is_icon = "material-symbols" in (given.get("class") or "")
            self.open.append((tag, is_icon or tag in FOR_PROGRAMS))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(is_silent for _, is_silent in self.open):
            self.texts.append(" ".join(data.split()))


def kind_of(address: str) -> str:
    """Return what pages of the same kind share: the path without ids, the names of parameters, and the tab."""
    parts = urlsplit(re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", address))
    asked = sorted(each if each.startswith("tab=") else each.partition("=")[0] for each in parts.query.split("&"))
    return f"{parts.path}?{'&'.join(asked)}"


def crawl(client: Client, *starts: str) -> dict[str, list[str]]:
    """Return the texts of some pages of each kind by address."""
    waiting, found, kinds = list(starts), dict[str, list[str]](), Counter[str]()
    while waiting:
        address = waiting.pop(0)
        kinds[kind_of(address)] += address not in found
        if address in found or kinds[kind_of(address)] > PAGES_OF_A_KIND:
            continue
        response = client.get(address)
        if response.status_code in (301, 302):
            waiting.append(urldefrag(response["Location"]).url)
            continue
        assert response.status_code == 200, address
        page = _VisibleParser()
        if response["Content-Type"].startswith("text/html"):
            page.feed(response.content.decode())
        found[address] = page.texts
        targets = (urldefrag(f"{urlsplit(address).path}{each}" if each[:1] == "?" else each).url for each in page.links)
        waiting += [
            each
            for each in targets
            if each.startswith(f"{ROOT}/") and not re.search(r"/_api/|logout|layout=|/account|/table/|/import/", each)
        ]
    return found


@cache
def names_of_machine_words(text: str) -> list[str]:
    """Pages share most of their texts. Addresses, such as that of a printed copy, do not count."""
    words = re.sub(r"https?://\S+", "", text)
    return [name for name, pattern in MACHINE_WORDS.items() if re.search(pattern, words)]


def machine_words(pages: dict[str, list[str]]) -> list[tuple[str, str, str]]:
    return [
        (name, text[:100], address)
        for address, texts in pages.items()
        for text in texts
        for name in names_of_machine_words(text)
    ]


@pytest.mark.long
@pytest.mark.parametrize("lcid", [1031, 1033])
def test_readers_see_no_machine_words(showcase: Storage, lcid: int) -> None:
    pages = crawl(Client(), f"{ROOT}/{lcid}/", f"{ROOT}/{lcid}/search?q=bike")
    assert len(pages) > 30 * PAGES_OF_A_KIND
    assert machine_words(pages) == []


@pytest.mark.long
def test_administrators_see_no_machine_words(showcase: Storage) -> None:
    office = Office(showcase, Role.ADMINISTRATOR)
    element = "c4fda35f-b1b8-57e2-9f61-4ab6032426db"  # the ERP system, with three versions and a stereotype
    page = f"{ROOT}/admin/elements/element/{element}/change/"
    starts = [f"{page}?tab={tab}" for tab in ("attributes", "related", "versions", "record", "lifecycle")]
    pages = crawl(office.client, f"{ROOT}/admin/", *starts, f"{ROOT}/admin/elements/element/?facet=processes")
    shown = {address: texts for address, texts in pages.items() if not ABOUT_KEYS.search(address)}
    assert len(shown) > 40 * PAGES_OF_A_KIND
    # The key of a stereotype is a value that administrators maintain.
    assert [each for each in machine_words(shown) if "stereotype" not in each[2]] == []


@pytest.mark.long
def test_history_and_comparison_show_readable_values(handbook: Storage) -> None:
    office = Office(handbook, Role.ADMINISTRATOR)
    edit = f"elements/element/{ID['order']}/edit/"
    office.post(
        edit, {**office.form(edit), "a-description-1033": f"{HTML}<p>One &amp; <b>two</b></p><ul><li>a</li></ul>"}
    )
    office.post(edit, {**office.form(edit), "a-description-1033": "<p>One &amp; <i>two</i></p><ul><li>a</li></ul>"})
    office.post(edit, {**office.form(edit), "a-validUntil": "2099-05-01T10:00", "stereotype": "internalRule"})
    office.post(edit, {**office.form(edit), "a-validUntil": ""})
    text = office.element(ID["order"], tab="record")
    assert "One & two • a" in text
    assert "The text is the same; format or details differ." in text
    assert "2099-05-01 10:00 no end" not in text
    assert "2099-05-01 10:00" in text
    assert "Stereotype – Internal rule" in text
    assert "From version" in office.element(ID["order"], tab="versions", old=ID["order-2"], new=ID["order-3"])
    for tab in ("record", "versions", "attributes", "lifecycle"):
        texts = office.element(ID["order"], tab=tab)
        assert machine_words({tab: [texts.replace("Sub process", "")]}) == [], tab


def test_the_history_names_the_version_that_was_copied(handbook: Storage) -> None:
    change = {"action": "versioned", "changed_on": timezone.now(), "before": {}, "after": {"copiedFrom": ID["order-2"]}}
    with tenant_scope(handbook):
        ElementChange.objects.create(element_id=ID["order"], version_id=ID["order-3"], **change)
    text = Office(handbook, Role.ADMINISTRATOR).element(ID["order"], tab="record")
    assert "Copied from – Version 2.0" in text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (f"{HTML}<p>One</p><p>Two<br/>three</p>", "One\nTwo\nthree"),
        ("<ul><li>a</li><li>b &lt; c</li></ul>", "• a\n• b < c"),
        ("<table><tr><th>A</th><td>1</td></tr><tr><th>B</th><td>2</td></tr></table>", "A | 1\nB | 2"),
        ('<p>See <a href="https://x.example">this</a> <img src="x" alt="Plan"/></p>', "See this Plan"),
        ("<p>spread\nover   lines</p>", "spread over lines"),
        ("not markup", "not markup"),
    ],
)
def test_markup_as_text(markup: str, text: str) -> None:
    assert markup_text(markup) == text


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("readyForRelease", "Ready for release"),
        ("automatedTask", "Automated task"),
        ("accessURL", "Access URL"),
        ("released", "released"),
        ("Already a title", "Already a title"),
    ],
)
def test_words_of_a_key(key: str, words: str) -> None:
    assert key_words(key) == words
