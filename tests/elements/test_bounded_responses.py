"""Responses over a size (D188, D189): lists are streamed with the same bytes, everything else is refused or reduced."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_django import Settings

from elements.api import reading_viewset
from elements.reading.bounds import TooHeavy, halved
from elements.reading.streams import Stream
from repository_site.core.fairness.gate import Ticket
from tests.api_client import ApiClient
from tests.elements.limited_desk import SYSTEMS, TREE, LimitedDesk, process, system
from tests.factories import StorageFactory

pytestmark = pytest.mark.django_db
REPORTING = TREE.split("/views")[0] + "/reporting"
LISTS = (
    f"{TREE}",
    f"{TREE}?$page=1&$pageSize=5",
    f"{TREE}?$page=2&$pageSize=5",
    f"{TREE}?$page=9&$pageSize=5",
    f"{TREE}?$expandRelated=systems",
    f"{TREE}?$expandRelated=systems&$page=1&$resources=related,versions",
    f"{TREE}?$select=name",
    f"{REPORTING}",
    f"{REPORTING}?$expandRelated=systems&$resources=attributes,related,children,versions",
)
HINT = "Ask for less: select properties with $select"


@pytest.fixture
def limited(api: ApiClient, db: None) -> LimitedDesk:
    StorageFactory.create(collection="rival", key="limited", template="standard")
    return LimitedDesk(StorageFactory.create(collection="acme", key="limited", template="standard"), api)


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[Stream]:
    """The streams that a test has started."""
    found: list[Stream] = []

    def start(pieces: Any, ticket: Ticket) -> Stream:
        found.append(Stream(pieces, ticket))
        return found[-1]

    monkeypatch.setattr(reading_viewset, "Stream", start)
    return found


class TestLists:
    @pytest.fixture
    def filled(self, limited: LimitedDesk) -> LimitedDesk:
        systems = limited.make(SYSTEMS, *(system(f"System {number}", "x" * 50) for number in range(6)))
        [root] = limited.make(TREE, process("root", related={"systems": [{"id": each} for each in systems * 3]}))
        for number in range(8):
            [root] = limited.make(TREE, process(f"level {number}", root, related={"systems": [{"id": systems[0]}]}))
        return limited

    def test_a_streamed_list_has_the_same_bytes(
        self, filled: LimitedDesk, settings: Settings, streams: list[Stream]
    ) -> None:
        whole = {query: filled.api.get(query, token=filled.token) for query in LISTS}
        for settings.RESPONSE_BYTES in (30_000, 12_000):
            for query, expected in whole.items():
                streams.clear()
                response = filled.api.get(query, token=filled.token)
                assert (response.status_code, response.content) == (200, expected.content), query
                assert bool(streams) == (len(expected.content) > settings.RESPONSE_BYTES), query
                tag = expected["ETag"].removeprefix("W/")
                assert response["ETag"] == (f"W/{tag}" if streams or "$page" not in query else tag)
                for name in ("X-Total-Count", "Link"):
                    assert response.get(name) == expected.get(name)

    def test_other_responses_are_refused(self, filled: LimitedDesk, settings: Settings) -> None:
        [root] = [
            each["id"]
            for each in filled.api.get(f"{TREE}?$filter=name%20-eq%20'root'", token=filled.token).json()["elements"]
        ]
        settings.RESPONSE_BYTES = 3_000
        for path in ("", "?$expandRelated=systems", "/related", "/related/systems?$expandRelated=systems"):
            response = filled.api.get(f"{TREE}/{root}{path}", token=filled.token)
            assert response.status_code == 422, path
            assert HINT in response.json()["message"]
        response = filled.api.get(f"{TREE}/{root}?$select=name&$resources=attributes", token=filled.token)
        assert [each["attributes"]["name"] for each in response.json()["elements"]] == [{"1033": "root"}]


def test_a_large_element_is_read_in_parts(limited: LimitedDesk, settings: Settings) -> None:
    [id] = limited.make(SYSTEMS, system("ERP", "x" * 5_000))
    settings.RESPONSE_BYTES = 6_000
    assert limited.api.get(f"{SYSTEMS}/{id}", token=limited.token).status_code == 422
    response = limited.api.get(f"{SYSTEMS}/{id}?$select=name", token=limited.token)
    assert response.json()["elements"][0]["attributes"] == {"name": {"1033": "ERP"}}
    listed = limited.api.get(SYSTEMS, token=limited.token)
    assert json.loads(listed.content)["elements"][0]["attributes"]["vendor"] == {"127": "x" * 5_000}


def test_a_page_of_changes_is_streamed(limited: LimitedDesk, settings: Settings, streams: list[Stream]) -> None:
    [id] = limited.make(SYSTEMS, system("ERP", "x" * 1_000))
    for number in range(5):
        limited.make(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": f"{number}" * 1_000}}})
    whole = limited.api.get(f"{SYSTEMS}/{id}/history?$pageSize=4", token=limited.token)
    settings.RESPONSE_BYTES = 5_000
    response = limited.api.get(f"{SYSTEMS}/{id}/history?$pageSize=4", token=limited.token)
    assert len(streams) == 1
    assert response.content == whole.content
    assert response["X-Total-Count"] == "6"


class TestChanges:
    def test_the_response_is_reduced_to_identities(self, limited: LimitedDesk, settings: Settings) -> None:
        settings.RESPONSE_BYTES = 6_000
        response = limited.post(SYSTEMS, *(system(f"S {number}", "x" * 500) for number in range(10)))
        assert (response.status_code, response["Preference-Applied"]) == (200, "return=minimal")
        elements = response.json()["elements"]
        assert [list(each) for each in elements] == [["facetName", "id", "versionId", "type", "state"]] * 10
        assert "ETag" not in response
        [id] = limited.make(SYSTEMS, system("ERP"))
        settings.RESPONSE_BYTES = 500
        response = limited.post(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": "y"}}})
        assert (list(response.json()["elements"][0]), response["ETag"].count(".")) == (list(elements[0]), 1)

    def test_a_change_of_too_much_is_refused(self, limited: LimitedDesk, settings: Settings) -> None:
        ids = limited.make(SYSTEMS, *(system(f"S {number}", "x" * 500) for number in range(10)))
        settings.RESPONSE_BYTES = 6_000
        change = [{"id": each, "attributes": {"name": {"1031": "neu"}}} for each in ids]
        before = limited.counts()
        response = limited.post(SYSTEMS, *change)
        assert (response.status_code, response.json()["message"]) == (
            422,
            "The stored elements have more than 3000 bytes of attributes together, or too many references."
            " Nothing was changed. Change fewer elements in one request.",
        )
        assert limited.counts() == before

    def test_a_kept_response_is_limited(self, limited: LimitedDesk, settings: Settings) -> None:
        settings.KEPT_RESPONSE_BYTES = 1_000
        body = json.dumps({"elements": [system("ERP", "x" * 2_000)]})

        def send() -> Any:
            return limited.api.post(
                SYSTEMS, body, content_type="application/json", token=limited.token, HTTP_IDEMPOTENCY_KEY="once"
            )

        first, second = send(), send()
        assert (first.status_code, second.status_code) == (200, 200)
        assert "Preference-Applied" not in first
        assert second["Preference-Applied"] == "return=minimal"
        assert first["ETag"] == second["ETag"]
        [whole], [kept] = first.json()["elements"], second.json()["elements"]
        assert kept == {name: whole[name] for name in ("facetName", "id", "versionId", "type", "state")}
        assert len(second.content) < 1_000


def test_halving() -> None:
    tried: list[tuple[int, ...]] = []

    def read(items: Any) -> list[int]:
        tried.append(tuple(items))
        if sum(items) > 10:
            raise TooHeavy
        return list(items)

    assert list(halved((1, 2, 3, 4, 5, 6, 7), read)) == [[1, 2, 3, 4], [5], [6], [7]]
    assert tried == [(1, 2, 3, 4, 5, 6, 7), (1, 2, 3, 4), (5, 6, 7), (5, 6), (5,), (6,), (7,)]
    with pytest.raises(TooHeavy):
        list(halved((11,), read))
