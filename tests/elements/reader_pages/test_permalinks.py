"""Permalinks: the API, their addresses, and the button that copies one (D413 to D415)."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements import permalinks
from elements.models import Element, Permalink
from elements.permalinks import ALPHABET, LinkTarget
from storage.models import AnonymousAccess, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import BASE, ID
from tests.elements.office import Office
from tests.elements.reader_page import found_in, read_page
from tests.factories import token_for

pytestmark = pytest.mark.django_db
ROOT = "/acme/handbook"
API = f"{ROOT}/_api/v1/permalinks"
UNKNOWN = "00000000-0000-4000-8000-ffffffffffff"
ORDERS = "Contains(name, 'order')"
Create = Callable[..., Any]


@pytest.fixture
def create(api: ApiClient, editor: str) -> Create:
    def make(token: str = editor, **body: Any) -> Any:
        return api.post(API, json.dumps(body), "application/json", token=token)

    return make


def made(response: Any) -> dict[str, Any]:
    assert response.status_code == 200, response.content
    body = response.json()
    assert body["count"] == len(body["values"]) == 1
    value: dict[str, Any] = body["values"][0]
    return value


def followed(key: str, client: Client | None = None) -> tuple[int, str]:
    response = (client or Client()).get(f"{ROOT}/_l/{key}")
    return response.status_code, response.headers.get("Location", "").removeprefix(ROOT)


TARGETS: list[tuple[dict[str, Any], str]] = [
    ({"linkType": "ofElement", "elementId": ID["order"], "culture": 1031}, f"/1031/processes/{ID['order-2']}"),
    ({"linkType": "ofElement", "elementId": ID["house"]}, f"/1033/processes/{ID['house']}"),
    ({"linkType": "ofVersion", "versionId": ID["order-2"]}, f"/1033/processes/{ID['order-2']}"),
    ({"linkType": "ofVersion", "versionId": ID["order-1"]}, f"/1033/processes/{ID['order-1']}"),
    (
        {"linkType": "ofSelection", "facetName": "processes", "viewName": "list", "filter": ORDERS},
        "/1033/processes/?as=list&view=list&filter=Contains%28name%2C+%27order%27%29",
    ),
    ({"linkType": "ofOverview", "facetName": "processes"}, "/1033/processes/"),
    ({"linkType": "ofOverview", "facetName": "processes", "viewName": "tree"}, "/1033/processes/"),
    ({"linkType": "ofOverview", "facetName": "it", "viewName": "list"}, "/1033/it/?as=list&view=list"),
]


def test_each_type_of_link_leads_to_its_page(handbook: Storage, create: Create, api: ApiClient, editor: str) -> None:
    links = []
    for body, target in TARGETS:
        link = made(create(**body))
        key = link["id"]
        assert re.fullmatch(f"[{ALPHABET}]{{10}}", key)
        when = link["createdOn"]
        assert link == {"id": key, "url": f"{BASE}/_l/{key}", "createdOn": when, **body}
        assert list(link)[:3] == ["id", "linkType", "url"]
        # The same target has the same permalink.
        assert made(create(**body)) == link
        assert followed(key, Client(headers={"Accept-Language": "en"})) == (302, target)
        assert Client().get(ROOT + target).status_code == 200
        links.append(link)
    german = Client(headers={"Accept-Language": "de"})
    assert followed(links[1]["id"], german) == (302, f"/1031/processes/{ID['house']}")
    assert api.get(API, token=editor).json() == {"count": len(links), "values": links}
    with tenant_scope(Storage.objects.get(collection__key="rival", key="handbook")):
        assert Permalink.objects.count() == 0


def test_names_are_written_as_they_are_configured(handbook: Storage, create: Create) -> None:
    link = made(create(linkType="ofOverview", facetName="PROCESSES", viewName="LIST"))
    assert (link["facetName"], link["viewName"]) == ("processes", "list")
    # The id of a version means its element, and the id of an element its version.
    assert made(create(linkType="ofElement", elementId=ID["order-2"].upper()))["elementId"] == ID["order"]
    assert made(create(linkType="ofVersion", versionId=ID["order"]))["versionId"] == ID["order-3"]


def test_a_selection_has_the_names_of_its_view(uses: Storage, api: ApiClient) -> None:
    """Only tasks have the context, and the tree has no tasks."""
    body = {"linkType": "ofSelection", "facetName": "processes", "filter": "IsNull(accountable)"}
    address, token = "/acme/uses/_api/v1/permalinks", token_for(uses, Role.EDITOR)
    made(api.post(address, body, "application/json", token=token))
    refused = api.post(address, {**body, "viewName": "tree"}, "application/json", token=token)
    assert refused.status_code == 400
    assert "accountable" in refused.json()["message"]
    page = "/acme/uses/1033/processes/?as=list&filter=IsNull(accountable)"
    assert [Client().get(page + view).status_code for view in ("", "&view=tree")] == [200, 400]


def test_links_survive_a_move_and_a_new_name(handbook: Storage, create: Create, api: ApiClient) -> None:
    key = made(create(linkType="ofElement", elementId=ID["order"]))["id"]
    with tenant_scope(handbook):
        Element.objects.filter(id=ID["order"]).update(parent_id=ID["ship"])
    assert followed(key) == (302, f"/1033/processes/{ID['order-2']}")
    body = {"elements": [{"id": ID["order"], "attributes": {"name": {"1033": "Renamed"}}}]}
    address = f"{ROOT}/_api/rest/facets/processes/views/detail/elements"
    changed = api.post(address, json.dumps(body), "application/json", token=token_for(handbook, Role.ARCHITECT))
    assert changed.status_code == 200
    editor = Office(handbook, Role.EDITOR).client
    page = read_page(editor.get(f"{ROOT}/_l/{key}", follow=True).content.decode())
    assert (1, "Renamed") in page.headings


def test_a_redirect_depends_on_the_visitor(handbook: Storage, create: Create) -> None:
    key = made(create(linkType="ofElement", elementId=ID["order"], culture=1031))["id"]
    response = Client().get(f"{ROOT}/_l/{key}")
    assert (response.status_code, response["Vary"], response["Cache-Control"]) == (
        302,
        "Accept-Language, Cookie",
        "private, no-cache",
    )
    assert Client().head(f"{ROOT}/_l/{key}").status_code == 302
    assert Client().post(f"{ROOT}/_l/{key}").status_code == 405
    with tenant_scope(handbook):
        # The storage had another culture once.
        Permalink.objects.update(culture=1036)
    for language, lcid in {"de": 1031, "en": 1033}.items():
        found = followed(key, Client(headers={"Accept-Language": language}))
        assert found == (302, f"/{lcid}/processes/{ID['order-2']}")


def test_a_link_to_what_the_visitor_must_not_see_looks_unknown(handbook: Storage, create: Create) -> None:
    pages = []
    for body in (
        {"linkType": "ofElement", "elementId": ID["invoice"]},
        {"linkType": "ofVersion", "versionId": ID["order-3"]},
        {"linkType": "ofOverview", "facetName": "automation"},
        {"linkType": "ofSelection", "facetName": "automation", "filter": "name -eq 'x'"},
    ):
        key = made(create(token_for(handbook, Role.ADMINISTRATOR), **body))["id"]
        assert followed(key, Office(handbook, Role.ADMINISTRATOR).client)[0] == 302
        assert followed(key) == (404, "")
        pages.append(Client().get(f"{ROOT}/_l/{key}").content.decode().replace(key, "2" * 10))
    unknown = Client().get(f"{ROOT}/_l/{'2' * 10}").content.decode()
    assert pages == [unknown] * 4
    for key in ("x" * 11, "%00", "ä", "a b"):
        assert followed(key) == (404, "")


def test_links_to_what_was_removed(handbook: Storage, create: Create, api: ApiClient, architect: str) -> None:
    expired = made(create(linkType="ofElement", elementId=ID["old"]))["id"]
    assert followed(expired) == (302, f"/1033/it/{ID['old']}")
    assert Client().get(f"{ROOT}/_l/{expired}", follow=True).status_code == 410
    deleted = made(create(linkType="ofElement", elementId=ID["customer-view"]))["id"]
    address = f"{ROOT}/_api/rest/facets/processes/views/detail/elements/{ID['customer-view']}"
    assert followed(deleted)[0] == 302
    assert api.delete(address, token=architect).status_code == 200
    response = Office(handbook, Role.EDITOR).client.get(f"{ROOT}/_l/{deleted}")
    assert response.status_code == 404
    assert f"{ROOT}/1033/it/" in read_page(response.content.decode()).addresses
    assert api.get(API, {"id": deleted}, token=architect).json()["count"] == 0


def test_a_closed_storage_asks_visitors_to_sign_in(handbook: Storage, create: Create) -> None:
    key = made(create(linkType="ofElement", elementId=ID["order"]))["id"]
    Storage.objects.filter(pk=handbook.pk).update(anonymous_access=AnonymousAccess.NONE)
    for each in (key, "2" * 10):
        assert followed(each) == (302, f"/admin/login/?next=/acme/handbook/_l/{each}")


def test_lists_show_what_the_caller_can_see(handbook: Storage, create: Create, api: ApiClient, editor: str) -> None:
    def keys(token: str | None, **query: str) -> list[str]:
        response = api.get(API, query, token=token)
        assert response.status_code == 200
        return [each["id"] for each in response.json()["values"]]

    bodies = {
        "element": {"linkType": "ofElement", "elementId": ID["order"]},
        "draft": {"linkType": "ofElement", "elementId": ID["invoice"]},
        "published": {"linkType": "ofVersion", "versionId": ID["order-2"]},
        "new": {"linkType": "ofVersion", "versionId": ID["order-3"]},
        "selection": {"linkType": "ofSelection", "facetName": "it", "filter": "name -eq 'ERP'"},
        "overview": {"linkType": "ofOverview", "facetName": "it"},
    }
    made_by = {name: made(create(**body))["id"] for name, body in bodies.items()}
    administrator = token_for(handbook, Role.ADMINISTRATOR)
    private = {
        "token": {"linkType": "ofElement", "elementId": ID["token"]},
        "version of a token": {"linkType": "ofVersion", "versionId": ID["token"]},
        "tokens": {"linkType": "ofOverview", "facetName": "automation"},
    }
    made_by |= {name: made(create(administrator, **body))["id"] for name, body in private.items()}
    names = {key: name for name, key in made_by.items()}
    assert [names[key] for key in keys(administrator)] == [*bodies, *private]
    # Others than administrators see the facet of tokens, but no token.
    assert [names[key] for key in keys(editor)] == [*bodies, "tokens"]
    for token in (None, token_for(handbook, Role.VIEWER)):
        assert [names[key] for key in keys(token)] == ["element", "published", "overview"]
        assert [names[key] for key in keys(token, id=made_by["selection"])] == ["selection"]
        assert keys(token, id=made_by["tokens"]) == keys(token, id=made_by["version of a token"]) == []
        assert keys(token, id=made_by["draft"]) == keys(token, elementId=ID["invoice"]) == []
    assert [names[key] for key in keys(editor, elementId=ID["order"])] == ["element", "published", "new"]
    assert [names[key] for key in keys(editor, elementId=ID["order"], linkType="ofVersion")] == ["published", "new"]
    page = api.get(API, {"$page": "2", "$pageSize": "4"}, token=editor)
    assert [names[each["id"]] for each in page.json()["values"]] == ["selection", "overview", "tokens"]
    assert page["X-Total-Count"] == "7"
    assert api.post(API, {}, "application/json", token=editor).json() == api.get(API, token=editor).json()
    refused = api.get(API, {"linkType": "ofNothing", "elementId": "x"}, token=editor)
    assert [each["error"] for each in refused.json()["data"]] == [
        "linkType: expected ofElement, ofVersion, ofSelection or ofOverview.",
        "elementId: 'x' is not a GUID.",
    ]


def test_anonymous_readers_create_nothing(handbook: Storage, api: ApiClient, create: Create) -> None:
    body = {"linkType": "ofElement", "elementId": ID["order"]}
    response = api.post(API, body, "application/json")
    assert (response.status_code, response.json()["message"]) == (
        401,
        "Sign in, or send a token, to create a permalink.",
    )
    assert made(create(token_for(handbook, Role.VIEWER), **body))["elementId"] == ID["order"]


ELEMENT = {"linkType": "ofElement", "elementId": ID["order"]}


@pytest.mark.parametrize(
    ("body", "status", "details"),
    [
        ([ELEMENT], 400, [f"The body must be an object such as {permalinks.EXAMPLE}."]),
        ({"x": 1}, 400, ["linkType: expected ofElement, ofVersion, ofSelection or ofOverview."]),
        ({"linkType": ["ofElement"]}, 400, ["linkType: expected ofElement, ofVersion, ofSelection or ofOverview."]),
        (
            {"linkType": "ofVersion", "elementId": ID["order"], "culture": 1036},
            400,
            [
                "elementId: a link ofVersion has the fields versionId and culture; leave this one out.",
                "versionId: expected a text.",
                "culture: expected a data culture of this storage: 1031 or 1033.",
            ],
        ),
        ({**ELEMENT, "culture": True}, 400, ["culture: expected a data culture of this storage: 1031 or 1033."]),
        ({"linkType": "ofElement", "elementId": "x"}, 400, ["elementId: 'x' is not a GUID."]),
        ({"linkType": "ofElement", "elementId": UNKNOWN}, 404, [f"There is no element {UNKNOWN}."]),
        ({"linkType": "ofElement", "elementId": ID["token"]}, 404, [f"There is no element {ID['token']}."]),
        ({"linkType": "ofOverview", "facetName": "itt"}, 404, ["There is no facet itt; similar: it."]),
        (
            {"linkType": "ofSelection", "facetName": "it", "filter": "nam -eq 'x'"},
            400,
            None,
        ),
        ({"linkType": "ofSelection", "facetName": "it", "filter": ""}, 400, ["filter: expected a text."]),
        (
            {"linkType": "ofSelection", "facetName": "it", "filter": "x" * 4001},
            400,
            ["filter: expected at most 4000 characters."],
        ),
        ({"linkType": "ofSelection", "facetName": "it", "filter": " \n"}, 400, ["filter: expected a text."]),
        (
            {"linkType": "ofOverview", "facetName": "x" * 101, "viewName": "y" * 101},
            400,
            ["facetName: expected at most 100 characters.", "viewName: expected at most 100 characters."],
        ),
    ],
)
def test_refused_targets(create: Create, body: Any, status: int, details: list[str] | None, api: ApiClient) -> None:
    response = create(**body) if isinstance(body, dict) else None
    if response is None:
        token = token_for(Storage.objects.get(collection__key="acme", key="handbook"), Role.EDITOR)
        response = api.post(API, json.dumps(body), "application/json", token=token)
    assert response.status_code == status, response.content
    if details is not None:
        assert [each["error"] for each in response.json()["data"]] == details


def test_the_number_of_permalinks_is_limited(handbook: Storage, create: Create, settings: Any) -> None:
    settings.MAX_PERMALINKS = 1
    link = made(create(**ELEMENT))
    response = create(linkType="ofElement", elementId=ID["house"])
    assert (response.status_code, response.json()["message"]) == (
        422,
        "The storage already has 1 permalinks, which is the limit of the installation.",
    )
    assert made(create(**ELEMENT)) == link


def test_a_key_that_is_in_use_is_replaced(handbook: Storage, create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("a" * 20 + "b" * 10)
    monkeypatch.setattr("elements.permalinks.secrets.choice", lambda _alphabet: next(letters))
    assert made(create(**ELEMENT))["id"] == "a" * 10
    assert made(create(linkType="ofElement", elementId=ID["house"]))["id"] == "b" * 10


def test_requests_at_the_same_moment_get_the_same_permalink(
    handbook: Storage, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request creates the permalink after this one has looked for it."""
    choose, others = secrets.choice, list[str]()

    def chosen(alphabet: str) -> str:
        if not others:
            others.append("")
            others[0] = permalinks._create(LinkTarget("ofElement", target_id=ID["order"])).key
        return choose(alphabet)

    monkeypatch.setattr("elements.permalinks.secrets.choice", chosen)
    assert made(create(**ELEMENT))["id"] == others[0]
    with tenant_scope(handbook):
        assert Permalink.objects.count() == 1


