"""SCIM as a protocol: filters, pages, attributes, discovery and bulk (D542, D546)."""

from __future__ import annotations

from typing import Any

import pytest

from storage.models import IdentityProvider
from storage.scim import documents, groups, people
from tests.storage.scim.directory import CORE, ENTERPRISE, JO, MESSAGES, TestedDirectory

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(directory: TestedDirectory) -> TestedDirectory:
    """Jo with all attributes, Kim in the group `Editors`, and Lee, who is inactive and has few attributes."""
    jo = directory.create("Users", JO)
    kim = directory.person("kim", title="O'Neill (50%) _x_\\", emails=[{"type": "home", "value": "kim@home.example"}])
    directory.person("lee", active=False, externalId="E-3")
    directory.group("Editors", kim["id"], externalId="g-1")
    directory.group("Staff", kim["id"], jo["id"])
    return directory


FILTERS = [
    ('userName eq "JO.DOE@example.org"', "jo"),
    ('userName eq "jo.doe@example.org" and active eq true', "jo"),
    ('userName sw "k" or userName co ".doe"', "jo kim"),
    ('userName ew "example.org"', "jo kim lee"),
    ('not (userName sw "jo")', "kim lee"),
    ('externalId eq "E-3"', "lee"),
    ('externalId eq "e-3"', ""),
    ("externalId pr", "jo lee"),
    ("active eq false", "lee"),
    ('name.familyName eq "doe"', "jo"),
    ('displayName co "O d"', "jo"),
    ("title pr", "jo kim"),
    ('title eq "o\'neill (50%) _X_\\\\"', "kim"),
    ('title co "(50%"', "kim"),
    ('title co ".*"', ""),
    ('title ne "Head of quality"', "kim lee"),
    ('title gt "I"', "kim"),
    ('emails.value eq "KIM@home.example"', "kim"),
    ('emails co "example.org"', "jo"),
    ('emails[type eq "work" and value co "doe"]', "jo"),
    ('emails[type eq "work"].value eq "jo.doe@example.org"', "jo"),
    ('emails[type eq "home" and primary eq true]', ""),
    ('emails[not (type eq "home")]', "jo"),
    ("emails[primary pr]", "jo"),
    ("emails eq null", "lee"),
    (f'{ENTERPRISE}:department eq "quality"', "jo"),
    (f'{CORE}:User:userName sw "lee"', "lee"),
    ('meta.created gt "2020-01-01T00:00:00Z" and meta.lastModified ge "2020-01-01T00:00:00Z"', "jo kim lee"),
    ('meta.created lt "2020-01-01T00:00:00Z"', ""),
    ('id eq "nonsense"', ""),
    ('id ne "nonsense"', "jo kim lee"),
    ("groups pr", "jo kim"),
    ("active eq null or meta.created eq null", ""),
]


def test_filters(filled: TestedDirectory) -> None:
    wrong = {}
    for text, expected in FILTERS:
        listed = filled.get("Users", filter=text, attributes="userName")
        names = [each["userName"].lower().partition("@")[0].partition(".")[0] for each in listed["Resources"]]
        if (" ".join(names), listed["totalResults"]) != (expected, len(names)):
            wrong[text] = names, listed["totalResults"]
    assert wrong == {}


def test_filters_of_groups(filled: TestedDirectory) -> None:
    kim = filled.get("Users", filter='userName sw "kim"')["Resources"][0]
    editors, staff = filled.get("Groups", excludedAttributes="members")["Resources"]
    assert (editors["displayName"], "members" in editors) == ("Editors", False)

    def names(text: str) -> list[str]:
        return [each["displayName"] for each in filled.get("Groups", filter=text)["Resources"]]

    assert names('displayName eq "editors"') == ["Editors"]
    # Entra ID asks like this whether somebody is a member.
    assert names(f'id eq "{editors["id"]}" and members eq "{kim["id"]}"') == ["Editors"]
    assert names(f'members[value eq "{kim["id"]}"]') == ["Editors", "Staff"]
    assert names(f'members.value ne "{kim["id"]}"') == []
    assert names('externalId eq "g-1" or displayName co "taf"') == ["Editors", "Staff"]
    jo = filled.get("Users", filter=f'groups.value eq "{staff["id"]}" and not (groups eq "{editors["id"]}")')
    assert [each["userName"] for each in jo["Resources"]] == [JO["userName"]]


