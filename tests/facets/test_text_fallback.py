"""The texts of the configuration in storages that lack a language of the template, or have one more (D40)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from tests.api_client import ApiClient
from tests.facets.small_template import small_template
from tests.factories import StorageFactory, token_for

pytestmark = pytest.mark.django_db
GERMAN, ENGLISH, FRENCH, AUSTRIAN = 1031, 1033, 1036, 3079
TEXTS = ("displayNames", "descriptions", "tooltips")


@pytest.fixture(scope="module", autouse=True)
def houses(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[Storage]]:
    """The standard template in its own two languages, in French and English, and in French alone."""
    with django_db_blocker.unblock():
        made = [
            StorageFactory.create(key=key, template="standard", anonymous="read", cultures=cultures)
            for key, cultures in {"house": None, "maison": [FRENCH, ENGLISH], "seule": [FRENCH]}.items()
        ]
    yield made
    with django_db_blocker.unblock():
        for storage in made:
            remove_storage(storage)


def answer(api: ApiClient, storage: str, path: str) -> Any:
    response = api.get(f"/acme/{storage}/_api/rest/facets{path}")
    assert response.status_code == 200, response.content
    return response.json()


def in_french_from_english(body: Any, *others: str) -> Any:
    """The answer of the storage `house` as one in French and the `others` must give it: with English names."""
    if isinstance(body, list):
        return [in_french_from_english(each, *others) for each in body]
    if not isinstance(body, dict):
        return body
    found = {key: in_french_from_english(value, *others) for key, value in body.items()}
    for name in found.keys() & set(TEXTS):
        english = body[name]["1033"]
        found[name] = {**dict.fromkeys(others, english), "1036": english if name == "displayNames" else ""}
    return found


def paths(api: ApiClient) -> Iterator[str]:
    """Every list of views and every configuration of the standard template."""
    for facet in answer(api, "house", "")["values"]:
        yield f"/{facet['name']}/views?api-version=4.0"
        for view in answer(api, "house", f"/{facet['name']}/views")["values"]:
            yield f"/{facet['name']}/views/{view['name']}/config"


@pytest.mark.long
@pytest.mark.parametrize(("storage", "others"), [("maison", ["1033"]), ("seule", [])])
def test_names_are_english_where_the_template_has_no_french(api: ApiClient, storage: str, others: list[str]) -> None:
    for path in ("?api-version=4.0", *paths(api)):
        expected = in_french_from_english(answer(api, "house", path), *others)
        assert json.dumps(answer(api, storage, path)).replace(f"/{storage}/", "/house/") == json.dumps(expected), path


@pytest.mark.parametrize("storage", ["maison", "seule"])
@pytest.mark.parametrize("accepted", ["", "fr", "de", "de, en;q=0.5"])
def test_no_client_gets_a_name_in_a_language_that_the_storage_lacks(
    api: ApiClient, storage: str, accepted: str
) -> None:
    headers = {"api-version": "3.0", "Accept-Language": accepted}
    found = api.get(f"/acme/{storage}/_api/rest/facets", headers=headers).json()["values"]
    names = {each["name"]: each["displayNames"]["1033"] for each in answer(api, "house", "?api-version=4.0")["values"]}
    assert [(each["name"], each["displayName"]) for each in found] == list(names.items())


@pytest.mark.parametrize(
    ("index", "lcids", "display_names"),
    [
        (0, ("1031", "1033"), {"1031": "Schlagwort", "1033": "Tag"}),
        (1, ("1033", "1036"), {"1033": "Tag", "1036": "Tag"}),
        (2, ("1036",), {"1036": "Tag"}),
    ],
)
def test_an_element_has_the_names_of_its_type(
    api: ApiClient, houses: list[Storage], index: int, lcids: tuple[str, ...], display_names: dict[str, str]
) -> None:
    storage = houses[index]
    address = f"/acme/{storage.key}/_api/rest/facets/tags/views/list/elements"
    token = token_for(storage, Role.ADMINISTRATOR)
    body = {"elements": [{"type": "tag", "attributes": {"name": dict.fromkeys(lcids, "Safety")}}]}
    response = api.post(f"{address}/", json.dumps(body), content_type="application/json", token=token)
    assert response.status_code == 200, response.content
    [made] = response.json()["elements"]
    expected = {
        "count": 1,
        "elements": [
            {
                "facetName": "tags",
                "id": made["id"],
                "creationId": made["id"],
                "type": "tag",
                "displayNames": display_names,
                "attributes": {
                    "changedOn": made["attributes"]["changedOn"],
                    "name": dict.fromkeys(lcids, "Safety"),
                },
            }
        ],
    }
    assert response.json() == expected
    assert api.get(address, token=token).json() == expected
    page = api.get(f"/acme/{storage.key}/{lcids[-1]}/tags/{made['id']}").content.decode()
    assert display_names[lcids[-1]] in page
    assert ("Schlagwort" in page) == (lcids[-1] == "1031")


@pytest.mark.parametrize(
    ("cultures", "default", "thing", "flat", "wide"),
    [
        # Own culture or language first, whatever the default is.
        ([AUSTRIAN, 2057], AUSTRIAN, {2057: "Thing", AUSTRIAN: "Ding"}, "Flach", "Wide"),
        # The default culture, then the others in the order of the storage.
        ([FRENCH, ENGLISH, GERMAN], GERMAN, {GERMAN: "Ding", ENGLISH: "Thing", FRENCH: "Ding"}, "Flach", "Wide"),
        ([FRENCH, ENGLISH, GERMAN], ENGLISH, {GERMAN: "Ding", ENGLISH: "Thing", FRENCH: "Thing"}, "Flach", "Wide"),
        ([FRENCH, ENGLISH, GERMAN], FRENCH, {GERMAN: "Ding", ENGLISH: "Thing", FRENCH: "Thing"}, "Flach", "Wide"),
        ([FRENCH, AUSTRIAN], FRENCH, {FRENCH: "Ding", AUSTRIAN: "Ding"}, "Flach", "Wide"),
        # English without being a culture of the storage; German never is, and the key is left.
        ([FRENCH], FRENCH, {FRENCH: "Thing"}, "flat", "Wide"),
        ([FRENCH, 1041], FRENCH, {FRENCH: "Thing", 1041: "Thing"}, "flat", "Wide"),
    ],
)
def test_the_order_of_the_fallback(
    api: ApiClient, tmp_path: Path, cultures: list[int], default: int, thing: dict[int, str], flat: str, wide: str
) -> None:
    template = tmp_path / "small.json"
    overrides = {"facets|things, étc.|views|Tree|typeOverrides": None}
    template.write_text(json.dumps(small_template(**overrides)), encoding="utf-8")
    fields = {"key": "some", "template": str(template), "anonymous": "read", "cultures": cultures}
    StorageFactory.create(**fields, default_culture=default)
    [found] = answer(api, "some", "/things, étc./views/tree/config/thing")["values"]
    assert found["displayNames"] == {str(lcid): text for lcid, text in sorted(thing.items())}
    assert found["layouts"] == [
        {"key": "flat", "displayNames": {str(lcid): flat for lcid in sorted(cultures)}},
        {"key": "Wide & high", "displayNames": {str(lcid): wide for lcid in sorted(cultures)}},
    ]
    assert found["descriptions"] == {str(lcid): "Ein Ding." if lcid == GERMAN else "" for lcid in sorted(cultures)}