def test_a_list_shows_a_selection(handbook: Storage) -> None:
    def lines(path: str) -> list[str]:
        return read_page(Client().get(f"{ROOT}/1033/processes/?{path}").content.decode()).lines

    filtered = lines(f"filter={ORDERS}")
    assert filtered[-2:] == [
        "This page shows a selection of the elements. Show all",
        "Handle order Sub process Released",
    ]
    assert lines("filter=name -eq 'x'")[-1] == "No element matches."
    assert lines("filter=Contains(name, 'check')")[-1] == "Check Task"
    assert lines("filter=Contains(name, 'check')&view=list")[-1] == "No element matches."
    assert lines("as=list&view=list")[-3:] == [
        "Loose end Sub process Expiry requested", "Sales Main process Released", "ship Sub process In effect",
    ]  # fmt: skip
    refused = Client().get(f"{ROOT}/1033/processes/?filter=nam -eq 'x'")
    assert refused.status_code == 400
    assert found_in(refused.content.decode(), "nam") != []
    assert Client().get(f"{ROOT}/1033/processes/?view=nothing").status_code == 404


def test_the_search_index_narrows_a_selection_down(handbook: Storage) -> None:
    with CaptureQueriesContext(connection) as sent:
        response = Client().get(f"{ROOT}/1033/processes/", {"filter": "Contains(description, 'order')"})
    assert read_page(response.content.decode()).lines[-1] == "Handle order Sub process Released"
    assert [each["sql"] for each in sent if "elements_searchposting" in each["sql"] and "v.sort_name" in each["sql"]]


