"""The index of the API and the page of the OpenAPI document: access, content, and no inline scripts or styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from repository_site.api_document.document import openapi_document
from repository_site.api_document.document_page import POLICY
from repository_site.core.environment import PROJECT_DIR
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import StaffAccountFactory, collection_token, site_token, token_for

pytestmark = pytest.mark.django_db
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class DocumentPage(HTMLParser):
    """Ids, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: set[str] = set()
        self.inline: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.append(str(given["id"]))
        if tag == "a" and str(given.get("href")).startswith("#"):
            self.targets.add(str(given["href"])[1:])
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)
        self.loaded += [str(given[name]) for name in ("src",) if name in given]
        self.loaded += [str(given["href"])] if tag == "link" else []


def test_the_page_of_a_storage(api: ApiClient, open_storage: Storage) -> None:
    response = api.get("/acme/open/_api/docs/", headers=BROWSER)
    assert (response.status_code, response["Content-Type"], response["Content-Language"]) == (200, "text/html", "en")
    assert response["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert response["Vary"] == "Accept-Language, Cookie, Accept-Encoding"
    text = response.content.decode()
    page = DocumentPage(text)
    assert page.inline == []
    assert page.loaded == ["/static/icon.svg", "/static/api_docs/document.css", "/static/api_docs/document.js"]
    for name in page.loaded:
        assert (PROJECT_DIR / "repository_site/assets" / name.removeprefix("/static/")).is_file()
    assert len(page.ids) == len(set(page.ids))
    assert page.targets <= set(page.ids)
    assert "/acme/open/_api/schema" in text
    assert "\ue000" not in text


STARTING_POINTS = {
    "info": "rest/info/",
    "facets": "rest/facets/",
    "document": "schema/",
    "docs": "docs/",
    "typeSchemas": "schema/types/",
    "tasks": "rest/tasks/",
}


def test_the_index_of_a_storage(api: ApiClient, storage: Storage) -> None:
    token = token_for(storage, Role.ANALYZER)
    answer = api.get("/acme/handbook/_api/", token=token)
    base = "http://testserver/acme/handbook/_api/"
    links = {name: base + place for name, place in STARTING_POINTS.items()}
    assert (answer.status_code, answer.json()) == (200, {"links": links})
    assert answer["Vary"] == "Accept, Accept-Encoding"
    for address in links.values():
        assert api.get(address.removeprefix("http://testserver"), token=token).status_code == 200
    for method in (api.get, api.post):
        assert method("/acme/handbook/_api", content_type="application/json", token=token).content == answer.content


def test_the_index_of_the_administrative_contexts(api: ApiClient, storage: Storage) -> None:
    for path, token in (("/acme/_admin", collection_token(storage)), ("/_sysadmin/_admin", site_token())):
        links = {
            name: f"http://testserver{path}/_api/{place}"
            for name, place in STARTING_POINTS.items()
            if name not in ("typeSchemas", "tasks")
        }
        assert api.get(f"{path}/_api/", token=token).json() == {"links": links}


def test_a_browser_is_led_from_the_index_to_the_page(api: ApiClient, open_storage: Storage, storage: Storage) -> None:
    response = api.get("/acme/open/_api/", headers=BROWSER)
    assert (response.status_code, response["Location"]) == (302, "http://testserver/acme/open/_api/docs/")
    assert response["Vary"] == "Accept"
    preferring = {"Accept": "application/json, text/html;q=0.5"}
    assert api.get("/acme/open/_api/", headers=preferring)["Content-Type"] == "application/json"
    closed = api.get("/acme/handbook/_api/", headers=BROWSER)
    assert (closed.status_code, closed["Location"]) == (302, "/acme/handbook/admin/login/?next=/acme/handbook/_api/")
    assert api.get("/acme/handbook/_api/").status_code == 401


def test_every_operation_is_on_one_of_the_two_pages(api: ApiClient, open_storage: Storage) -> None:
    inside = DocumentPage(api.get("/acme/open/_api/docs").content.decode()).ids
    above = DocumentPage(api.get("/acme/_admin/_api/docs", token=collection_token(open_storage)).content.decode()).ids
    shown = {*inside, *above}
    for path in openapi_document()["paths"].values():
        for operation in path.values():
            name = operation["operationId"]
            is_same = path.get("get", {}).get("operationId") == name.removesuffix("ByPost")
            assert name in shown or is_same, name
    assert "listElements" not in above
    assert "listAdministrationFacets" not in inside


@pytest.mark.parametrize("path", ["/acme/_admin/_api/docs/", "/_sysadmin/_admin/_api/docs/"])
def test_the_administrative_contexts_have_one(api: ApiClient, open_storage: Storage, path: str) -> None:
    token = collection_token(open_storage) if path.startswith("/acme") else site_token()
    response = api.get(path, token=token)
    assert response.status_code == 200
    assert f"{path.partition('/_api')[0]}/_api/schema" in response.content.decode()


def test_post_and_head_answer_as_get(api: ApiClient, open_storage: Storage) -> None:
    page = api.get("/acme/open/_api/docs").content
    assert api.post("/acme/open/_api/docs/", content_type="application/json").content == page
    assert api.head("/acme/open/_api/docs/").status_code == 200


def test_the_page_in_german(api: ApiClient, open_storage: Storage) -> None:
    response = api.get("/acme/open/_api/docs", headers={"Accept-Language": "de-AT,de;q=0.9"})
    assert response["Content-Language"] == "de"
    assert "Operation finden" in response.content.decode()
    assert re.search(r'<html lang="de">', response.content.decode())


def test_the_page_has_the_access_rules_of_the_document(
    api: ApiClient, storage: Storage, other_storage: Storage
) -> None:
    page, document = "/acme/handbook/_api/docs", "/acme/handbook/_api/schema"
    for token, status in ((token_for(storage), 200), (token_for(other_storage), 401), ("nonsense", 401), (None, 401)):
        for address in (page, document):
            assert api.get(address, token=token).status_code == status
    assert api.get("/acme/none/_api/docs").status_code == 404
    assert api.delete(page).status_code == 405
    assert api.get(page, token=token_for(storage), headers={"Accept": "application/json"}).status_code == 406


def test_a_browser_is_asked_to_sign_in(api: ApiClient, storage: Storage) -> None:
    for path, office in (("/acme/handbook", "/acme/handbook/admin"), ("/acme/_admin", "/admin")):
        response = api.get(f"{path}/_api/docs/?a=b", headers=BROWSER)
        assert (response.status_code, response["Location"]) == (
            302,
            f"{office}/login/?next={path}/_api/docs/%3Fa%3Db",
        )


def test_a_browser_with_an_invalid_token_gets_401(api: ApiClient, storage: Storage) -> None:
    """In a header, or in the address if the storage allows it; otherwise a token in the address is ignored."""
    page, by_address = "/acme/handbook/_api/docs/", "/acme/handbook/_api/docs/?symbio-auth-token=nonsense"
    for header in ({"Authorization": "Bearer x"}, {"Authorization": "Basic x"}, {"symbio-auth-token": "x"}):
        assert api.get(page, headers={**BROWSER, **header}).status_code == 401
    assert api.get(by_address, headers=BROWSER).status_code == 302
    Storage.objects.filter(pk=storage.pk).update(token_in_query=True)
    assert api.get(by_address, headers=BROWSER).status_code == 401


def test_staff_of_another_storage_are_not_redirected_in_a_loop(api: ApiClient, storage: Storage) -> None:
    api.force_login(StaffAccountFactory.create())
    response = api.get("/acme/handbook/_api/docs/", headers=BROWSER)
    assert (response.status_code, response.json()["type"]) == (401, "unauthorized")


def test_staff_see_it_in_their_language(api: ApiClient, storage: Storage) -> None:
    api.force_login(StaffAccountFactory.create(is_superuser=True, language="de"))
    response = api.get("/acme/handbook/_api/docs/", headers=BROWSER)
    assert (response.status_code, response["Content-Language"]) == (200, "de")
