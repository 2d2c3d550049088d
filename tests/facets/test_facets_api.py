"""Facets, views and type configuration, operations 1, 2 and 14: whole responses for two templates."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from storage.models import Storage
from tests.api_client import ApiClient
from tests.factories import StorageFactory

pytestmark = pytest.mark.django_db
FACETS = "/acme/small/_api/rest/facets"
BASE = f"http://testserver{FACETS}"
THINGS = quote("things, étc.", safe="")
NAME = {
    "key": "name",
    "displayNames": {"1031": "Name", "1033": "Name"},
    "descriptions": {"1031": "", "1033": "What it is called."},
    "tooltips": {"1031": "Tipp", "1033": ""},
    "attribute": {"type": "System.String", "dataType": "MultiLineText", "isInvariantCulture": False},
}
SIZE = {
    "key": "größe",
    "displayNames": {"1031": "Größe", "1033": "Größe"},
    "descriptions": {"1031": "", "1033": ""},
    "tooltips": {"1031": "", "1033": ""},
    "attribute": {
        "type": "System.String",
        "dataType": "SelectionValue",
        "isInvariantCulture": True,
        "selectableValues": [
            {
                "displayNames": {"1031": "Irrelevant", "1033": "Irrelevant"},
                "descriptions": {"1031": "", "1033": ""},
                "tooltips": {"1031": "", "1033": ""},
            },
            {
                "key": "s",
                "displayNames": {"1031": "Small", "1033": "Small"},
                "descriptions": {"1031": "", "1033": ""},
                "tooltips": {"1031": "", "1033": "below ten"},
            },
        ],
    },
}
HOLDER = {
    "key": "holder",
    "displayNames": {"1031": "Holder", "1033": "Holder"},
    "descriptions": {"1031": "", "1033": ""},
    "tooltips": {"1031": "", "1033": ""},
    "related": {
        "relatedTypes": ["person"],
        "canAddNew": True,
        "maxOccurrence": 2,
        "readOnly": False,
        "facet": "people",
    },
}
TREE = [
    {
        "key": "box",
        "displayNames": {"1031": "Box", "1033": "Box"},
        "descriptions": {"1031": "", "1033": ""},
        "properties": [NAME],
        "layouts": [
            {"key": "flat", "displayNames": {"1031": "Flach", "1033": "Flach"}},
            {"key": "Wide & high", "displayNames": {"1031": "Wide", "1033": "Wide"}},
        ],
    },
    {
        "key": "Thing",
        "displayNames": {"1031": "Ding", "1033": "Thing"},
        "descriptions": {"1031": "Ein Ding.", "1033": ""},
        "properties": [HOLDER],
        "layouts": [],
    },
]


def test_facets_at_4_0(api: ApiClient, small: Storage) -> None:
    response = api.get(FACETS)
    assert response.json() == {
        "count": 2,
        "values": [
            {
                "name": "things, étc.",
                "displayNames": {"1031": "Dinge", "1033": "Things"},
                "views": f"{BASE}/{THINGS}/views",
            },
            {"name": "people", "displayNames": {"1031": "People", "1033": "People"}, "views": f"{BASE}/people/views"},
        ],
    }
    assert list(response.json()["values"][0]) == ["name", "displayNames", "views"]
    assert response["api-version"] == "4.0"


@pytest.mark.parametrize(
    ("languages", "name"),
    [("", "Things"), ("de", "Dinge"), ("de-AT,en;q=0.9", "Dinge"), ("fr", "Things"), ("fr,de;q=0.1", "Dinge")],
)
@pytest.mark.parametrize("version", ["1.0", "2.0", "3.0"])
def test_facets_below_4_0(api: ApiClient, small: Storage, languages: str, name: str, version: str) -> None:
    response = api.get(FACETS, headers={"api-version": version, "Accept-Language": languages})
    assert response.json() == {
        "count": 2,
        "values": [
            {"name": "things, étc.", "displayName": name, "views": f"{BASE}/{THINGS}/views"},
            {"name": "people", "displayName": "People", "views": f"{BASE}/people/views"},
        ],
    }
    assert response["Vary"] == "Accept-Language, Accept-Encoding"


@pytest.mark.parametrize("spelling", ["things, étc.", "THINGS, ÉTC."])
def test_views(api: ApiClient, small: Storage, spelling: str) -> None:
    address = f"{BASE}/{THINGS}/views"
    response = api.get(f"{FACETS}/{quote(spelling)}/views")
    assert response["api-version"] == "1.0"
    assert response.json() == {
        "count": 2,
        "values": [
            {
                "name": "all of it",
                "displayName": "All",
                "isHierarchical": False,
                "elements": f"{address}/all%20of%20it/elements",
            },
            {"name": "Tree", "displayName": "Tree", "isHierarchical": True, "elements": f"{address}/Tree/elements"},
        ],
    }
    newer = api.get(f"{FACETS}/{quote(spelling)}/views?api-version=4.0")
    assert newer.json()["values"][1] == {
        "name": "Tree",
        "displayNames": {"1031": "Baum", "1033": "Tree"},
        "isHierarchical": True,
        "elements": f"{address}/Tree/elements",
    }


def test_configuration_of_a_view(api: ApiClient, small: Storage) -> None:
    response = api.get(f"{FACETS}/{THINGS}/views/tree/config")
    assert response.json() == {"count": 2, "values": TREE}
    assert list(response.json()["values"][0]) == ["key", "displayNames", "descriptions", "properties", "layouts"]


def test_a_view_that_shows_all(api: ApiClient, small: Storage) -> None:
    values = api.get(f"{FACETS}/{THINGS}/views/all%20of%20it/config").json()["values"]
    assert [(each["key"], [found["key"] for found in each["properties"]]) for each in values] == [
        ("Thing", ["name", "größe", "holder"]),
        ("box", ["name"]),
        ("dot", ["name"]),
    ]
    assert values[0]["properties"] == [NAME, SIZE, HOLDER]


@pytest.mark.parametrize("spelling", ["Thing", "thing", "THING"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_configuration_of_one_type(api: ApiClient, small: Storage, spelling: str, method: str) -> None:
    response = api.generic(method, f"{FACETS}/{THINGS}/views/TREE/config/{spelling}/")
    assert response.json() == {"count": 1, "values": [TREE[1]]}


def test_unbounded_and_read_only_contexts(api: ApiClient, small: Storage) -> None:
    (person,) = api.get(f"{FACETS}/people/views/all of it/config/person").json()["values"]
    assert [each.get("attribute") or each["related"] for each in person["properties"][1:]] == [
        {"type": "System.Int32", "dataType": "Integer", "isInvariantCulture": True},
        {
            "relatedTypes": [],
            "canAddNew": False,
            "maxOccurrence": 2147483647,
            "readOnly": True,
            "facet": "people",
        },
    ]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nothing/views", "There is no facet nothing."),
        ("/nothing/views/tree/config", "There is no facet nothing."),
        ("/people/views/tree/config", "There is no view tree in the facet people."),
        ("/people/views/all of it/config/box", "There is no type box in the view all of it of the facet people."),
        (f"/{THINGS}/views/tree/config/dot", "There is no type dot in the view Tree of the facet things, étc.."),
    ],
)
def test_unknown_names(api: ApiClient, small: Storage, path: str, message: str) -> None:
    response = api.get(f"{FACETS}{path}")
    assert (response.status_code, response.json()) == (
        404,
        {"message": message, "output": "volatile", "type": "error", "data": [{"error": message}]},
    )


@pytest.mark.parametrize("path", ["/people/views", "/people/views/all of it/config"])
def test_unsupported_versions(api: ApiClient, small: Storage, path: str) -> None:
    response = api.get(f"{FACETS}{path}", headers={"api-version": "5.0"})
    assert response.status_code == 400


def test_every_read_answers_post_alike(api: ApiClient, small: Storage) -> None:
    for path in ("", "/people/views", "/people/views/all of it/config", "/people/views/all of it/config/person"):
        posted = api.post(f"{FACETS}{path}", b"", content_type="application/json")
        assert posted.json() == api.get(f"{FACETS}{path}").json()


def test_the_storages_cultures_decide_which_texts_are_shown(api: ApiClient, small_file: Any) -> None:
    StorageFactory.create(key="french", template=str(small_file), cultures=[1036, 1031], anonymous="read")
    values = api.get("/acme/french/_api/rest/facets").json()["values"]
    assert values[0]["displayNames"] == {"1031": "Dinge", "1036": "Dinge"}
    StorageFactory.create(key="austrian", template=str(small_file), cultures=[2057, 3079], anonymous="read")
    values = api.get("/acme/austrian/_api/rest/facets").json()["values"]
    assert values[0]["displayNames"] == {"2057": "Things", "3079": "Dinge"}


def test_the_configuration_of_another_storage_is_its_own(api: ApiClient, small: Storage, open_storage: Storage) -> None:
    assert api.get("/acme/open/_api/rest/facets/people/views").status_code == 404
    assert api.get(f"{FACETS}/processes/views").status_code == 404


@pytest.mark.long
def test_the_standard_template_answers(api: ApiClient) -> None:
    StorageFactory.create(key="house", template="standard", anonymous="read")
    facets = "/acme/house/_api/rest/facets"
    names = [each["name"] for each in api.get(facets).json()["values"]]
    assert (
        names
        == (
            "cultures inputsoutputs it knowledge kpi learning locations measures organization"
            " processes products requirements risks roles stereotypes tags usergroups users"
        ).split()
    )
    views = [each["name"] for each in api.get(f"{facets}/processes/views").json()["values"]]
    assert views == ["detail", "diagram", "documentContent", "list", "reporting", "tree"]
    for name in names:
        for view in api.get(f"{facets}/{name}/views").json()["values"]:
            config = api.get(f"{facets}/{name}/views/{view['name']}/config")
            assert config.json()["count"] > 0
