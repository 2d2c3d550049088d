"""Responses over a size (D188, D189): lists are streamed with the same bytes, everything else is refused or reduced."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest
from pytest_django import Settings

from elements.api import reading_viewset
from elements.api.writing_viewset import ElementWritingViewSet
from elements.models import ElementChange
from elements.reading import rows
from elements.reading.bounds import TooHeavy, halved
from elements.reading.lists.streams import Stream
from release.schedule.lifecycle_jobs import run_lifecycle
from repository_site.core.fairness.gate import Ticket
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.limited_desk import SYSTEMS, TREE, LimitedDesk, process, system
from tests.elements.office import Office

pytestmark = [pytest.mark.django_db, pytest.mark.long]
REPORTING = TREE.split("/views")[0] + "/reporting"
LISTS = (
    f"{TREE}",
    f"{TREE}?$page=1&$pageSize=5",
    f"{TREE}?$page=2&$pageSize=5",
    f"{TREE}?$page=9&$pageSize=5",
    f"{TREE}?$expandRelated=systems",
    f"{TREE}?$expandRelated=systems&$page=1&$resources=related,versions",
    f"{TREE}?$resources=related,children,rootPath,versions,names&$expandRelated=systems",
    f"{TREE}?$expandRelated=systems(vendor,name),children(name),versions(version)&$resources=related,children,versions",
    f"{TREE}?$select=name",
    f"{REPORTING}",
    f"{REPORTING}?$expandRelated=systems&$resources=attributes,related,children,versions",
)
HINT = "Ask for less: select properties with $select"


@pytest.fixture
def desk(api: ApiClient, db: None, limited: Storage) -> LimitedDesk:
    return LimitedDesk(limited, api)


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
    def filled(self, desk: LimitedDesk) -> LimitedDesk:
        systems = desk.make(SYSTEMS, *(system(f"System {number}", "x" * 50) for number in range(6)))
        [root] = desk.make(TREE, process("root", related={"systems": [{"id": each} for each in systems * 3]}))
        for number in range(8):
            [root] = desk.make(TREE, process(f"level {number}", root, related={"systems": [{"id": systems[0]}]}))
        return desk

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
                # HEAD and 304 have the same entity tag.
                head = filled.api.head(query, token=filled.token)
                again = filled.api.get(query, token=filled.token, headers={"If-None-Match": expected["ETag"]})
                any = filled.api.get(query, token=filled.token, headers={"If-None-Match": "*"})
                assert [again.status_code, any.status_code] == [304, 304]
                assert {each["ETag"] for each in (response, head, again, any)} == {expected["ETag"]}
                assert expected["ETag"].startswith("W/") == ("$page" not in query)
                for name in ("X-Total-Count", "Link"):
                    assert response.get(name) == head.get(name) == expected.get(name)

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


def test_a_large_element_is_read_in_parts(desk: LimitedDesk, settings: Settings) -> None:
    [id] = desk.make(SYSTEMS, system("ERP", "x" * 5_000))
    settings.RESPONSE_BYTES = 6_000
    assert desk.api.get(f"{SYSTEMS}/{id}", token=desk.token).status_code == 422
    response = desk.api.get(f"{SYSTEMS}/{id}?$select=name", token=desk.token)
    assert response.json()["elements"][0]["attributes"] == {"name": {"1033": "ERP"}}
    listed = desk.api.get(SYSTEMS, token=desk.token)
    assert json.loads(listed.content)["elements"][0]["attributes"]["vendor"] == {"127": "x" * 5_000}


def test_a_page_of_changes_is_streamed(desk: LimitedDesk, settings: Settings, streams: list[Stream]) -> None:
    [id] = desk.make(SYSTEMS, system("ERP", "x" * 1_000))
    for number in range(5):
        desk.make(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": f"{number}" * 1_000}}})
    whole = desk.api.get(f"{SYSTEMS}/{id}/history?$pageSize=4", token=desk.token)
    settings.RESPONSE_BYTES = 5_000
    response = desk.api.get(f"{SYSTEMS}/{id}/history?$pageSize=4", token=desk.token)
    assert len(streams) == 1
    assert response.content == whole.content
    assert response["X-Total-Count"] == "6"


class TestChanges:
    def test_the_response_is_reduced_to_identities(self, desk: LimitedDesk, settings: Settings) -> None:
        settings.RESPONSE_BYTES = 6_000
        response = desk.post(SYSTEMS, *(system(f"S {number}", "x" * 500) for number in range(10)))
        assert (response.status_code, response["Preference-Applied"]) == (200, "return=minimal")
        elements = response.json()["elements"]
        assert [list(each) for each in elements] == [["facetName", "id", "versionId", "type", "state"]] * 10
        assert "ETag" not in response
        [id] = desk.make(SYSTEMS, system("ERP"))
        settings.RESPONSE_BYTES = 500
        response = desk.post(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": "y"}}})
        assert (list(response.json()["elements"][0]), response["ETag"].count(".")) == (list(elements[0]), 1)

    def test_a_change_of_too_much_is_refused(self, desk: LimitedDesk, settings: Settings) -> None:
        ids = desk.make(SYSTEMS, *(system(f"S {number}", "x" * 500) for number in range(10)))
        settings.RESPONSE_BYTES = 6_000
        change = [{"id": each, "attributes": {"name": {"1031": "neu"}}} for each in ids]
        before = desk.counts()
        response = desk.post(SYSTEMS, *change)
        assert (response.status_code, response.json()["message"]) == (
            422,
            "The stored elements have more than 3000 bytes of attributes together, or too many references."
            " Nothing was changed. Change fewer elements in one request.",
        )
        assert desk.counts() == before

    def test_a_kept_response_is_limited(self, desk: LimitedDesk, settings: Settings) -> None:
        settings.KEPT_RESPONSE_BYTES = 1_000
        body = json.dumps({"elements": [system("ERP", "x" * 2_000)]})

        def send() -> Any:
            return desk.api.post(
                SYSTEMS, body, content_type="application/json", token=desk.token, HTTP_IDEMPOTENCY_KEY="once"
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


class TestChangesWithoutBound:
    """Everything that is stored can be deleted and shortened, and scheduled jobs do not stop at it."""

    def test_a_large_element_can_be_sent_back_changed_and_deleted(self, desk: LimitedDesk, settings: Settings) -> None:
        before = desk.counts()
        [id] = desk.make(SYSTEMS, system("ERP", "x" * 5_000))
        settings.RESPONSE_BYTES = 6_000
        desk.make(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": "x" * 5_000}}})
        desk.make(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": "x" * 4_000}}})
        response = desk.api.delete(f"{SYSTEMS}/{id}", token=desk.token)
        assert response.status_code == 200, response.content
        # The history stays.
        assert desk.counts()[:-1] == before[:-1]

    def test_a_diagram_with_large_elements_can_be_deleted(self, desk: LimitedDesk, settings: Settings) -> None:
        before = desk.counts()
        [owner] = desk.make(TREE, process("root"))
        _draw(desk, owner, *("abc" * 700, "def" * 700, "g" * 4_000))
        settings.RESPONSE_BYTES = 6_000
        response = desk.api.delete(f"{TREE}/{owner}", token=desk.token)
        assert response.status_code == 200, response.content
        assert desk.counts()[:-1] == before[:-1]
        with tenant_scope(desk.storage):
            gone = ElementChange.objects.filter(action=ElementChange.Action.DELETED)
            names = {each.before["attributes"]["name"]["1033"] for each in gone}
        assert names == {"root", "abc" * 700, "def" * 700, "g" * 4_000}

    def test_versions_with_large_elements_expire(self, desk: LimitedDesk, settings: Settings) -> None:
        ids = desk.make(SYSTEMS, *(system(f"S {number}", "x" * 2_000) for number in range(4)))
        desk.execute(
            "UPDATE elements_elementversion SET category = 'published', state = 'released', major = 1, minor = 0,"
            " valid_until = '2026-01-01' WHERE element_id = ANY(%s::uuid[])",
            ids,
        )
        desk.execute("UPDATE elements_element SET published_id = newest_id WHERE id = ANY(%s::uuid[])", ids)
        settings.RESPONSE_BYTES = 6_000
        planned = run_lifecycle(desk.storage, dry_run=True)
        done = run_lifecycle(desk.storage)
        assert sorted(planned.expired) == sorted(done.expired)
        assert sorted(line.rpartition(" of ")[2] for line in done.expired) == sorted(ids)


class TestPages:
    def test_the_back_office_shows_large_elements(self, desk: LimitedDesk, settings: Settings) -> None:
        [id, *_] = desk.make(SYSTEMS, *(system(f"S {number}", "x" * 2_000) for number in range(4)))
        desk.make(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": "y" * 2_000}}})
        desk.make(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": "short"}}})
        desk.make(SYSTEMS, {"id": id, "attributes": {"vendor": {"127": "brief"}}})
        office = Office(desk.storage, Role.ADMINISTRATOR)
        settings.RESPONSE_BYTES = 20_000
        assert all(f"S {number}" in office.page("elements/element/") for number in range(4))
        text = office.element(id, tab="record")
        assert text.count("The values are too large for this page. The API returns them.") == 3
        assert "short brief" in text

    def test_a_page_does_not_advise_about_parameters(self, desk: LimitedDesk, settings: Settings) -> None:
        [id] = desk.make(SYSTEMS, system("ERP", "x" * 5_000))
        settings.RESPONSE_BYTES = 6_000
        text = Office(desk.storage, Role.ADMINISTRATOR).get(f"elements/element/{id}/change/").content.decode()
        assert "The content is too large: it has more than 3000 bytes, or would take too much memory." in text
        assert "$select" not in text


def test_information_and_picture_of_a_large_element(desk: LimitedDesk, settings: Settings) -> None:
    large = {"name": {"1033": "root"}, "purp": {"1033": "x" * 5_000}}
    [id] = desk.make(TREE, {**process("root"), "attributes": large})
    rest = TREE.split("/facets")[0]
    paths = (f"{TREE}/{id}/info", f"{rest}/diagram/{id}/render/1033/vertical")
    whole = [desk.api.get(path, token=desk.token) for path in paths]
    settings.RESPONSE_BYTES = 6_000
    for path, expected in zip(paths, whole, strict=True):
        response = desk.api.get(path, token=desk.token)
        assert (response.status_code, response.content) == (200, expected.content), path


def test_versions_in_a_report_are_read_in_slices(desk: LimitedDesk, settings: Settings, streams: list[Stream]) -> None:
    long = {"name": {"1033": "long"}, "purp": {"1033": "x" * 900}}
    [root] = desk.make(TREE, {**process("root"), "attributes": long})
    desk.make(TREE, *({**process("child", root), "attributes": long} for _ in range(3)))
    for number in range(2, 12):
        desk.execute(
            "INSERT INTO elements_elementversion (id, element_id, state, category, major, minor, stereotype, attributes,"
            " sort_name, valid_until, created_on, changed_on) SELECT md5(%s || v.id::text)::uuid, element_id, 'expired', 'retired',"
            " %s, 0, stereotype, attributes, sort_name, valid_until, created_on, changed_on FROM elements_elementversion"
            " v JOIN elements_element e ON e.newest_id = v.id WHERE e.id = %s",
            str(number), number, root,
        )  # fmt: skip
    query = f"{REPORTING}/{root}?$resources=attributes,related,children,versions"
    whole = desk.api.get(query, token=desk.token)
    assert whole.status_code == 200, whole.content
    assert len(whole.json()["values"][0]["versions"]) == 11
    # In the last case a version is too heavy by itself, with its children.
    for settings.RESPONSE_BYTES in (12_000, 4_000):
        streams.clear()
        response = desk.api.get(query, token=desk.token)
        assert (response.status_code, response.content) == (200, whole.content)
        assert len(streams) == 1


def test_a_reduced_response_without_changed_versions_is_no_empty_list() -> None:
    """Drawing shapes names no versions."""
    response = ElementWritingViewSet().reduced_answer()
    assert response["Preference-Applied"] == "return=minimal"
    assert json.loads(response.content) == {
        "message": "The change was made. Its response is too large; read the resource again.",
        "output": "volatile",
        "type": "success",
    }


def test_versions_that_are_deleted_while_their_size_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([[("e", "c", "t", "v", *[None] * 19)], [(0,)], []])
    asked: list[str] = []

    def rows_of(sql: str, parameters: Any) -> Generator[Any, Any, Any]:
        asked.append(sql)
        yield from ()
        return next(answers)

    monkeypatch.setattr(rows, "rows_of", rows_of)
    assert rows.read_versions(["v"], most=1) == {}
    assert "coalesce(sum(" in asked[1]


def _draw(desk: LimitedDesk, owner: str, *names: str) -> None:
    items = [
        {"shapeInfo": {"index": index}, "element": {"type": "task", "attributes": {"name": {"1033": name}}}}
        for index, name in enumerate(names)
    ]
    body = json.dumps({"values": items})
    path = f"{TREE}/{owner}/content"
    response = desk.api.post(path, body, content_type="application/json", token=desk.token)
    assert response.status_code == 200, response.content
