"""Lists with `If-None-Match`: 304 exactly while the answer would be the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facets.blueprint import ElementType
from facets.changes import rewrite_configuration
from storage.models import Storage
from storage.roles import Role
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.factories import token_for

pytestmark = pytest.mark.django_db
PROCESSES = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"


@pytest.fixture
def architect(handbook: Storage) -> str:
    return token_for(handbook, Role.ARCHITECT)


def read(api: ApiClient, address: str, token: str | None, tag: str | None = None, **headers: str) -> Any:
    given = {**headers, **({"If-None-Match": tag} if tag else {})}
    return api.get(address, token=token, headers=given)


@pytest.mark.parametrize("query", ["", "?$pageSize=2", "?$page=2&$pageSize=2", "?$filter=StartsWith(name,'o')"])
def test_what_has_not_changed_is_not_sent_again(api: ApiClient, architect: str, query: str) -> None:
    first = read(api, PROCESSES + query, architect)
    for tag in (first["ETag"], f"W/{first['ETag']}", f'"other", {first["ETag"]}', "*"):
        again = read(api, PROCESSES + query, architect, tag)
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
        assert again["Cache-Control"] == "private, no-cache"
    assert read(api, PROCESSES + query, architect, '"other"').content == first.content


def test_a_change_of_anything_in_the_storage_is_noticed(api: ApiClient, architect: str) -> None:
    tag = read(api, PROCESSES, architect)["ETag"]
    given = {"id": ID["crm"], "type": "system", "attributes": {"name": {"1033": "Other"}}}
    systems = PROCESSES.replace("/processes/", "/it/")
    changed = api.post(systems, {"elements": [given]}, "application/json", token=architect)
    assert changed.status_code == 200
    assert read(api, PROCESSES, architect, tag).status_code == 200


def test_what_decides_about_an_answer_decides_about_its_tag(api: ApiClient, handbook: Storage, architect: str) -> None:
    # A token is an element, too: all of them are there before anything is read.
    viewer, administrator = token_for(handbook, Role.VIEWER), token_for(handbook, Role.ADMINISTRATOR)
    answers = [
        read(api, PROCESSES, architect),
        read(api, PROCESSES, viewer),
        read(api, f"{PROCESSES}?$pageSize=2", architect),
        read(api, PROCESSES.replace("detail", "list"), architect),
        read(api, PROCESSES, architect, **{"api-version": "3.0"}),
        read(api, PROCESSES, architect, host="localhost"),
    ]
    assert [each.status_code for each in answers] == [200] * 6
    assert len({each["ETag"] for each in answers}) == 6
    assert read(api, PROCESSES, administrator)["ETag"] == answers[0]["ETag"]


def test_another_configuration_is_noticed(api: ApiClient, handbook: Storage, architect: str) -> None:
    tag = read(api, PROCESSES, architect)["ETag"]
    rewrite_configuration(handbook, lambda blueprint: replace(blueprint, types=recoloured(blueprint.types)))
    assert read(api, PROCESSES, architect, tag).status_code == 200


def recoloured(types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
    return (replace(types[0], color="#123456"), *types[1:])


def test_nothing_is_read_for_an_answer_that_is_not_sent(api: ApiClient, architect: str) -> None:
    tag = read(api, PROCESSES, architect)["ETag"]
    with CaptureQueriesContext(connection) as captured:
        assert read(api, PROCESSES, architect, tag).status_code == 304
    touched = [each["sql"] for each in captured if "elements_element" in each["sql"]]
    assert touched == []


def test_who_may_not_read_learns_nothing_by_a_tag(api: ApiClient, architect: str) -> None:
    tag = read(api, PROCESSES, architect)["ETag"]
    assert read(api, PROCESSES, "crt_wrong", tag).status_code == 401
    assert read(api, PROCESSES.replace("/processes/", "/nothing/"), architect, "*").status_code == 404


@pytest.mark.parametrize("header", ["1a2b", '"open', "**", '"a" "b"'])
def test_what_is_no_list_of_tags(api: ApiClient, architect: str, header: str) -> None:
    refused = read(api, PROCESSES, architect, header)
    assert (refused.status_code, "If-None-Match" in refused.json()["message"]) == (400, True)
