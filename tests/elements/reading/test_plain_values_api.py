"""Elements in one culture (D482): `$culture`, `$fallback`, and filters on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from storage.localisation.cultures import CultureSet, fallback_order
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import BASE, ID
from tests.elements.update_desk import UpdateDesk, extended_handbook
from tests.factories import token_for

pytestmark = pytest.mark.django_db
FACETS = "/acme/handbook/_api/rest/facets"
PROCESSES = f"{FACETS}/processes/views/detail/elements"


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    with extended_handbook(filled_storage, tmp_path_factory.mktemp("handbook")) as storage:
        yield storage


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateDesk:
    return UpdateDesk(handbook, api)


def values(desk: UpdateDesk, name: str, query: str) -> dict[str, Any]:
    response = desk.api.get(f"{PROCESSES}/{ID[name]}?{query}", token=desk.anna)
    assert response.status_code == 200, response.content
    [found] = response.json()["elements"]
    assert "attributes" not in found
    assert "displayNames" not in found
    plain: dict[str, Any] = found["values"]
    return plain


def found(desk: UpdateDesk, query: str, facet: str = "processes", view: str = "list") -> list[str]:
    response = desk.api.get(f"{FACETS}/{facet}/views/{view}/elements?$select=name&{query}", token=desk.anna)
    assert response.status_code == 200, response.content
    return [each["id"] for each in response.json()["elements"]]


def test_an_element_has_plain_values_in_one_culture(desk: UpdateDesk) -> None:
    plain = desk.api.get(f"{PROCESSES}/{ID['order-2']}?$culture=1031", token=desk.anna).json()["elements"][0]
    whole = desk.read("order-2")
    expected = {
        name: by_culture.get("127", by_culture.get("1031"))
        for name, by_culture in whole["attributes"].items()
        if "127" in by_culture or "1031" in by_culture
    }
    assert plain["values"] == expected
    assert expected["name"] == "Auftrag\nabwickeln"
    assert expected["count"] == 3
    assert expected["gotoUrl"] == f"{BASE}/1031/processes/{ID['order-2']}"
    assert "scope" not in expected
    assert plain["displayName"] == "Teilprozess"
    same = {key: value for key, value in plain.items() if key not in ("values", "displayName")}
    assert same == {key: value for key, value in whole.items() if key not in ("attributes", "displayNames")}


def test_missing_values_fall_back(desk: UpdateDesk) -> None:
    fallback = values(desk, "order-2", "$culture=1031&$fallback=true")
    assert (fallback["name"], fallback["scope"]) == ("Auftrag\nabwickeln", "Whole company")
    assert values(desk, "invoice", "$culture=1031&$fallback=true")["name"] == "Invoice"
    assert "name" not in values(desk, "invoice", "$culture=1031&$fallback=false")
    # From the default culture to any other.
    desk.update({"id": ID["invoice"], "attributes": {"scope": {"1031": "Alles", "1033": " "}}})
    assert values(desk, "invoice", "$culture=1033&$fallback=true")["scope"] == "Alles"
    assert values(desk, "invoice", "$culture=1033")["scope"] == " "


def test_decimals_keep_every_digit(desk: UpdateDesk) -> None:
    body = desk.api.get(f"{PROCESSES}/{ID['order-2']}?$culture=1031&$select=cost", token=desk.anna).content
    assert b'"values":{"cost":12345678901234567890.125}' in body


def test_only_what_is_asked_for_is_shown(desk: UpdateDesk) -> None:
    query = "$culture=1033&$resources=attributes&$select=name"
    [only] = desk.api.get(f"{PROCESSES}/{ID['house']}?{query}", token=desk.anna).json()["elements"]
    assert only["values"] == {"name": "House"}
    assert not only.keys() & {"displayName", "related", "children"}


def test_filters_mean_the_values_that_are_shown(desk: UpdateDesk) -> None:
    order, invoice = ID["order"], ID["invoice"]
    desk.update({"id": order, "attributes": {"name": {"1031": "Auftrag"}}})
    german, both = "$culture=1031", "$culture=1031&$fallback=true"
    assert found(desk, "$filter=name -eq 'Handle every order'") == [order]
    assert found(desk, f"{german}&$filter=name -eq 'Handle every order'") == []
    assert found(desk, f"{both}&$filter=name -eq 'Handle every order'") == []
    assert found(desk, f"{both}&$filter=name -eq 'Auftrag'") == found(desk, f"{german}&$filter=name -eq 'Auftrag'")
    assert found(desk, f"{both}&$filter=name -eq 'Invoice'") == [invoice]
    assert found(desk, f"{german}&$filter=name -eq 'Invoice'") == []
    assert invoice in found(desk, f"{german}&$filter=IsNull(name)")
    assert found(desk, f"{both}&$filter=IsNull(name)") == []
    # With a culture, a name means that culture.
    assert found(desk, f"{both}&$filter=name[1033] -eq 'Handle every order'") == [order]
    # Any attribute.
    assert found(desk, f"{both}&$filter=Contains(attributes, 'every order')") == []
    assert order in found(desk, f"{both}&$filter=Contains(attributes, 'auftrag')")
    assert order in found(desk, "$filter=Contains(attributes, 'every order')")


def test_lists_versions_and_reporting(desk: UpdateDesk) -> None:
    query = "$culture=1031&$fallback=true&$select=name"
    names = {
        each["id"]: each["values"]["name"]
        for each in desk.api.get(f"{FACETS}/users/views/detail/elements?{query}", token=desk.anna).json()["elements"]
    }
    assert names[ID["crew"]] == "Mannschaft"
    assert names[ID["ben"]] == "Ben Cole"
    versions = desk.api.get(f"{PROCESSES}/{ID['order']}/versions?{query}", token=desk.anna).json()["elements"]
    assert [each["values"]["name"] for each in versions] == ["Take order", "Auftrag\nabwickeln", "Handle every order"]
    analyzer = token_for(desk.storage, Role.ANALYZER)
    reported = desk.api.get(f"{FACETS}/processes/reporting/{ID['sales']}?{query}", token=analyzer).json()["values"][0]
    assert reported["values"]["name"] == "Sales"
    assert [each["values"]["name"] for each in reported["children"]] == ["ship", "Invoice", "Handle every order"]
    assert reported["versions"][0]["values"]["name"] == "Sales"


def test_each_culture_has_its_own_entity_tag(desk: UpdateDesk, client: Client) -> None:
    address = f"{PROCESSES}/{ID['order']}"
    tags = {query: client.get(f"{address}?{query}")["ETag"] for query in ("", "$culture=1031", "$culture=1033")}
    assert len(set(tags.values())) == 3
    for query, tag in tags.items():
        again = client.get(f"{address}?{query}", headers={"If-None-Match": tag})
        assert again.status_code == 304


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("$culture=1036", "$culture: the storage has no culture 1036; it has 1031 and 1033."),
        ("$culture=127", "$culture: the storage has no culture 127; it has 1031 and 1033."),
        ("$culture=german", "$culture: the storage has no culture german; it has 1031 and 1033."),
        ("$fallback=true", "$fallback: needs $culture, such as $culture=1033."),
        ("$culture=1033&$fallback=maybe", "$fallback: expected true or false, not 'maybe'."),
        ("culture=1033", "culture: the $ is missing; write $culture."),
    ],
)
def test_wrong_cultures_are_refused(handbook: Storage, client: Client, query: str, problem: str) -> None:
    response = client.get(f"{PROCESSES}?{query}")
    assert (response.status_code, response.json()["message"]) == (400, problem)


def test_plain_values_cannot_be_posted(desk: UpdateDesk) -> None:
    response = desk.send({"elements": [{"id": ID["invoice"], "values": {"name": "Bill"}}]})
    assert response.status_code == 400
    assert "an element has no field 'values'" in response.json()["message"]


@pytest.mark.parametrize(
    ("lcid", "expected"),
    [
        # Austrian German: German, the default culture, its language, then the others in the order of the storage.
        (3079, (3079, 1031, 1033, 2057, 1036)),
        (1036, (1036, 1033, 2057, 1031, 3079)),
        (2057, (2057, 1033, 1031, 3079, 1036)),
    ],
)
def test_the_order_of_fallback(lcid: int, expected: tuple[int, ...]) -> None:
    cultures = CultureSet(data=(1031, 1033, 1036, 2057, 3079), default=1033, mandatory=(1033,))
    assert fallback_order(lcid, cultures) == expected
