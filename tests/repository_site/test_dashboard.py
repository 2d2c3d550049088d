"""The overview of a storage: every number matches its list, and recent changes are listed."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elements.models import ElementVersion, Reference
from elements.sizes import counting
from facets.configuration import configuration_of
from release.models import LifecycleEntry
from release.releases import count_releases
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import StorageFactory, issued_token
from tests.release.conftest import desk, house  # noqa: F401  the storage of the release tests
from tests.release.house import ID, HouseClient
from tests.release.stored_contents import fresh, rival_of
from tests.release.task_calls import ask, grant, open_task
from tests.release.task_pages import boss, member, rows_of, text_of

pytestmark = pytest.mark.django_db
Sit = Callable[..., HouseClient]
OFFICE = "/acme/house/admin/"
ELEMENTS = f"{OFFICE}elements/element/"
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(autouse=True)
def uncached_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze the time, however slow the machine is."""
    monkeypatch.setattr(counting, "SLOW", 60)
    monkeypatch.setattr(counting, "_kept", {})


def overview(client: Client) -> str:
    response = client.get(OFFICE)
    assert response.status_code == 200
    return str(response.content.decode())


def tiles(page: str) -> dict[str, tuple[int, str]]:
    """Return each number with its link."""
    found = {}
    for each in re.findall(r'(?s)<a class="overview-tile.*?</a>', page):
        address = html.unescape(re.search(r'href="([^"]*)"', each)[1])  # type: ignore[index]
        title = re.search(r"(?s)</span>\s*([^<]+?)\s*</span>", each)[1]  # type: ignore[index]
        number = re.search(r'overview-number">([^<]*)<', each)[1]  # type: ignore[index]
        found[title] = (int(number.replace(",", "")), address)
    return found


def linked_numbers(page: str) -> list[tuple[int, str]]:
    """Return the links of the tables below the charts."""
    cells = re.findall(r'<td><a class="task-link" href="([^"]*)">([\d,]+)</a></td>', page)
    return [(int(number.replace(",", "")), html.unescape(address)) for address, number in cells]


def charts(page: str) -> list[dict[str, Any]]:
    return [json.loads(html.unescape(each)) for each in re.findall(r'data-value="([^"]*)"', page)]


def listed(client: Client, address: str) -> int:
    """Count the rows of a list over all its pages."""
    found, number = 0, 1
    while True:
        response = client.get(f"{address}{'&' if '?' in address else '?'}p={number}")
        assert response.status_code == 200, address
        rows = len(rows_of(response))
        found += rows
        if 'rel="next"' not in response.content.decode():
            return found
        number += 1


def release_on(storage: Storage, *moments: datetime, **fields: Any) -> None:
    values = {"step": "transition", "from_state": "inProcess", "to_state": "released", "transition": "X", **fields}
    with tenant_scope(storage):
        first = LifecycleEntry.objects.count()
        for number, moment in enumerate(moments, first + 1):
            LifecycleEntry.objects.create(
                element_id=ID["released"], version_id=ID["released-1"], number=number, version="1.0",
                changed_on=moment, caller_label="x", request_id="", **values,
            )  # fmt: skip


