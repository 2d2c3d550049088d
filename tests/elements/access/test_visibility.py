"""Callers learn only of what they may see (D6): viewers nothing of drafts and expired versions, storages nothing of
others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from elements.models import Element
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.element_parts import part, refused
from tests.elements.handbook import AUTHOR_NOTE, ID, LINES, TEMPLATE, wire
from tests.factories import token_for
from tests.scale import only_at_full_scale

pytestmark = [pytest.mark.django_db, pytest.mark.long]

HIDDEN = (
    "erp-2", "crm", "crm-1", "old", "old-1", "order-1", "order-3", "invoice", "invoice-1", "retired", "retired-1",
)  # fmt: skip
HIDDEN_SHAPES = ("shape-invoice-2", "shape-start-3", "shape-check-3")
HIDDEN_TEXTS = (
    "CRM", "ERP next", "Old system", "Take order", "Handle every order", "Invoice", "Retired", "Check again", '"inProcess"', '"expired"',
    AUTHOR_NOTE["1033"],
)  # fmt: skip
# Drawn in the diagram of the draft and nowhere else.
IN_DRAFT_ONLY = ("start-3", "check-3")
VIEWS = [(facet, view) for facet, described in TEMPLATE["facets"].items() for view in described["views"]]
RESOURCES = "attributes,related,children,content,displayNames,rootPath,versions"


def types_of(facet: str, view: str) -> list[str]:
    every = [key for key, type in TEMPLATE["types"].items() if type["facet"] == facet]
    types: list[str] = TEMPLATE["facets"][facet]["views"][view].get("types", every)
    return types


def contexts_of(facet: str, view: str) -> list[str]:
    names = {name for type in types_of(facet, view) for name in TEMPLATE["types"][type]["properties"]}
    return sorted(name for name in names if "related" in TEMPLATE["properties"][name])


def list_addresses(storage: str, facet: str, view: str) -> Iterator[str]:
    elements = f"/{storage}/_api/rest/facets/{facet}/views/{view}/elements"
    expand = ",".join(contexts_of(facet, view))
    yield elements
    yield f"{elements}?$page=1&$resources={RESOURCES}"
    yield f"{elements}?$expandRelated={expand}&$select={expand}"


def element_addresses(storage: str, facet: str, view: str, identity: str) -> Iterator[str]:
    """Return all addresses of one element."""
    element = f"/{storage}/_api/rest/facets/{facet}/views/{view}/elements/{identity}"
    expand = ",".join(contexts_of(facet, view))
    yield element
    for rest in ("attributes", "children", "content", "info"):
        yield f"{element}/{rest}"
    yield f"{element}?$resources={RESOURCES}&$expandRelated={expand}"
    yield f"{element}/versions?$resources={RESOURCES}&$expandRelated={expand}"
    yield f"{element}/related?$select={expand}&$expandRelated={expand}"


class Walk:
    """One caller reads all existing and possible addresses of a storage."""

    def __init__(self, storage: str, token: str, views: list[tuple[str, str]]) -> None:
        self.client = Client()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.statuses: dict[str, int] = {}
        self.bodies: dict[str, str] = {}
        for facet, view in views:
            for address in list_addresses(storage, facet, view):
                self.ask(address)
            # In one view of each facet, also with the ids of other facets and of shapes.
            for identity in ID.values() if view == first_view(facet) else ids_in(facet):
                first, *others = element_addresses(storage, facet, view, identity)
                if self.ask(first) == 200:
                    for address in others:
                        self.ask(address)
                    if view == first_view(facet):
                        self.ask_contexts(f"{first}/related", json.loads(self.bodies[first])["elements"][0])

    def ask(self, address: str) -> int:
        response = self.client.get(address, headers=self.headers)
        self.statuses[address] = response.status_code
        if response.status_code == 200:
            self.bodies[address] = response.content.decode()
        return response.status_code

    def ask_contexts(self, address: str, element: Any) -> None:
        for context in TEMPLATE["types"][element["type"]]["properties"]:
            if "related" in TEMPLATE["properties"][context]:
                self.ask(f"{address}/{context}?$expandRelated={context}")

    def found(self, text: str) -> list[str]:
        return [address for address, body in self.bodies.items() if text in body]


def first_view(facet: str) -> str:
    return str(next(iter(TEMPLATE["facets"][facet]["views"])))


def ids_in(facet: str) -> set[str]:
    lines = [line for line in LINES if line["facetName"] == facet]
    return {line[key] for line in lines for key in ("id", "versionId") if key in line}


@cache
def walked(collection: str, role: Role) -> Walk:
    """Nothing changes between the tests that use it. For the rival, one view of each facet is enough."""
    storage = Storage.objects.get(collection__key=collection, key="handbook")
    views = VIEWS if collection == "acme" else [(facet, first_view(facet)) for facet in TEMPLATE["facets"]]
    return Walk(f"{collection}/handbook", token_for(storage, role), views)


@pytest.fixture(params=["anonymous", "viewer"])
def looker(request: pytest.FixtureRequest, handbook: Storage) -> str | None:
    """A credential that may see published elements only."""
    return None if request.param == "anonymous" else token_for(handbook, Role.VIEWER)


@pytest.mark.long
def test_responses_to_a_viewer_contain_nothing_of_drafts_or_expired_versions(handbook: Storage) -> None:
    walk = walked("acme", Role.VIEWER)
    for name in (*HIDDEN, *HIDDEN_SHAPES, *IN_DRAFT_ONLY):
        assert walk.found(ID[name]) == [], name
    for text in HIDDEN_TEXTS:
        assert walk.found(text) == [], text
    assert set(walk.statuses.values()) == {200, 404}
    assert len(walk.bodies) > 400
    for name in ("erp-1", "order-2", "ship-1", "loose-1", "check-2", "shape-check-2"):
        assert walk.found(ID[name]), name


@pytest.mark.long
def test_an_anonymous_caller_sees_what_a_viewer_sees(handbook: Storage) -> None:
    client = Client(REMOTE_ADDR="192.0.2.78")  # no other test uses up the rate limit of this address
    for address, body in walked("acme", Role.VIEWER).bodies.items():
        # The token of the walk is an element while the walk lasts.
        if "/views/detail/" in address and "/facets/automation/" not in address:
            assert client.get(address).content.decode() == body, address


@pytest.mark.long
@only_at_full_scale
def test_callers_who_see_drafts_find_them_by_the_same_walk(handbook: Storage) -> None:
    walk = walked("acme", Role.EDITOR)
    for name in (*HIDDEN, *HIDDEN_SHAPES, *IN_DRAFT_ONLY):
        assert walk.found(ID[name]), name
    for text in HIDDEN_TEXTS:
        assert walk.found(text), text
    assert set(walk.statuses.values()) == {200, 404}


@pytest.mark.long
def test_hidden_ids_are_not_found_by_any_operation(looker: str | None) -> None:
    headers = {"Authorization": f"Bearer {looker}"} if looker else {}
    client = Client(REMOTE_ADDR="192.0.2.79")
    for name in HIDDEN:
        (facet,) = {line["facetName"] for line in LINES if ID[name] in (line["id"], line.get("versionId"))}
        for view in TEMPLATE["facets"][facet]["views"]:
            for address in element_addresses("acme/handbook", facet, view, ID[name]):
                response = client.get(address, headers=headers)
                assert response.status_code == 404, address
                message = response.json()["message"]
                assert message == f"There is no element {ID[name]} in the view {view} of the facet {facet}."
    for context in contexts_of("processes", "detail"):
        refused(ApiClient().get(part("invoice", f"related/{context}"), token=looker), 404, ID["invoice"])


def test_hidden_elements_look_like_unknown_ones(api: ApiClient, looker: str | None) -> None:
    nobody = "00000000-0000-4000-8000-00000000ffff"
    for rest in ("", "attributes", "related/systems", "info", "versions"):
        hidden, unknown = api.get(part("invoice", rest), token=looker), api.get(part(nobody, rest), token=looker)
        assert hidden.content.replace(ID["invoice"].encode(), nobody.encode()) == unknown.content
        assert hidden.status_code == unknown.status_code == 404


@pytest.mark.parametrize("name", IN_DRAFT_ONLY)
def test_elements_of_a_draft_diagram_are_hidden_with_it(
    api: ApiClient, handbook: Storage, looker: str | None, name: str
) -> None:
    for view in ("detail", "diagram"):
        listed = api.get(f"/acme/handbook/_api/rest/facets/processes/views/{view}/elements", token=looker)
        assert ID[name] not in listed.content.decode()
        refused(api.get(part(name, "", view), token=looker), 404, ID[name])


def test_a_hidden_parent_is_skipped(api: ApiClient, handbook: Storage, looker: str | None) -> None:
    with tenant_scope(handbook):
        Element.objects.filter(id=ID["ship"]).update(parent_id=ID["invoice"])
    path = [wire("sales-1", view="tree"), wire("house", view="tree")]
    (ship,) = api.get(part("ship", "", "tree"), token=looker).json()["elements"]
    assert ship["rootPath"] == path
    (info,) = api.get(part("ship", "info", "tree"), token=looker).json()["values"]
    assert info["rootPath"] == [ID["ship-1"], ID["sales-1"], ID["house"]]
    assert info["uid"] == f"{ID['sales-1']}_{ID['ship-1']}"


PROCESSES = ["Handle order", "Loose end", "Sales", "ship"]
OTHERS = [name for name in PROCESSES if name != "Handle order"]


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        (f"id -eq {ID['invoice']}", []),
        (f"versionId -in ({ID['order-1']}, {ID['order-3']}, {ID['invoice-1']})", []),
        (f"id -eq {ID['order']} AND version -eq '2.1'", []),
        (f"NOT versionId -eq {ID['invoice-1']}", PROCESSES),
        (f"systems -eq {ID['crm']}", []),
        (f"systems -eq {ID['old']}", []),
        (f"systems -in ({ID['crm']}, {ID['erp']})", ["Handle order"]),
        (f"systems -ne {ID['crm']}", PROCESSES),
        (f"NOT systems -eq {ID['crm']}", PROCESSES),
        (f"systems -ne {ID['erp']}", OTHERS),
        ("IsNull(systems)", OTHERS),
        (f"author -eq {ID['anna']}", []),
        ("IsNull(author)", PROCESSES),
        ("NOT IsNull(authorNote)", []),
        (f"changedBy -eq {ID['token']}", []),
        (f"releaseHistory -eq {ID['retired']}", []),
        (f"releaseHistory -eq {ID['order']}", ["Handle order"]),
        ("state -in (inProcess, expired)", []),
        ("state1 -in (inProcess, expired)", []),
        ("isReleased -eq false", []),
        ("name -in ('Invoice', 'Retired', 'Take order', 'Handle every order')", []),
        ("Contains(attributes, 'every order')", []),
        (f"Contains(gotoUrl, '{ID['order-3']}')", []),
        ("Contains(attributes, 'invoice')", ["Handle order"]),  # in the description of the published version
        ("version -ge '0'", PROCESSES),
    ],
)
def test_filters_reveal_nothing_hidden_to_viewers(
    api: ApiClient, looker: str | None, expression: str, names: list[str]
) -> None:
    query = urlencode({"$filter": expression, "$page": 1, "$pageSize": 100})
    response = api.get(f"/acme/handbook/_api/rest/facets/processes/views/list/elements?{query}", token=looker)
    assert [each["attributes"]["name"]["1033"] for each in response.json()["elements"]] == names
    assert response.json()["count"] == int(response["X-Total-Count"]) == len(names)


@pytest.mark.parametrize(
    ("element", "expression", "contexts"),
    [
        ("order", f"id -eq {ID['crm']}", []),
        ("order", f"versionId -eq {ID['erp-2']}", []),
        ("order", f"versionId -eq {ID['order-1']}", []),
        ("order", "name -eq 'ERP next'", []),
        ("order", "state -eq inProcess", []),
        ("order", f"NOT id -eq {ID['anna']}", ["relBy", "releaseHistory", "systems"]),
        ("check-2", f"owner -eq {ID['anna']}", []),  # owns the draft of the system
        ("check-2", f"owner -eq {ID['ben']}", ["systems"]),  # owns the released one
    ],
)
def test_filters_of_references_reveal_nothing_hidden(
    api: ApiClient, looker: str | None, element: str, expression: str, contexts: list[str]
) -> None:
    body = api.get(part(element, "related", filter=expression), token=looker).json()
    assert (list(body["values"]), body["count"]) == (contexts, len(contexts))


def test_the_page_of_a_hidden_element_is_not_found(api: ApiClient, looker: str | None) -> None:
    elements = "/acme/handbook/_api/rest/facets/processes/views/list/elements"
    for name in ("invoice", "invoice-1", "order-1", "order-3", "retired"):
        refused(api.get(f"{elements}?$pageSelectionKey={ID[name]}", token=looker), 404, ID[name])
    assert api.get(f"{elements}?$pageSelectionKey={ID['order-2']}", token=looker).status_code == 200


@pytest.mark.parametrize(("facet", "view"), VIEWS)
@pytest.mark.parametrize("role", [Role.VIEWER, Role.ADMINISTRATOR])
def test_counts_and_pages_agree_with_what_is_listed(handbook: Storage, role: Role, facet: str, view: str) -> None:
    client, headers = Client(), {"Authorization": f"Bearer {token_for(handbook, role)}"}
    elements = f"/acme/handbook/_api/rest/facets/{facet}/views/{view}/elements"
    if role is Role.VIEWER and facet == "automation":
        assert client.get(elements, headers=headers).status_code == 404  # not for readers
        return

    def read(address: str) -> Any:
        body = client.get(address, headers=headers).json()
        assert body["count"] == len(body["elements"])
        return body["elements"]

    whole: list[Any] = read(elements)
    paged: list[Any] = []
    for number in range(1, len(whole) // 2 + 2):
        page = client.get(f"{elements}?$pageSize=2&$page={number}", headers=headers)
        assert page["X-Total-Count"] == str(len(whole))
        paged += page.json()["elements"]
    assert paged == whole
    for each in whole:
        address = f"{elements}/{each['id']}"
        assert read(address) == [each]
        assert len(read(f"{address}/children")) == len(each.get("children", ()))
        assert len(read(f"{address}/content")) == len(each.get("content", ()))


def names_in(value: Any) -> Iterator[str]:
    """Return the texts of every attribute `name`, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from names_in(each)
    if isinstance(value, dict):
        for key, each in value.items():
            # In an info it is a text, and in the list of attributes one of them.
            yield from (each.values() if isinstance(each, dict) else [each]) if key == "name" else names_in(each)