def test_pages(filled: TestedDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    first = filled.get("Users", count=2, attributes="id")
    assert {name: first[name] for name in ("schemas", "totalResults", "startIndex", "itemsPerPage")} == {
        "schemas": [f"{MESSAGES}:ListResponse"],
        "totalResults": 3,
        "startIndex": 1,
        "itemsPerPage": 2,
    }
    second = filled.get("Users", startIndex=3, count=1000, attributes="id")
    assert (second["startIndex"], second["itemsPerPage"], second["totalResults"]) == (3, 1, 3)
    assert not {each["id"] for each in first["Resources"]} & {each["id"] for each in second["Resources"]}
    assert [*first["Resources"][0]] == ["schemas", "id"]
    nothing = filled.get("Users", count=0, startIndex=-1)
    assert (nothing["totalResults"], nothing["Resources"]) == (3, [])
    assert filled.get("Users", startIndex=9)["totalResults"] == 3
    # A page with too many members ends early.
    monkeypatch.setattr(documents, "MOST_LINKS", 2)
    short = filled.get("Groups")
    assert (short["itemsPerPage"], short["totalResults"]) == (1, 2)
    assert filled.get("Groups", startIndex=2)["Resources"][0]["displayName"] == "Staff"


def test_bulk(directory: TestedDirectory) -> None:
    """A group may come before its members; one operation that fails does not concern the others."""
    body: dict[str, Any] = {
        "schemas": [f"{MESSAGES}:BulkRequest"],
        "Operations": [
            {
                "method": "POST",
                "path": "/Groups",
                "bulkId": "g",
                "data": {
                    "schemas": [f"{CORE}:Group"],
                    "displayName": "editors",
                    "members": [{"type": "User", "value": "bulkId:jo"}],
                },
            },
            {"method": "POST", "path": "/Users", "bulkId": "jo", "data": {"schemas": [f"{CORE}:User"], "userName": "jo@example.org"}},
            {"method": "POST", "path": "/Users", "bulkId": "no", "data": {"schemas": [f"{CORE}:User"], "userName": "JO@example.org"}},
            {"method": "PATCH", "path": "/Users/bulkId:no", "data": {"schemas": [], "Operations": [{"op": "remove", "path": "title"}]}},
            {"method": "DELETE", "path": "/Users/bulkId:jo", "version": 'W/"7"'},
            {"method": "GET", "path": "/Users"},
        ],
    }  # fmt: skip
    response = directory.ask("POST", "Bulk", body)
    assert response.status_code == 200
    jo, group = directory.get("Users")["Resources"][0], directory.get("Groups")["Resources"][0]
    assert group["members"][0]["value"] == jo["id"]
    results = response.json()["Operations"]
    assert [(each["method"], each["status"]) for each in results] == [
        ("POST", "201"),
        ("POST", "201"),
        ("POST", "409"),
        ("PATCH", "400"),
        ("DELETE", "412"),
        ("GET", "400"),
    ]
    assert results[0] == {
        "method": "POST",
        "bulkId": "g",
        "status": "201",
        "location": f"http://testserver/acme/scim/v2/Groups/{group['id']}",
        "version": 'W/"1"',
    }
    assert (results[2]["response"]["scimType"], "location" in results[2]) == ("uniqueness", False)
    stopped = directory.ask("POST", "Bulk", {**body, "failOnErrors": 1, "Operations": body["Operations"][2:]}).json()
    assert len(stopped["Operations"]) == 1
    assert directory.ask("POST", "Bulk", {"Operations": [{}] * 101}).status_code == 413
    assert directory.ask("POST", "Bulk", {"Operations": 1}).status_code == 400


def test_a_directory_has_a_limited_size(directory: TestedDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "MOST_PEOPLE", 1)
    monkeypatch.setattr(groups, "MOST_GROUPS", 1)
    directory.person("jo")
    directory.group("editors")
    assert directory.ask("POST", "Users", {"schemas": [], "userName": "kim@example.org"}).status_code == 400
    assert directory.ask("POST", "Groups", {"schemas": [], "displayName": "staff"}).status_code == 400


def test_discovery(directory: TestedDirectory, provider: IdentityProvider) -> None:
    config = directory.get("ServiceProviderConfig")
    assert {name: config[name]["supported"] for name in ("patch", "bulk", "filter", "sort", "etag")} == {
        "patch": True,
        "bulk": True,
        "filter": True,
        "sort": False,
        "etag": True,
    }
    assert [each["endpoint"] for each in directory.get("ResourceTypes")["Resources"]] == ["/Users", "/Groups"]
    described = directory.get(f"Schemas/{CORE}:User")
    assert [each["name"] for each in described["attributes"]] == [
        "userName", "name", "displayName", "title", "userType", "preferredLanguage", "active", "emails", "groups",
    ]  # fmt: skip