def fields_of(client: Client, path: str) -> dict[str, str]:
    page = read_page(client.get(f"{ROOT}{path}").content.decode())
    hidden = [each for each in page.attributes("input") if each.get("type") == "hidden"]
    wanted = {"linkType", "elementId", "versionId", "facetName", "viewName", "filter", "culture"}
    return {each["name"]: each["value"] for each in hidden if each["name"] in wanted}


def test_the_button_links_to_what_the_page_shows(handbook: Storage) -> None:
    member = Office(handbook, Role.EDITOR).client
    assert fields_of(member, f"/1033/processes/{ID['order']}") == {**ELEMENT, "culture": "1033"}
    version = {"linkType": "ofVersion", "versionId": ID["order-1"], "culture": "1031"}
    assert fields_of(member, f"/1031/processes/{ID['order-1']}") == version
    overview = {"linkType": "ofOverview", "facetName": "it", "culture": "1033"}
    assert fields_of(member, "/1033/it/") == overview
    selection = {"linkType": "ofSelection", "facetName": "processes", "culture": "1033"}
    for query, text in {
        "type=task": "type -in ('task')",
        "type=subProcess&begins=it's": "type -in ('subProcess') AND StartsWith(name[1033], 'it''s')",
        f"filter={ORDERS}": ORDERS,
        f"filter={ORDERS}&type=task": f"({ORDERS}) AND type -in ('task')",
        f"filter={ORDERS}&begins=ha": f"({ORDERS}) AND StartsWith(name[1033], 'ha')",
    }.items():
        found = fields_of(member, f"/1033/processes/?as=list&{query}")
        assert found == {**selection, "filter": text}
    # The tree has neither types nor views.
    whole = {"linkType": "ofOverview", "facetName": "processes", "culture": "1033"}
    assert fields_of(member, "/1033/processes/?type=task&begins=x&view=list") == whole
    begins = fields_of(member, "/1033/processes/?as=list&begins=ha")["filter"]
    shown = [
        read_page(Client().get(f"{ROOT}/1033/processes/", query).content.decode()).lines[-1]
        for query in ({"filter": begins}, {"as": "list", "begins": "ha"})
    ]
    assert shown == ["Handle order Sub process Released"] * 2


