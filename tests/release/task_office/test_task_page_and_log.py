"""The page of a task and the lifecycle log in the back office."""

from __future__ import annotations

import pytest

from release.models import LifecycleEntry
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, MakeClient
from tests.release.settable_clock import SettableClock
from tests.release.task_calls import ask
from tests.release.task_pages import LOG, OFFICE, TASKS, boss, rows_of, state_of, take, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestThePage:
    def test_the_page_shows_all_of_a_task(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        task = ask(desk(user="anna"), comment="Out of date.", validUntil="2026-08-01T00:00:00")
        clock.set("2026-07-20T10:00:00+00:00")
        client = boss(house)
        take(client, "remind", task)
        text = text_of(client.get(f"{TASKS}{task}/change/"))
        for part in (
            "Approve expiry: released-1",
            "Why the task is stuck Open for 19 days. Remind the approver, reassign the task, or decide on behalf of the approver.",
            "State “Expiry requested”, ending 2026-08-01 00:00 Request expiry",
            "By Anna , 2026-07-01 12:00 Out of date.",
            "Approver Ben Reminded once, on 2026-07-20 12:00",
            "State Open",
            "Age 19 days, overdue by 5 days 2026-07-15 12:00",
            "2026-07-20 12:00 Reminded Ben Request expiry version 1.0 Released Berta Boss",
        ):
            assert part in text, text
        take(client, "reject", task, comment="Keep it.")
        text = text_of(client.get(f"{TASKS}{task}/change/"))
        assert "State Rejected Berta Boss on behalf of Ben, just now Keep it." in text
        assert "Task rejected on behalf of Ben" in text
        assert "Possible actions" not in client.get(f"{TASKS}{task}/change/").content.decode()
        assert client.post(f"{TASKS}{task}/change/", {"state": "open"}).status_code in (200, 403, 405)
        assert state_of(house, task) == ["rejected"]


class TestTheLog:
    @pytest.mark.usefixtures("long_sessions")
    def test_the_log_shows_all_steps_newest_first(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        client, anna = boss(house), desk(user="anna")
        ask(anna)
        clock.set("2026-07-02T10:00:00+00:00")
        desk(user="cora").applied("inProcess", "InProcessToReleased", body={"comment": "At last."})
        rows = rows_of(client.get(LOG))
        assert len(rows) == 2
        assert rows[0].startswith(
            "2026-07-02 12:00 inProcess-1 Sub process 1.0 Transition Release In process → Released Cora"
        )
        assert "At last." in rows[0]
        assert rows[1].startswith("2026-07-01 12:00 released-1 Sub process 1.0 Task created")
        assert rows_of(client.get(f"{LOG}?step=request")) == rows[1:]
        assert rows_of(client.get(f"{LOG}?step=release")) == rows[:1]
        assert rows_of(client.get(f"{LOG}?week=2026-06-29")) == rows
        assert rows_of(client.get(f"{LOG}?week=recent")) == rows
        assert rows_of(client.get(f"{LOG}?week=2026-07-06")) == rows_of(client.get(f"{LOG}?week=x")) == []
        assert rows_of(client.get(f"{LOG}?p=2")) == []

    def test_a_step_redirects_to_its_element(self, house: Storage, desk: MakeClient) -> None:
        ask(desk(user="anna"))
        with tenant_scope(house):
            entry = LifecycleEntry.objects.get()
        found = boss(house).get(f"{LOG}{entry.id}/change/")["Location"]
        assert found == f"{OFFICE}elements/element/{ID['released']}/change/?version={ID['released-1']}"