class TestNumbers:
    @pytest.mark.long
    def test_each_number_matches_its_list(self, house: Storage, desk: Sit) -> None:  # noqa: F811
        client = boss(house)
        issued_token(house)
        cora = desk(user="cora")
        cora.applied("inProcess", "InProcessToReleased")
        cora.new_version("order")
        for version, assignee in (("released-1", "eve"), ("inEffect-1", "ben")):
            open_task(house, version, assignee)
        release_on(house, *[timezone.now() - timedelta(weeks=weeks) for weeks in (0, 1, 1, 5, 40)])
        page = overview(client)
        found = tiles(page)
        assert list(found) == [
            "Elements",
            "In process",
            "In process without owner",
            "Open tasks",
            "Stuck tasks",
            "Releases in 12 weeks",
        ]
        # The issued token is an element as well; the tasks were requested in July, so both are overdue.
        assert {title: number for title, (number, _) in found.items()} == {
            "Elements": 19, "In process": 1, "In process without owner": 0, "Open tasks": 2, "Stuck tasks": 2,
            "Releases in 12 weeks": 5,
        }  # fmt: skip
        numbers = [*found.values(), *linked_numbers(page)]
        assert len(numbers) > 15
        assert [(listed(client, address), address) for _, address in numbers] == numbers

    def test_the_charts_match_the_tiles(self, house: Storage) -> None:  # noqa: F811
        release_on(house, timezone.now(), timezone.now() - timedelta(weeks=3))
        page = overview(boss(house))
        facets, weeks = charts(page)
        assert sum(sum(each["data"]) for each in facets["datasets"]) == tiles(page)["Elements"][0]
        by_stage = {
            each["label"]: dict(zip(facets["labels"], each["data"], strict=True)) for each in facets["datasets"]
        }
        assert {stage: found["Processes"] for stage, found in by_stage.items()} == {
            "In process": 1, "In review": 3, "Released": 5, "Expired": 1, "Without versions": 0,
        }  # fmt: skip
        assert (len(weeks["labels"]), weeks["datasets"][0]["data"][-1], weeks["datasets"][0]["data"][-4]) == (12, 1, 1)
        assert page.count("<canvas") == page.count('role="img" aria-label="Bar chart: ') == 2

    def test_elements_in_process_without_owner(self, house: Storage, desk: Sit) -> None:  # noqa: F811
        client = boss(house)
        with tenant_scope(house):
            Reference.objects.filter(version_id=UUID(ID["inProcess-1"]), context="owner").delete()
            # Versions in review and released versions do not count.
            Reference.objects.filter(version_id__in=[ID["inReview-1"], ID["released-1"]], context="owner").delete()
        number, address = tiles(overview(client))["In process without owner"]
        assert (number, listed(client, address)) == (1, 1)
        assert "inProcess-1" in rows_of(client.get(address))[0]
        assert 'class="overview-tile overview-warning"' in overview(client)

    def test_nothing_of_another_storage(self, house: Storage) -> None:  # noqa: F811
        rival, client = rival_of(house), boss(house)
        before = tiles(overview(client))
        open_task(rival, assignee="eve")
        release_on(rival, timezone.now())
        with tenant_scope(rival):
            ElementVersion.objects.filter(id=ID["released-1"]).update(category="retired")
        assert tiles(overview(client)) == before

    @pytest.mark.parametrize("role", [role for role in Role if role is not Role.VIEWER])
    def test_every_office_role_sees_them(self, house: Storage, role: Role) -> None:  # noqa: F811
        page = overview(member(house, role))
        assert tiles(page)["Elements"][0] == 18
        assert len(tiles(page)) == 6


