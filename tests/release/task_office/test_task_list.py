"""The list of release tasks in the back office (D115): rows, links, filters and reasons why a task is stuck."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from release.models import Task
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, MakeClient
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import rival_of
from tests.release.task_calls import TYPE, UNKNOWN, ask, grant, open_task, set_task
from tests.release.task_pages import OFFICE, TASKS, VERSIONS, boss, listed, member, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestTheList:
    def test_a_row_shows_request_people_and_age(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        ask(desk(user="anna"), comment="Out of date.")
        clock.set("2026-07-06T10:00:00+00:00")
        (row,) = listed(boss(house))
        assert row.startswith("Approve expiry released-1 Sub process 1.0 Anna 5 days ago Out of date. Ben 5 days")
        assert "due in 9 days" in row
        assert "on track" in row

    def test_a_row_links_to_task_element_and_people(self, house: Storage, desk: MakeClient) -> None:
        task = ask(desk(user="anna"))
        page = boss(house).get(TASKS).content.decode()
        links = set(re.findall(r'href="(/acme/house/admin/[^"]*)"', page))
        assert {
            f"{TASKS}{task}/change/",
            f"{OFFICE}elements/element/{ID['released']}/change/?version={ID['released-1']}",
            f"{OFFICE}elements/user/{ID['anna']}/change/",
            f"{OFFICE}elements/user/{ID['ben']}/change/",
        } <= links

    def test_the_default_is_open_tasks_oldest_first(self, house: Storage) -> None:
        tasks = [open_task(house, version) for version in VERSIONS]
        for task, days in zip(tasks, (1, 3, 2), strict=True):
            set_task(house, task, requested_on=timezone.now() - timedelta(days=days))
        set_task(house, tasks[2], state="rejected", decided_on=timezone.now(), decider_label="staff:0", decision="No.")
        client = boss(house)
        names = [re.search(r"(\S+-\d) Sub process", row) for row in listed(client)]
        assert [each and each[1] for each in names] == ["inEffect-1", "released-1"]
        (rejected,) = listed(client, "?state=rejected")
        assert re.search(r"order-2 .* Rejected staff:0 on behalf of Ben, just now No\.", rejected)
        assert len(listed(client, "?state=all")) == 3
        assert listed(client, "?state=withdrawn") == listed(client, "?state=nonsense") == []

    @pytest.mark.parametrize(
        ("assignee", "days", "why"),
        [
            ("ben", 3, "on track"),
            ("eve", 3, "stuck Eve is inactive. Reassign the task, or reactivate the account."),
            ("anna", 3, "stuck Anna has no role that can approve. Reassign the task, or grant the role Approver."),
            (UNKNOWN, 3, "stuck The approver has been deleted. Reassign the task."),
            ("crew", 3, "on track"),
            (
                "ben",
                20,
                "stuck Open for 20 days. Remind the approver, reassign the task, or decide on behalf of the approver.",
            ),
            (
                "eve",
                20,
                "stuck Eve is inactive. Reassign the task, or reactivate the account."
                " Open for 20 days. Remind the approver, reassign the task, or decide on behalf of the approver.",
            ),
        ],
    )
    def test_reasons_for_being_stuck_with_advice(self, house: Storage, assignee: str, days: int, why: str) -> None:
        set_task(
            house, open_task(house, assignee=assignee), requested_on=timezone.now() - timedelta(days=days, hours=1)
        )
        (row,) = listed(boss(house))
        assert f" {why} more_horiz" in row, row
        assert ("overdue by 6 days" in row) is (days == 20)

    def test_tasks_for_groups_and_for_every_approver(self, house: Storage) -> None:
        client, task = boss(house), open_task(house, assignee="crew")
        for name in ("ben", "dora"):
            grant(house, name, approver=False)
        assert "No active member of Crew has a role that can approve." in listed(client)[0]
        for name in ("ben", "dora"):
            grant(house, name, inactive=True)
        assert "All members of Crew are inactive." in listed(client)[0]
        set_task(house, task, assignee_id=None)
        assert "Every approver" in listed(client)[0]
        assert "on track" in listed(client)[0]
        grant(house, "cora", administrator=False)
        assert "No approver except the requester can decide." in listed(client)[0]
        set_task(house, task, assignee_id=ID["ben"], requester_id=ID["ben"])
        for name in ("ben", "dora"):
            grant(house, name, approver=True, inactive=False)
        assert "Ben is the requester and therefore cannot decide (four-eyes principle)." in listed(client)[0]

    def test_reasons_are_current_and_not_those_of_the_last_run(self, house: Storage) -> None:
        client, task = boss(house), open_task(house)
        assert "on track" in listed(client)[0]
        assert listed(client, "?stuck=yes") == []
        grant(house, "ben", inactive=True)
        with tenant_scope(house):
            assert Task.objects.get(id=task).stuck_on is None
        assert "Ben is inactive." in listed(client)[0]
        assert len(listed(client, "?stuck=yes")) == 1
        grant(house, "ben", inactive=False)
        set_task(house, task, stuck_on=timezone.now(), stuck_reasons=["approverInactive"])
        assert "on track" in listed(client)[0]
        assert listed(client, "?stuck=yes") == []

    def test_filters(self, house: Storage) -> None:
        client = boss(house)
        for version, assignee, days in zip(VERSIONS, ("eve", "ben", None), (3, 20, 0), strict=True):
            asked = timezone.now() - timedelta(days=days, hours=1)
            set_task(house, open_task(house, version, assignee), requested_on=asked)

        def found(query: str) -> list[str]:
            rows = listed(client, query)
            return sorted(version for version in VERSIONS for row in rows if f" {version} " in row)

        assert found("") == sorted(VERSIONS)
        assert found("?stuck=yes") == ["inEffect-1", "released-1"]
        assert found("?stuck=no") == ["order-2"]
        assert found("?stuck=approverInactive") == ["released-1"]
        assert found("?stuck=overdue") == ["inEffect-1"]
        assert found("?stuck=approverMissing") == []
        assert found(f"?assignee={ID['ben']}") == ["inEffect-1"]
        assert found("?assignee=everybody") == ["order-2"]
        assert found("?assignee=nonsense") == []
        assert found(f"?type={TYPE}".replace(" ", "+")) == sorted(VERSIONS)
        assert found("?type=Other") == []
        ages = {age: found(f"?age={age}") for age in ("underOneDay", "underOneWeek", "withinLimit", "overLimit")}
        assert ages == {
            "underOneDay": ["order-2"], "underOneWeek": ["released-1"], "withinLimit": [], "overLimit": ["inEffect-1"],
        }  # fmt: skip
        assert found("?q=ORDER") == ["order-2"]

    def test_the_navigation_counts_stuck_tasks(self, house: Storage) -> None:
        client = member(house, Role.ANALYZER)
        open_task(house, assignee="ben")
        assert "assignment Tasks history Lifecycle log" in text_of(client.get(OFFICE))
        grant(house, "ben", inactive=True)
        assert "assignment Tasks 1 history Lifecycle log" in text_of(client.get(OFFICE))

    def test_tasks_of_another_storage_are_not_listed(self, house: Storage) -> None:
        rival = rival_of(house)
        open_task(rival, assignee="eve")
        client = boss(house)
        assert listed(client, "?state=all") == []
        assert "assignment Tasks history Lifecycle log" in text_of(client.get(OFFICE))
        assert client.get(f"/rival/house/admin/release/task/{ID['released']}/change/").status_code == 404