@only_at_full_scale
@pytest.mark.long
@pytest.mark.parametrize(("collection", "other"), [("acme", "rival"), ("rival", "acme")])
def test_storages_with_the_same_ids_return_their_own_content(handbook: Storage, collection: str, other: str) -> None:
    walk = walked(collection, Role.EDITOR)
    # The token of the walk is an element, too.
    names = {name for body in walk.bodies.values() for name in names_in(json.loads(body))} - {"test"}
    assert len(names) > 18
    assert {name.startswith("Rival ") for name in names} == {collection == "rival"}
    assert walk.found(f"http://testserver/{other}/") == []
    assert walk.found(f"http://testserver/{collection}/") != []


def test_a_token_of_another_storage_is_unknown_here(api: ApiClient, handbook: Storage) -> None:
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    elements = "/_api/rest/facets/processes/views/detail/elements"
    for mine, other in ((handbook, "rival"), (rival, "acme")):
        token = token_for(mine, Role.ADMINISTRATOR)
        for rest in ("", f"/{ID['order']}", f"/{ID['order']}/attributes", f"/{ID['order']}/info"):
            response = api.get(f"/{other}/handbook{elements}{rest}", token=token)
            body = response.json()
            assert (response.status_code, body["type"], body["output"]) == (401, "unauthorized", "volatile")
            assert response["WWW-Authenticate"] == "Bearer"