class TestKeptNumbers:
    def test_slow_counts_are_cached(
        self,
        house: Storage,  # noqa: F811
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        client = boss(house)
        monkeypatch.setattr(counting, "SLOW", -1)
        assert "Elements were counted on" not in overview(client)
        with tenant_scope(house):
            ElementVersion.objects.filter(id=ID["inProcess-1"]).update(category="review", state="inReview")
        page = overview(client)
        assert (tiles(page)["In process"][0], "Elements were counted on" in page) == (1, True)
        assert tiles(overview_of_rival(house))["In process"][0] == 1
        later = timezone.now() + timedelta(seconds=61)
        monkeypatch.setattr(timezone, "now", lambda: later)
        page = overview(client)
        assert (tiles(page)["In process"][0], "Elements were counted on" in page) == (0, False)
        assert len(counting._kept) == 1


def overview_of_rival(storage: Storage) -> str:
    response = member(rival_of(storage), Role.ANALYZER).get("/rival/house/admin/")
    return str(response.content.decode())


class TestReleases:
    def test_weeks_begin_on_monday_in_the_zone_of_the_storage(self, house: Storage) -> None:  # noqa: F811
        """Half past eleven on Sunday evening in London is Monday in Berlin."""
        now = datetime(2026, 3, 31, 12, tzinfo=UTC)
        sunday = datetime(2026, 3, 29, 22, 30, tzinfo=UTC)
        release_on(house, sunday, sunday - timedelta(hours=1), datetime(2026, 1, 11, 22, 59, tzinfo=UTC))
        release_on(house, datetime(2026, 1, 11, 23, tzinfo=UTC))
        release_on(house, now, to_state="requestToExpire", from_state="released")
        release_on(house, now, step="rejection")
        with tenant_scope(house):
            weeks = count_releases(configuration_of(fresh(house)), now, BERLIN)
        assert [each.monday for each in weeks] == [date(2026, 1, 12) + timedelta(weeks=n) for n in range(12)]
        assert [each.releases for each in weeks] == [1, *[0] * 9, 1, 1]


class TestNews:
    def test_recent_changes_in_words(self, house: Storage, desk: Sit) -> None:  # noqa: F811
        anna, client = desk(user="anna"), boss(house)
        element = anna.element("inProcess")
        anna.update({**element, "attributes": {**element["attributes"], "purp": {"1033": "Another"}}})
        desk(user="cora").applied("inReview", "InReviewToReadyForRelease")
        draft = anna.new_version("released")
        anna.api.delete(
            f"/acme/house/_api/rest/facets/processes/views/detail/elements/{draft['versionId']}", token=anna.token
        )
        text = text_of(client.get(OFFICE))
        news = text[text.index("Recent changes") :]
        for part in (
            "inProcess-1 Sub process Changed Anna just now ,",
            "inReview-1 Sub process State changed: Ready for release Cora just now ,",
            "released-1 Sub process New version: In process Anna just now ,",
            "released-1 Sub process Deleted Anna just now ,",
        ):
            assert part in news, news
        # Elements that were copied or deleted with the diagram are not listed separately.
        assert news.count("just now") == 4

    def test_deleted_elements_keep_their_names(self, house: Storage, desk: Sit) -> None:  # noqa: F811
        anna = desk(user="anna")
        made = anna.post(
            "rest/facets/tags/views/detail/elements",
            {"elements": [{"type": "tag", "attributes": {"name": {"1031": "Weg", "1033": "Gone"}}}]},
        ).json()["elements"][0]
        anna.api.delete(f"/acme/house/_api/rest/facets/tags/views/detail/elements/{made['id']}", token=anna.token)
        page = overview(boss(house))
        news = page[page.index("Recent changes") :]
        assert re.search(r"<span>\s*Gone\s", news)
        assert f"{ELEMENTS}{made['id']}/change/" not in news

    def test_stuck_tasks_with_the_reasons(self, house: Storage, desk: Sit) -> None:  # noqa: F811
        client = boss(house)
        assert "No task is stuck." in text_of(client.get(OFFICE))
        task = ask(desk(user="anna"))
        grant(house, "ben", inactive=True)
        page = overview(client)
        assert re.search(r"Approve expiry : released-1 Ben is inactive. due in 14 days", text_of(client.get(OFFICE)))
        assert f'href="{OFFICE}release/task/{task}/change/"' in page
        assert f'href="{OFFICE}release/task/?stuck=yes"' in page

    def test_no_more_than_ten_in_as_many_statements(self, house: Storage, desk: Sit) -> None:  # noqa: F811
        client, anna = boss(house), desk(user="anna")

        def count(number: int) -> int:
            for each in range(number):
                body = {"elements": [{"type": "tag", "attributes": {"name": {"1033": f"T {each}"}}}]}
                assert anna.post("rest/facets/tags/views/detail/elements", body).status_code == 200
            client.get(OFFICE)
            with CaptureQueriesContext(connection) as queries:
                page = overview(client)
            assert page.count("overview-when") <= 10
            return len(queries)

        assert count(1) == count(15)


class TestAnEmptyStorage:
    SETTING_UP = ("Review the types", "Set up users", "Issue a token", "Import existing content")
    FIRST = "Create the first element."

    def advice(self, storage: Storage, role: Role) -> tuple[str, str]:
        """Return the page and its suggestions, after checking that every link works."""
        client = member(storage, role)
        response = client.get(f"/acme/{storage.key}/admin/")
        page = response.content.decode()
        links = re.findall(r'<li>[^<]*<a class="task-link" href="([^"]*)"', page)
        assert {each: client.get(each).status_code for each in links} == dict.fromkeys(links, 200)
        text = text_of(response)
        begin = text.index("This storage has no content yet")
        return text, text[begin : text.index("Elements", begin)]

    def test_it_suggests_next_steps(self, other_storage: Storage) -> None:
        storage = StorageFactory.create(collection="acme", key="empty", template="standard")
        page, advice = self.advice(storage, Role.ADMINISTRATOR)
        assert [each for each in (*self.SETTING_UP, self.FIRST) if each in advice] == [*self.SETTING_UP, self.FIRST]
        assert "manage.py import_storage acme empty FILE" in advice
        for words in (
            "There are no elements yet.",
            "Nothing has been released in these weeks.",
            "No task is stuck.",
            "Nothing has been changed yet.",
        ):
            assert words in page
        _, advice = self.advice(storage, Role.EDITOR)
        assert (self.FIRST in advice, any(each in advice for each in self.SETTING_UP)) == (True, False)
        assert "A user with the role editor can create the first element." in self.advice(storage, Role.ANALYZER)[1]

    def test_one_without_types(self, storage: Storage) -> None:
        _, advice = self.advice(storage, Role.ADMINISTRATOR)
        assert (self.FIRST in advice, self.SETTING_UP[0] in advice) == (False, True)
        assert "The storage has no element types yet" in self.advice(storage, Role.EDITOR)[1]

    def test_a_storage_with_content_has_no_suggestions(self, house: Storage) -> None:  # noqa: F811
        assert "This storage has no content yet" not in overview(boss(house))
