"""Formatted text in element forms (D442): what the editor sends, what it cannot show, and what was not touched."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from elements.models import ElementVersion
from elements.values.html import DECLARATION
from elements.values.rich_text_exchange import editor_document
from elements.values.rich_text_reading import read_markup
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.office import Office, form_data, main_text
from tests.elements.workshop import ID
from tests.factories import token_for

pytestmark = pytest.mark.django_db
EDIT = f"elements/element/{ID['thing']}/edit/"
CONVERT = "elements/rich-text/"
# Spaces, quotes, an alias and a table as other programs write them.
WRITTEN = "<p  >One <b>two</b></p>\n\n<table class='t'>\n<tr><td>1</td></tr></table >\n<p>three</p>"
DEPARTMENT = "Research & Development"


@pytest.fixture
def office(workshop: Storage) -> Office:
    return Office(workshop, Role.ADMINISTRATOR)


def store(storage: Storage, markup: str) -> None:
    with tenant_scope(storage):
        version = ElementVersion.objects.get(id=ID["thing-1"])
        version.attributes = {**version.attributes, "markup": {"1033": markup}}
        version.save()


def stored(storage: Storage, culture: str = "1033") -> Any:
    with tenant_scope(storage):
        return ElementVersion.objects.get(id=ID["thing-1"]).attributes.get("markup", {}).get(culture)


def document(markup: str) -> str:
    """The document that an editor sends: without the content of tables, and with the ends of blocks."""
    blocks = editor_document(read_markup(markup))
    for block in blocks:
        block["text"].append({"type": "string", "string": "\n", "attributes": {"blockBreak": True}})
        for piece in block["text"]:
            piece.get("attachment", {}).pop("content", None)
    return json.dumps(blocks)


def given_document(response: Any, field: str) -> Any:
    """The document that a page gives to the editor of a field, or None."""
    part = response.content.decode().partition(f'data-name="{field}"')[2].partition("</div>")[0]
    found = re.search(r'<script type="application/json">(.*?)</script>', part, re.DOTALL)
    return json.loads(found[1]) if found else None


def note(response: Any, field: str) -> str:
    found = re.search(rf'id="note-{field}"[^>]*>(.*?)</p>', response.content.decode(), re.DOTALL)
    assert found is not None
    return unescape(found[1])


def test_an_unchanged_text_stays_exactly_as_it_was(office: Office, workshop: Storage) -> None:
    store(workshop, DECLARATION + WRITTEN)
    form = office.form(EDIT)
    assert form["a-markup-1033"] == WRITTEN
    changed = {**form, "a-name-1033": "Renamed", "rich-a-markup-1033": document(WRITTEN)}
    assert office.post(EDIT, changed).status_code == 302
    assert stored(workshop) == DECLARATION + WRITTEN


def test_a_changed_text_is_stored_with_its_tables(office: Office, workshop: Storage, api: ApiClient) -> None:
    store(workshop, DECLARATION + WRITTEN)
    response = office.get(EDIT)
    given = given_document(response, "a-markup-1033")
    assert [each["text"][0]["type"] for each in given] == ["string", "attachment", "string"]
    assert given[1]["text"][0]["attachment"]["content"] == "<table>\n<tr><td>1</td></tr></table>"
    given[2]["text"].append({"type": "string", "string": f" {DEPARTMENT}", "attributes": {"italic": True}})
    sent = {**form_data(response), "rich-a-markup-1033": json.dumps(given)}
    assert office.post(EDIT, sent).status_code == 302
    path = f"/acme/workshop/_api/rest/facets/things/views/detail/elements/{ID['thing']}"
    element = api.get(path, token=token_for(workshop, Role.VIEWER, Role.EDITOR)).json()["elements"][0]
    assert element["attributes"]["markup"]["1033"] == (
        f"{DECLARATION}<p>One <strong>two</strong></p>\n<table class='t'>\n<tr><td>1</td></tr></table >\n"
        "<p>three<em> Research &amp; Development</em></p>"
    )


def test_an_emptied_text_is_removed(office: Office, workshop: Storage) -> None:
    store(workshop, f"{DECLARATION}<p>a</p>")
    empty = json.dumps([{"text": [], "attributes": [], "htmlAttributes": {}}])
    assert office.post(EDIT, {**office.form(EDIT), "rich-a-markup-1033": empty}).status_code == 302
    assert stored(workshop) is None


def test_other_texts_open_as_source_with_a_note(office: Office, workshop: Storage) -> None:
    markup = "<p>a</p>\n<p class='x'>b</p>"
    store(workshop, DECLARATION + markup)
    response = office.get(EDIT)
    assert form_data(response)["a-markup-1033"] == markup
    assert given_document(response, "a-markup-1033") is None
    assert note(response, "a-markup-1033") == (
        "This text is shown as source, because the editor cannot show the attribute class of the element p (line 2, column 1)."
    )
    assert (given_document(response, "a-markup-1031"), note(response, "a-markup-1031")) == ([], "")


def test_notes_are_translated(workshop: Storage) -> None:
    store(workshop, f"{DECLARATION}<hr/>")
    response = Office(workshop, Role.ADMINISTRATOR, language="de").get(EDIT)
    assert note(response, "a-markup-1033") == (
        "Dieser Text wird als Quelltext angezeigt, denn der Editor kann Folgendes nicht darstellen: das Element hr"
        " (Zeile 1, Spalte 1)."
    )


def test_an_ampersand_in_plain_fields_is_kept(office: Office, workshop: Storage) -> None:
    given = dict.fromkeys(("a-name-1033", "a-text-1033", "a-note", "stereotype"), DEPARTMENT)
    assert office.post(EDIT, {**office.form(EDIT), **given}).status_code == 302
    form = office.form(EDIT)
    assert {name: form[name] for name in given} == given


def test_an_ampersand_in_the_source_is_text(office: Office, workshop: Storage) -> None:
    """Also without JavaScript: an ampersand that begins no entity can only mean itself."""
    typed = f"{DEPARTMENT} &lt; &#38; <a href='https://x.example/?a=1&b=2'>x</a>"
    assert office.post(EDIT, {**office.form(EDIT), "a-markup-1033": typed}).status_code == 302
    assert stored(workshop) == (
        f"{DECLARATION}Research &amp; Development &lt; &#38; <a href='https://x.example/?a=1&amp;b=2'>x</a>"
    )
    page = Client().get(f"/acme/workshop/1033/things/{ID['thing']}")
    assert "&amp;amp;" not in page.content.decode()


@pytest.mark.long
def test_no_page_escapes_a_name_twice(office: Office, workshop: Storage) -> None:
    names = {"a-name-1033": DEPARTMENT, "a-name-1031": DEPARTMENT, "a-text-1033": DEPARTMENT}
    assert office.post(EDIT, {**office.form(EDIT), **names}).status_code == 302
    tabs = [
        f"elements/element/{ID['thing']}/change/?tab={tab}" for tab in ("attributes", "related", "versions", "history")
    ]
    pages = [
        *tabs, EDIT, f"elements/element/{ID['thing']}/delete/", f"elements/element/{ID['box']}/change/?tab=children",
        "elements/element/", "elements/element/?q=Research", "elements/tree/?facet=things", "search/?s=Research",
    ]  # fmt: skip
    for path in pages:
        page = office.get(path).content.decode()
        assert "&amp;amp;" not in page, path
        assert "Research &amp; Development" in page or "children" in path or "tree" in path, path
    choices = office.get("elements/choices/?types=thing&term=Research").json()["results"]
    assert [each["text"] for each in choices] == [DEPARTMENT]


def test_a_refused_text_comes_back_with_its_place(office: Office, workshop: Storage) -> None:
    typed = "<p>a & b</p>\n<p>open"
    response = office.post(EDIT, {**office.form(EDIT), "a-markup-1033": typed})
    assert response.status_code == 422
    assert form_data(response)["a-markup-1033"] == "<p>a &amp; b</p>\n<p>open"
    assert "Is not well-formed at line 2, column 1: the element p is not closed." in main_text(response)


def test_a_conflict_keeps_the_formatted_text(office: Office, workshop: Storage) -> None:
    store(workshop, f"{DECLARATION}<p>a</p>")
    form = office.form(EDIT)
    with tenant_scope(workshop):
        ElementVersion.objects.filter(id=ID["thing-1"]).update(revision=form["revision"] + "0")
    store(workshop, f"{DECLARATION}<p>theirs</p>")
    response = office.post(EDIT, {**form, "rich-a-markup-1033": document("<p>mine</p>")})
    assert response.status_code == 412
    assert form_data(response)["a-markup-1033"] == "<p>mine</p>"
    assert given_document(response, "a-markup-1033")[0]["text"][0]["string"] == "mine"
    assert "Stored now: theirs" in main_text(response)


@pytest.mark.parametrize("sent", ["{", "[1]", '[{"text": [], "attributes": ["video"]}]', "[" * 100_000])
def test_other_documents_are_refused(office: Office, workshop: Storage, sent: str) -> None:
    response = office.post(EDIT, {**office.form(EDIT), "rich-a-markup-1033": sent})
    assert response.status_code == 400
    assert "The formatted text cannot be read." in main_text(response)
    assert office.post(CONVERT, {"document": sent}).status_code == 400


def test_scripts_in_a_kept_piece_are_refused(office: Office, workshop: Storage) -> None:
    kept = {"type": "attachment", "attachment": {"kept": "<table onclick='x()'><tr/></table>"}, "attributes": {}}
    sent = json.dumps([{"text": [kept], "attributes": []}])
    response = office.post(EDIT, {**office.form(EDIT), "rich-a-markup-1033": sent})
    assert response.status_code == 422
    assert "Must not contain the attribute onclick (line 1, column 1)." in main_text(response)


def test_switching_converts_both_ways(office: Office) -> None:
    assert office.post(CONVERT, {"document": document("<p>a &amp; b</p>")}).json() == {"source": "<p>a &amp; b</p>"}
    assert office.post(CONVERT, {"source": "<p>a & b</p>"}).json() == {
        "document": editor_document(read_markup("<p>a &amp; b</p>")),
        "note": "",
    }
    assert office.post(CONVERT, {"source": "<p>\n<b>a</p>"}).json() == {
        "document": None,
        "note": "The source is not well-formed at line 2, column 5: expected the end tag of the element b.",
    }
    assert office.post(CONVERT, {"source": "<hr/>"}).json()["document"] is None
    assert office.get(CONVERT).status_code == 405


def test_links_lead_to_pages_in_the_culture_of_the_field(office: Office, workshop: Storage) -> None:
    page = office.get(EDIT).content.decode()
    found = re.search(r'data-name="a-markup-1031" data-links="([^"]+)"', page)
    assert found is not None
    [choice] = office.get(f"{unescape(found[1])}&term=Shelf").json()["results"]
    assert choice["text"] == "Shelf"
    assert choice["address"] == f"http://testserver/acme/workshop/1031/things/{ID['shelf']}"
    assert "address" not in office.get("elements/choices/?types=box").json()["results"][0]


def test_analyzers_cannot_see_a_form(workshop: Storage) -> None:
    assert Office(workshop, Role.ANALYZER).get(EDIT).status_code == 403


def test_bulk_changes_have_the_editor(office: Office, workshop: Storage) -> None:
    data = {"element": [ID["thing"]], "scope": "selected", "list": "", "what": "set:markup"}
    shown = office.post("elements/bulk/", data)
    assert given_document(shown, "a-markup-1033") == []
    assert "back_office/rich_text" in shown.content.decode()
    typed = {"a-markup-1031": DEPARTMENT, "rich-a-markup-1033": document("<p>a &amp; b</p>")}
    previewed = office.post("elements/bulk/", {**data, **typed, "preview": "1"})
    assert previewed.status_code == 302, main_text(previewed)
    assert office.post(previewed["Location"]).status_code == 302
    assert stored(workshop) == f"{DECLARATION}<p>a &amp; b</p>"
    assert stored(workshop, "1031") == f"{DECLARATION}Research &amp; Development"
