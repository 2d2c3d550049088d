"""Reporting, operation 15 (D14): a facet in its view reporting, with children, content and versions in full."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.element_parts import NOT_THERE, refused
from tests.elements.handbook import FACETS, ID, TYPE_NAMES, wire
from tests.factories import token_for

pytestmark = pytest.mark.django_db
Wire = dict[str, Any]


def report(element: str = "", facet: str = "processes", **query: str) -> str:
    asked = f"?{urlencode({f'${name}': value for name, value in query.items()})}" if query else ""
    return (
        f"/acme/handbook/_api/rest/facets/{facet}/reporting{f'/{ID.get(element, element)}' if element else ''}{asked}"
    )


@pytest.fixture
def analyzer(handbook: Storage) -> str:
    return token_for(handbook, Role.ANALYZER)


def ref(name: str) -> Wire:
    return wire(name, view="reporting")


def counted(major: int, minor: int, *, released_first: bool, open_first: bool) -> Wire:
    """Return the four attributes that reporting adds."""
    return {
        "isLastInProcessOrReleased": {"127": open_first},
        "isReleasedOrLastInProcess": {"127": released_first},
        "majorVersion": {"127": major},
        "minorVersion": {"127": minor},
    }


def versioned(name: str, names: Wire, state: str, extras: Wire, **parts: Any) -> Wire:
    """Return a process as the child of another one: identity, attributes, related."""
    attributes = {**extras, "name": names, "state1": {"127": state}}
    return {**wire(name, bare=True), "attributes": attributes, **parts}


def named(element: Wire, **parts: Any) -> Wire:
    """Return the process as an entry of the list."""
    return {**element, "displayNames": TYPE_NAMES[element["type"]], **parts}


ONLY_RELEASED = counted(1, 0, released_first=True, open_first=True)
SALES = versioned("sales-1", {"1033": "Sales"}, "released", ONLY_RELEASED)
SHIP = versioned("ship-1", {"1033": "ship"}, "inEffect", ONLY_RELEASED)
INVOICE = versioned("invoice-1", {"1033": "Invoice"}, "inProcess", counted(0, 1, released_first=True, open_first=True))
ORDER_1 = versioned("order-1", {"1033": "Take order"}, "expired", counted(1, 0, released_first=False, open_first=False))
ORDER_2 = versioned(
    "order-2",
    {"1031": "Auftrag\nabwickeln", "1033": "Handle order"},
    "released",
    counted(2, 0, released_first=True, open_first=False),
    related={"owner": [ref("anna")], "systems": [ref("crm-1"), ref("erp-2"), ref("old-1")]},
)
ORDER_3 = versioned(
    "order-3",
    {"1033": "Handle every order"},
    "inProcess",
    counted(2, 1, released_first=False, open_first=True),
    related={"systems": [ref("erp-2")]},
)
START = {**wire("start-3", bare=True), "attributes": {"name": {"1033": "Start"}}}
CHECK = {**wire("check-3", bare=True), "attributes": {"name": {"1033": "Check again"}}}
HOUSE = {
    **wire("house", bare=True),
    "displayNames": TYPE_NAMES["processHouse"],
    "attributes": {"name": {"1031": "Haus", "1033": "House"}, "state1": {"127": "show"}},
    "related": {"owner": [ref("anna")]},
    "children": [SALES],
    "content": [SALES],
}
CUSTOMER_VIEW = {
    **wire("customer-view", bare=True),
    "displayNames": TYPE_NAMES["view"],
    "attributes": {"name": {"1033": "customer view"}, "state1": {"127": "show"}},
}


def test_the_roots_of_a_tree_with_their_children(api: ApiClient, analyzer: str) -> None:
    response = api.get(report(), token=analyzer)
    assert response.json() == {"count": 2, "values": [CUSTOMER_VIEW, HOUSE]}
    assert (response.status_code, response["api-version"]) == (200, "4.0")
    house = response.json()["values"][1]
    keys = ["facetName", "id", "creationId", "type", "displayNames", "attributes", "related", "children", "content"]
    assert list(house) == keys
    assert list(house["children"][0]) == ["facetName", "id", "versionId", "type", "state", "attributes"]
    assert list(house["children"][0]["attributes"]) == sorted(SALES["attributes"])


def test_children_are_written_out_one_level_deep(api: ApiClient, analyzer: str) -> None:
    children = [SHIP, INVOICE, ORDER_3]
    version = named(SALES, children=children)
    body = api.get(report("sales"), token=analyzer).json()
    assert body == {"count": 1, "values": [{**version, "versions": [version]}]}


def test_content_is_written_out_and_versions_are_whole(api: ApiClient, analyzer: str) -> None:
    start = {**wire("start-2", bare=True), "attributes": {"name": {"1033": "Start"}}}
    check = {
        **wire("check-2", bare=True),
        "attributes": {"name": {"1031": "Prüfen", "1033": "Check"}},
        "related": {"systems": [ref("crm-1"), ref("erp-2")]},
    }
    second = named(ORDER_2, content=[start, check, SHIP, INVOICE])
    third = named(ORDER_3, content=[START, CHECK])
    versions = [named(ORDER_1), second, third]
    response = api.get(report("order"), token=analyzer)
    assert response.json() == {"count": 1, "values": [{**third, "versions": versions}]}
    keys = ["facetName", "id", "versionId", "type", "state", "displayNames", "attributes", "related", "content"]
    assert list(response.json()["values"][0]) == [*keys, "versions"]
    assert list(response.json()["values"][0]["versions"][1]) == keys
    released = api.get(report("order-2"), token=analyzer).json()
    assert released == {"count": 1, "values": [{**second, "versions": versions}]}


@pytest.mark.parametrize(
    ("name", "extras"),
    [
        ("invoice-1", counted(0, 1, released_first=True, open_first=True)),  # a draft and nothing else
        ("ship-1", counted(1, 0, released_first=True, open_first=True)),  # in effect and nothing else
        ("loose-1", counted(1, 0, released_first=True, open_first=True)),  # to be expired, still published
        ("retired-1", counted(1, 0, released_first=False, open_first=False)),  # expired and nothing else
        ("order-1", counted(1, 0, released_first=False, open_first=False)),
        ("order-2", counted(2, 0, released_first=True, open_first=False)),
        ("order-3", counted(2, 1, released_first=False, open_first=True)),
    ],
)
def test_which_versions_a_report_should_count(api: ApiClient, analyzer: str, name: str, extras: Wire) -> None:
    address = report(name, select=",".join(extras), resources="attributes")
    response = api.get(address, token=analyzer)
    assert response.json() == {"count": 1, "values": [{**wire(name, bare=True), "attributes": extras}]}
    assert list(response.json()["values"][0]["attributes"]) == sorted(extras)


ERP_1 = {
    **wire("erp-1", bare=True),
    "displayNames": TYPE_NAMES["system"],
    "attributes": {"name": {"1033": "ERP"}, **counted(1, 0, released_first=True, open_first=False)},
    "related": {"owner": [ref("ben")]},
}
ERP_2 = {
    **wire("erp-2", bare=True),
    "displayNames": TYPE_NAMES["system"],
    "attributes": {"name": {"1033": "ERP next"}, **counted(1, 1, released_first=False, open_first=True)},
    "related": {"owner": [ref("anna")]},
}
CRM = {
    **wire("crm-1", bare=True),
    "displayNames": TYPE_NAMES["system"],
    "attributes": {"name": {"1033": "CRM"}, **counted(0, 1, released_first=True, open_first=True)},
}
OLD = {
    **wire("old-1", bare=True),
    "displayNames": TYPE_NAMES["system"],
    "attributes": {"name": {"1033": "Old system"}, **counted(1, 0, released_first=False, open_first=False)},
}
SYSTEMS = [{**CRM, "versions": [CRM]}, {**ERP_2, "versions": [ERP_1, ERP_2]}, {**OLD, "versions": [OLD]}]


def test_a_flat_view_reports_every_element(api: ApiClient, analyzer: str) -> None:
    assert api.get(report(facet="it"), token=analyzer).json() == {"count": 3, "values": SYSTEMS}


def test_the_list_is_called_values_at_every_api_version(api: ApiClient, analyzer: str) -> None:
    for version in ("1.0", "2.0", "3.0", "4.0"):
        response = api.get(report(facet="it"), token=analyzer, headers={"api-version": version})
        assert response.json() == {"count": 3, "values": SYSTEMS}
        assert response["api-version"] == version
    refused(api.get(report(), token=analyzer, headers={"api-version": "5.0"}), 400, "5.0", "4.0")


def test_references_lead_to_reporting_or_where_there_is_none_to_the_ordinary_address(
    api: ApiClient, analyzer: str
) -> None:
    body = api.get(report("anna", "users", select="userGroups,hasCulture"), token=analyzer).json()
    related = {"hasCulture": [wire("german")], "userGroups": [ref("crew")]}
    anna = {**wire("anna", bare=True), "displayNames": TYPE_NAMES["user"], "related": related}
    assert body == {"count": 1, "values": [anna]}
    assert ref("crew")["expandUri"] == f"{FACETS}/users/reporting/{ID['crew']}"
    assert wire("german")["expandUri"] == f"{FACETS}/cultures/views/all/elements/{ID['german']}"
    body = api.get(report("order-3", select="changedBy", resources="related"), token=analyzer).json()
    order = {**wire("order-3", bare=True), "related": {"changedBy": [wire("token")]}}
    assert body == {"count": 1, "values": [order]}


def test_select_goes_for_everything_that_is_written_out(api: ApiClient, analyzer: str) -> None:
    body = api.get(report(select="majorVersion"), token=analyzer).json()
    sales = {**wire("sales-1", bare=True), "attributes": {"majorVersion": {"127": 1}}}
    house = {**wire("house", bare=True), "displayNames": TYPE_NAMES["processHouse"]}
    view = {**wire("customer-view", bare=True), "displayNames": TYPE_NAMES["view"]}
    assert body == {"count": 2, "values": [view, {**house, "children": [sales], "content": [sales]}]}


def test_select_can_name_properties_outside_the_view(api: ApiClient, analyzer: str) -> None:
    body = api.get(report("ship", select="version,releaseHistory", resources="attributes,related"), token=analyzer)
    related = {"releaseHistory": [ref("ship-1")]}
    ship = {**wire("ship-1", bare=True), "attributes": {"version": {"127": "1.0"}}, "related": related}
    assert body.json() == {"count": 1, "values": [ship]}


def test_an_expanded_reference_has_relations_and_no_address(api: ApiClient, analyzer: str) -> None:
    address = report("order-3", select="systems", resources="related", expandRelated="systems")
    inner = {"owner": [wire("anna", bare=True)], "releaseHistory": [wire("erp-1", bare=True)]}
    erp = {**wire("erp-2", bare=True), "related": inner}
    body = api.get(address, token=analyzer).json()
    assert body == {"count": 1, "values": [{**wire("order-3", bare=True), "related": {"systems": [erp]}}]}


def test_filter_knows_the_derived_attributes(api: ApiClient, analyzer: str) -> None:
    def names(facet: str, **query: str) -> list[str]:
        body = api.get(report(facet=facet, **query), token=analyzer).json()
        assert body["count"] == len(body["values"])
        return [each["attributes"]["name"]["1033"] for each in body["values"]]

    assert names("it", filter="isReleasedOrLastInProcess -eq true") == ["CRM"]
    assert names("it", filter="isReleasedOrLastInProcess -eq false") == ["ERP next", "Old system"]
    assert names("it", filter="isLastInProcessOrReleased -eq true") == ["CRM", "ERP next"]
    assert names("it", filter="majorVersion -ge 1 AND minorVersion -eq 1") == ["ERP next"]
    assert names("processes", filter="IsNull(majorVersion)") == ["customer view", "House"]
    assert names("processes", filter="majorVersion -ge 0") == []
    whole = api.get(report(facet="it", filter="isReleasedOrLastInProcess -eq true"), token=analyzer).json()
    assert whole == {"count": 1, "values": SYSTEMS[:1]}


def test_filter_on_one_element(api: ApiClient, analyzer: str) -> None:
    matching = api.get(report("crm", "it", filter="isReleasedOrLastInProcess -eq true"), token=analyzer)
    assert matching.json() == {"count": 1, "values": SYSTEMS[:1]}
    other = api.get(report("erp", "it", filter="isReleasedOrLastInProcess -eq true"), token=analyzer)
    assert other.json() == {"count": 0, "values": []}


@pytest.mark.parametrize(
    ("resources", "parts"),
    [
        ("attributes", {"attributes": HOUSE["attributes"]}),
        ("related", {"related": {"owner": [ref("anna")]}}),
        ("displayNames", {"displayNames": TYPE_NAMES["processHouse"]}),
        ("content,attributes", {"attributes": HOUSE["attributes"], "content": [SALES]}),
        ("children,versions", {"children": [wire("sales-1", bare=True)]}),
        ("rootPath", {}),
    ],
)
def test_resources_restrict_the_parts(api: ApiClient, analyzer: str, resources: str, parts: Wire) -> None:
    body = api.get(report("house", resources=resources), token=analyzer).json()
    assert body == {"count": 1, "values": [{**wire("house", bare=True), **parts}]}


def test_the_path_to_the_root_is_there_when_asked_for(api: ApiClient, analyzer: str) -> None:
    body = api.get(report("ship", resources="rootPath"), token=analyzer).json()
    assert body == {"count": 1, "values": [{**wire("ship-1", bare=True), "rootPath": [ref("sales-1"), ref("house")]}]}


def link(relation: str, page: int, size: int = 2) -> str:
    return f'<{FACETS}/it/reporting?$page={page}&$pageSize={size}>; rel="{relation}"'


@pytest.mark.parametrize(
    ("query", "values", "links"),
    [
        ("$page=1&$pageSize=2", SYSTEMS[:2], [link("first", 1), link("next", 2), link("last", 2)]),
        ("$page=2&$pageSize=2", SYSTEMS[2:], [link("first", 1), link("prev", 1), link("last", 2)]),
        ("$page=9&$pageSize=2", [], [link("first", 1), link("prev", 2), link("last", 2)]),
        ("$page=1", SYSTEMS, [link("first", 1, 100), link("last", 1, 100)]),
    ],
)
def test_pages(api: ApiClient, analyzer: str, query: str, values: list[Wire], links: list[str]) -> None:
    response = api.get(f"{report(facet='it')}?{query}", token=analyzer)
    assert response.json() == {"count": len(values), "values": values}
    assert (response["X-Total-Count"], response["Link"]) == ("3", ", ".join(links))


def test_without_a_page_there_are_no_headers_of_pages(api: ApiClient, analyzer: str) -> None:
    response = api.get(report(facet="it"), token=analyzer)
    assert "X-Total-Count" not in response
    assert "Link" not in response


def test_parameters_that_are_not_taken_are_refused(api: ApiClient, analyzer: str) -> None:
    taken = ("$filter", "$resources", "$select", "$expandRelated")
    key = report(pageSelectionKey=ID["house"])
    refused(api.get(key, token=analyzer), 400, "$pageSelectionKey", *taken, "$page", "$pageSize")
    for name in ("page", "pageSize"):
        refused(api.get(report("house", **{name: "1"}), token=analyzer), 400, f"${name}", *taken)
    for query in ({"page": "0"}, {"pageSize": "1001"}, {"select": "colour"}, {"resources": "colour"}, {"filter": "?"}):
        refused(api.get(report(**query), token=analyzer), 400)


@pytest.mark.parametrize("facet", ["cultures", "automation", "recipes"])
def test_a_facet_without_a_view_for_reporting(api: ApiClient, analyzer: str, facet: str) -> None:
    refused(api.get(report(facet=facet), token=analyzer), 404, facet)
    refused(api.get(report("german", facet), token=analyzer), 404, facet)


def test_elements_that_are_not_there(api: ApiClient, analyzer: str) -> None:
    refused(api.get(report(NOT_THERE), token=analyzer), 404, NOT_THERE)
    refused(api.get(report("erp"), token=analyzer), 404, ID["erp"])
    refused(api.get(report("nowhere"), token=analyzer), 400, "nowhere")


@pytest.mark.parametrize(
    "address", [report(), report("order"), report("invoice"), report(NOT_THERE), report(facet="it")]
)
def test_viewers_and_anonymous_callers_get_no_reports(api: ApiClient, handbook: Storage, address: str) -> None:
    """Authenticated callers get 403, anonymous callers 401."""
    for token, status in ((None, 401), (token_for(handbook, Role.VIEWER), 403)):
        response = api.get(address, token=token)
        body = response.json()
        assert response.status_code == status
        assert list(body) == ["message", "output", "type", "data"]
        assert (body["output"], body["type"]) == ("volatile", "unauthorized")
        assert body["data"] == [{"error": body["message"]}]
        assert "Analyzer" in body["message"]


@pytest.mark.parametrize("role", [Role.ANALYZER, Role.EDITOR, Role.APPROVER, Role.ARCHITECT, Role.ADMINISTRATOR])
def test_every_role_above_viewer_gets_them(api: ApiClient, handbook: Storage, role: Role) -> None:
    body = api.get(report(), token=token_for(handbook, role)).json()
    assert body == {"count": 2, "values": [CUSTOMER_VIEW, HOUSE]}


@pytest.mark.parametrize("address", [report(), report("order")])
def test_every_spelling_of_the_address_answers_alike(api: ApiClient, analyzer: str, address: str) -> None:
    plain = api.get(address, token=analyzer)
    assert api.get(f"{address}/", token=analyzer).content == plain.content
    assert api.get(address.replace("processes", "PROCESSES"), token=analyzer).content == plain.content
    assert api.get(address.replace(ID["order"], ID["order-3"].upper()), token=analyzer).content == plain.content
    assert api.generic("POST", address, token=analyzer).content == plain.content
    head = api.head(address, token=analyzer)
    assert (head.status_code, head.content) == (200, b"")
    refused(api.post(address, {"count": 0}, content_type="application/json", token=analyzer), 400, "body")
    response = api.delete(address, token=analyzer)
    refused(response, 405)
    assert response["Allow"] == "GET, HEAD, POST"