def test_anonymous_readers_copy_the_address_of_the_page(handbook: Storage) -> None:
    assert fields_of(Client(), f"/1033/processes/{ID['order-2']}") == {}
    page = read_page(Client().get(f"{ROOT}/1033/processes/{ID['order-2']}").content.decode())
    assert f"Link to this page: {BASE}/1033/processes/{ID['order']}" in page.lines
    assert Client().get(f"{ROOT}/1033/processes/{ID['order']}").status_code == 200
    listed = read_page(Client().get(f"{ROOT}/1031/it/?as=list&type=system").content.decode())
    assert f"Link zu dieser Seite: {BASE}/1031/it/?as=list&type=system" in listed.lines


def test_the_form_works_without_scripts(handbook: Storage) -> None:
    member, address = Office(handbook, Role.VIEWER).client, f"{ROOT}/permalinks"
    response = member.post(address, {**ELEMENT, "culture": "1031", "csrfmiddlewaretoken": "x"})
    assert response.status_code == 200, read_page(response.content.decode()).lines
    with tenant_scope(handbook):
        (link,) = Permalink.objects.all()
    assert (link.link_type, str(link.target_id), link.culture) == ("ofElement", ID["order"], 1031)
    page = read_page(response.content.decode())
    shown = [each["value"] for each in page.attributes("input")]
    assert (response.status_code, shown) == (200, [f"{BASE}/_l/{link.key}"])
    assert page.address("Zur Seite") == f"{BASE}/_l/{link.key}"
    assert member.post(address, {**ELEMENT, "elementId": ID["invoice"]}).status_code == 404
    assert member.get(address).status_code == 405
    anonymous = Client().post(address, ELEMENT)
    assert (anonymous.status_code, found_in(anonymous.content.decode(), "Sign in, or send a token")) == (
        403,
        ["Sign in, or send a token"],
    )
