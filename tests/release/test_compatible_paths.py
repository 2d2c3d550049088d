"""The compatible paths show each caller the same elements as the rest API (D579)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.access.token_limits import TokenLimits
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import issued_token, token_for
from tests.release.house import API, ID, HouseClient, MakeClient
from tests.release.set_keeper import Keeper, grant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rival")]
FACETS = ("processes", "it", "users")
DRAWN = ("evStart", "evEnd", "task")
REST = "rest/facets/{}/views/detail/elements"


def data_of(element: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return an element of the rest API in the form of `_api/v2`."""
    attributes = element["attributes"].items()
    return {
        **named(element, names),
        "attributes": [
            {"key": key, "values": [{"lcid": int(lcid), "value": value} for lcid, value in values.items()]}
            for key, values in attributes
        ],
        "children": [named(each, names) for each in element.get("children", [])],
    }


def named(element: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    about = {"name": names[element["id"]], "type": element["type"], "facetName": element["facetName"]}
    return {"id": element["id"], "properties": about}


def compare(caller: HouseClient, *, reports: bool = True) -> dict[str, list[str]]:
    """Compare what the caller can read, and return the ids of elements by facet."""
    seen: dict[str, list[str]] = {}
    for facet in FACETS:
        found = caller.get(REST.format(facet))
        data = caller.get(f"v2/data/elements?Facet={facet}")
        assert data.status_code == found.status_code
        if found.status_code == 404:
            assert data.content == found.content == caller.get(f"v1/reporting?facet={facet}&page=1").content
            continue
        elements = found.json()["elements"]
        names = {each["id"]: each["attributes"]["name"]["1033"] for each in elements}
        assert data.json() == {"data": {"values": [data_of(each, names) for each in elements]}}
        seen[facet] = [each["id"] for each in elements]
        if reports:
            report = caller.get(f"v1/reporting?facet={facet}&page=1&pageSize=1000").json()["values"]
            assert {each["id"] for each in report} == {each["id"] for each in elements if each["type"] not in DRAWN}
            for each in report[:3]:
                assert caller.get(f"rest/facets/{facet}/reporting/{each['id']}").json()["values"] == [each]
        for each in elements[:3]:
            # Callers see more of their own element than the list does.
            single = caller.get(f"{REST.format(facet)}/{each['id']}").json()["elements"][0]
            assert caller.get(f"v2/data/elements/{each['id']}").json() == data_of(single, names)
    return seen


@pytest.mark.long
def test_callers_see_the_same_as_in_the_rest_api(desk: MakeClient, keeper: Keeper) -> None:
    viewer, editor, whole = desk(Role.VIEWER), desk(Role.EDITOR), compare(keeper)
    seen = {"viewer": compare(viewer, reports=False), "editor": compare(editor)}
    assert set(seen["viewer"]["processes"]) < set(seen["editor"]["processes"])
    assert viewer.get("v1/reporting?page=1").status_code == viewer.get(f"v1/reporting/{ID['erp']}").status_code == 403
    keeper.limit("order", users=[grant("anna", "show")])
    assert keeper.put("rest/permissions/facets/it", {"userGroups": [grant("crew", "show")]}).status_code == 200
    ben, anna = desk(user="ben"), desk(user="anna")
    assert ID["order"] not in compare(ben)["processes"]
    for hidden in (f"v2/data/elements/{ID['order']}", f"v1/reporting/{ID['order']}"):
        assert ben.get(hidden).status_code == 404
    limited = compare(anna)
    assert ID["order"] in limited["processes"]
    assert "it" not in limited
    report = anna.get("v1/reporting?page=1&pageSize=1000")
    assert (ID["erp"] in json.dumps(report.json()), anna.get(f"v1/reporting/{ID['erp']}").status_code) == (False, 404)
    assert compare(keeper) == whole


def test_tokens_of_facets_and_of_another_storage(house: Storage, other_storage: Storage, api: ApiClient) -> None:
    token = issued_token(house, Role.ADMINISTRATOR, limits=TokenLimits(facets=("it",)))
    addresses = ("v1/reporting?page=1", "v2/data/elements?Facet=it", f"v1/reporting/{ID['erp']}")
    for address in (*addresses, f"v2/data/elements/{ID['erp']}"):
        response = api.get(f"{API}/{address}", token=token)
        assert response.status_code == 200
        assert ID["house"] not in response.content.decode()
        assert "Rival" not in response.content.decode()
        assert api.get(f"{API}/{address}", token=token_for(other_storage, Role.ADMINISTRATOR)).status_code == 401
    for address in (f"v1/reporting/{ID['house']}", f"v2/data/elements/{ID['house']}", "v2/data/elements?Facet=users"):
        assert api.get(f"{API}/{address}", token=token).status_code == 404
