"""Compatible paths (D579 to D581): reporting of `_api/v1` and elements of `_api/v2`, compared with the rest API."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.handbook import FACETS, ID, pages
from tests.factories import token_for

pytestmark = pytest.mark.django_db
API = "/acme/handbook/_api"
REPORTS, DATA = f"{API}/v1/reporting", f"{API}/v2/data/elements"
UNKNOWN = "00000000-0000-4000-8000-ffffffffffff"


@pytest.fixture
def analyzer(handbook: Storage) -> str:
    return token_for(handbook, Role.ANALYZER)


def read(api: ApiClient, address: str, token: str, **query: Any) -> Any:
    response = api.get(f"{address}?{urlencode(query)}" if query else address, token=token)
    assert response.status_code == 200, response.content
    return response.json()


def test_a_report_has_each_element_with_its_versions(api: ApiClient, analyzer: str) -> None:
    found = read(api, REPORTS, analyzer, facet="Processes", page=1)
    names = ("customer-view", "order", "house", "invoice", "loose", "retired", "sales", "ship")
    assert [each["id"] for each in found["values"]] == [ID[name] for name in names]
    for each in found["values"]:
        single = read(api, f"{API}/rest/facets/processes/reporting/{each['id']}", analyzer)
        assert single == {"count": 1, "values": [each]} == read(api, f"{REPORTS}/{each['id']}", analyzer)
    assert [each["state"] for each in found["values"][1]["versions"]] == ["expired", "released", "inProcess"]
    # All facets that have a view for reporting; people and systems are not trees.
    everything = read(api, REPORTS, analyzer, page=1)["values"]
    facets = [each["facetName"] for each in everything]
    assert {facet: facets.count(facet) for facet in facets} == {"processes": 8, "it": 3, "users": 3}
    for facet in ("processes", "it", "users"):
        own = read(api, REPORTS, analyzer, facet=facet, page=1)["values"]
        assert own == [each for each in everything if each["facetName"] == facet]
    assert read(api, REPORTS, analyzer, facet="it", page=1) == read(
        api, f"{API}/rest/facets/it/reporting", analyzer
    )  # fmt: skip


def test_pages_of_a_report(api: ApiClient, analyzer: str) -> None:
    response = api.get(f"{REPORTS}?facet=it&page=2&pageSize=1", token=analyzer)
    assert (response.json()["count"], response["X-Total-Count"]) == (1, "3")
    shown = [
        f'<{FACETS[:-12]}/v1/reporting?facet=it&page={page}&pageSize=1>; rel="{relation}"'
        for relation, page in (("first", 1), ("prev", 1), ("next", 3), ("last", 3))
    ]
    assert response["Link"] == ", ".join(shown)
    again = api.get(
        f"{REPORTS}?facet=it&page=2&pageSize=1", token=analyzer, headers={"If-None-Match": response["ETag"]}
    )
    assert again.status_code == 304
    posted = api.post(f"{REPORTS}?facet=it&page=2&pageSize=1", b"", "application/json", token=analyzer)
    assert posted.content == response.content
    one = f"{REPORTS}/{ID['erp']}"
    assert api.post(one, b"", "application/json", token=analyzer).json() == read(api, one, analyzer)
    assert read(api, REPORTS, analyzer, page=99) == {"count": 0, "values": []}


@pytest.mark.parametrize(
    ("address", "status", "text"),
    [
        (REPORTS, 400, "page: is required, such as page=1."),
        (f"{REPORTS}?page=0", 400, "page: expected a whole number from 1 to 1000000000, not '0'."),
        (f"{REPORTS}?page=1&pageSize=1001", 400, "pageSize: expected a whole number from 1 to 1000, not '1001'."),
        (f"{REPORTS}?page=1&$filter=x", 400, "$filter: this operation takes $asOf."),
        (f"{REPORTS}?page=1&PageSize=2", 400, "PageSize: upper and lower case matter in names; write pageSize."),
        (f"{REPORTS}?page=1&facet=nothing", 404, "There is no facet nothing."),
        (f"{REPORTS}?page=1&facet=cultures", 404, "There is no view reporting in the facet cultures."),
        (f"{REPORTS}/{ID['german']}", 404, "There is no view reporting in the facet cultures."),
        (f"{REPORTS}/{UNKNOWN}", 404, f"There is no element {UNKNOWN}."),
        (f"{REPORTS}/x", 400, "'x' is not a GUID."),
        (DATA, 400, "Facet: is required, such as Facet=processes."),
        (f"{DATA}?facet=it", 400, "facet: upper and lower case matter in names; write Facet."),
        (f"{DATA}?Facet=it&Facet=it", 400, "Facet is given more than once; send it once."),
        (f"{DATA}?Facet=it&Lcid=1036", 400, "Lcid: the storage has no culture 1036; it has 1031 and 1033."),
        (f"{DATA}?Facet=it&PageSize=0", 400, "PageSize: expected a whole number from 1 to 1000, not '0'."),
        (f"{DATA}?Facet=it&View=tree", 404, "There is no view tree in the facet it."),
        (
            f"{DATA}/{ID['erp']}?Facet=users",
            404,
            f"There is no element {ID['erp']} in the view detail of the facet users.",
        ),
        (f"{DATA}/{ID['erp']}?Lcid=x", 400, "Lcid: the storage has no culture x; it has 1031 and 1033."),
        (f"{DATA}/{UNKNOWN}", 404, f"There is no element {UNKNOWN}."),
    ],
)
def test_refusals(api: ApiClient, analyzer: str, address: str, status: int, text: str) -> None:
    response = api.get(address, token=analyzer)
    assert (response.status_code, next(each["error"] for each in response.json()["data"])) == (status, text)


def child(name: str, text: str, type: str = "subProcess") -> dict[str, Any]:
    return {"id": ID[name], "properties": {"name": text, "type": type, "facetName": "processes"}}


def test_elements_with_attributes_as_a_list(api: ApiClient, analyzer: str) -> None:
    sales = {
        **child("sales", "Sales", "mainProcess"),
        "attributes": [
            {"key": "name", "values": [{"lcid": 1033, "value": "Sales"}]},
            {"key": "state1", "values": [{"lcid": 127, "value": "released"}]},
        ],
        "children": [child("ship", "ship"), child("invoice", "Invoice"), child("order", "Handle every order")],
    }
    assert read(api, f"{DATA}/{ID['sales']}", analyzer, View="tree") == sales
    house = {
        **child("house", "House", "processHouse"),
        "attributes": [
            {"key": "name", "values": [{"lcid": 1031, "value": "Haus"}, {"lcid": 1033, "value": "House"}]},
            {"key": "state1", "values": [{"lcid": 127, "value": "show"}]},
        ],
        "children": [child("sales", "Sales", "mainProcess")],
    }
    response = api.get(f"{DATA}?Facet=processes&View=tree", token=analyzer)
    assert response.json()["data"]["values"][1] == house
    assert response.json().keys() == {"data"}
    assert response.json()["data"].keys() == {"values"}
    assert list(house) == list(response.json()["data"]["values"][1])
    # In one culture; a missing name falls back, other values do not.
    german = read(api, DATA, analyzer, Facet="processes", View="tree", Lcid=1031)["data"]["values"]
    assert german[1]["properties"]["name"] == "Haus"
    assert german[1]["attributes"][0] == {"key": "name", "values": [{"lcid": 1031, "value": "Haus"}]}
    assert german[0]["properties"]["name"] == "customer view"
    assert [each["key"] for each in german[0]["attributes"]] == ["state1"]
    # A version by its id; values of all kinds, exactly.
    order = read(api, f"{DATA}/{ID['order-2']}", analyzer)
    attributes = {
        each["key"]: {str(one["lcid"]): one["value"] for one in each["values"]} for each in order["attributes"]
    }
    element = read(api, f"{API}/rest/facets/processes/views/detail/elements/{ID['order-2']}", analyzer)["elements"][0]
    assert attributes == element["attributes"]
    assert attributes["gotoUrl"] == pages("order-2")
    assert order["properties"]["name"] == "Handle order"


def test_filters_and_pages_of_elements(api: ApiClient, analyzer: str) -> None:
    def names(**query: Any) -> list[str]:
        found = read(api, DATA, analyzer, Facet="processes", View="list", **query)
        return [each["properties"]["name"] for each in found["data"]["values"]]

    everything = names()
    assert len(everything) == 6
    assert names(PageSize=2) == everything[:2]
    assert names(Page=2, PageSize=2) == everything[2:4]
    assert names(Page=9) == []
    assert names(Filter="StartsWith(name, 'Handle')") == ["Handle every order"]
    assert names(Filter="NOT IsNull(name)", Lcid=1031) == []
    response = api.get(f"{DATA}?Facet=processes&View=list&PageSize=4", token=analyzer)
    assert response["X-Total-Count"] == "6"
    assert (
        f'<{FACETS[:-12]}/v2/data/elements?Facet=processes&View=list&PageSize=4&Page=2>; rel="next"' in response["Link"]
    )
    for address in (f"{DATA}?Facet=it&PageSize=1", f"{DATA}/{ID['erp']}"):
        first = api.get(address, token=analyzer)
        assert api.get(address, token=analyzer, headers={"If-None-Match": first["ETag"]}).status_code == 304
        assert api.post(address, b"", "application/json", token=analyzer).content == first.content


def test_heavy_elements_are_streamed(api: ApiClient, analyzer: str, settings: Any) -> None:
    addresses = [f"{DATA}?Facet=processes&View=tree", f"{DATA}/{ID['sales']}"]
    whole = [api.get(address, token=analyzer).json() for address in addresses]
    settings.RESPONSE_BYTES = 1000
    assert [api.get(address, token=analyzer).json() for address in addresses] == whole
