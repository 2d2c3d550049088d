"""Steps on several tasks at once in the back office (D117)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from elements.writing.writers import Writer, settled_writer
from release.models import LifecycleEntry, Task
from release.tasks.bulk_steps import step_each
from repository_site.core.problems import Conflict
from storage.access.callers import Caller, CallerKind
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.release.house import MakeClient
from tests.release.stored_contents import fingerprints, fresh
from tests.release.task_calls import open_task, set_task
from tests.release.task_pages import TASKS, VERSIONS, boss, state_of, take, text_of, told

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestSeveralAtOnce:
    def test_steps_from_the_list(self, house: Storage) -> None:
        client, tasks = boss(house), [open_task(house, each) for each in VERSIONS[:2]]
        page = client.post(TASKS, {"action": "reject", "_selected_action": tasks, "index": "0"})
        assert page.status_code == 200
        assert "Reject: 2 tasks" in text_of(page)
        hidden = re.findall(r'name="task" value="([^"]*)"', page.content.decode())
        assert sorted(hidden) == sorted(tasks)
        assert f'action="{TASKS}step/reject/"' in page.content.decode()
        response = take(client, "reject", *tasks, comment="All of them.")
        assert "2 tasks were rejected." in told(client, response)
        assert state_of(house, *tasks) == ["rejected", "rejected"]
        with tenant_scope(house):
            assert list(LifecycleEntry.objects.values_list("step", "comment")) == [("rejection", "All of them.")] * 2

    def test_partial_success_reports_the_failures(self, house: Storage, desk: MakeClient) -> None:
        """One task was decided meanwhile, and the version of another has changed; both stay as they are."""
        client = boss(house)
        good, decided, changed = [open_task(house, each) for each in VERSIONS]
        set_task(house, decided, state="rejected", decided_on=timezone.now())
        set_task(house, changed, revision=7)
        response = take(client, "accept", good, decided, changed, comment="Agreed.")
        assert response.status_code == 200
        text = text_of(response)
        assert "1 task was accepted." in text
        assert "The 2 tasks below failed and were not changed. The others are done." in text
        assert "The task has already been rejected." in text
        assert "has changed since the task was created; reject or withdraw the task, then request again." in text
        assert "Agreed." in text
        assert sorted(re.findall(r'name="task" value="([^"]*)"', response.content.decode())) == sorted(
            [decided, changed]
        )
        assert state_of(house, good, decided, changed) == ["accepted", "rejected", "open"]
        states = {name: desk(user="cora").element(name)["state"] for name in ("released", "inEffect", "order")}
        assert states == {"released": "expired", "inEffect": "inEffect", "order": "released"}
        with tenant_scope(house):
            assert set(LifecycleEntry.objects.values_list("task_id", flat=True)) == {Task.objects.get(id=good).id}

    def test_no_task_succeeds(self, house: Storage) -> None:
        client, task = boss(house), open_task(house)
        set_task(house, task, state="withdrawn", decided_on=timezone.now())
        before = fingerprints(house)
        response = take(client, "accept", task, comment="Agreed.")
        assert response.status_code == 409
        assert "The tasks were not changed. " in text_of(response)
        assert "The task has already been withdrawn." in text_of(response)
        # No task is left to retry.
        assert 'name="comment"' not in response.content.decode()
        assert fingerprints(house) == before

    def test_a_failed_step_is_rolled_back(self, house: Storage) -> None:
        """The other tasks stay decided."""
        ids = [open_task(house, each) for each in VERSIONS]

        def step(writer: Writer, task: Task) -> Task:
            Task.objects.filter(id=task.id).update(decision="half done")
            if str(task.id) == ids[1]:
                raise Conflict("No further.")
            return task

        caller = Caller(CallerKind.STAFF, "staff:1", frozenset(Role))
        with tenant_scope(house):
            tasks = list(Task.objects.order_by("requested_on", "id"))
            outcomes = step_each(settled_writer(fresh(house), caller, ""), tasks, step)
            assert [each.task for each in outcomes] == tasks
            assert {str(each.task.id): each.problem and each.problem.message for each in outcomes} == {
                ids[0]: None, ids[1]: "No further.", ids[2]: None,
            }  # fmt: skip
            told = {str(each.id): each.decision for each in Task.objects.all()}
        assert told == {ids[0]: "half done", ids[1]: "", ids[2]: "half done"}

    @pytest.mark.usefixtures("long_sessions")
    def test_each_step_has_its_own_time(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        """The later of two changes of an element has the later time, also in a long list."""
        client, tasks = boss(house), [open_task(house, each) for each in VERSIONS[:2]]
        moments = iter(
            datetime.fromisoformat("2026-07-02T10:00:00+00:00") + timedelta(minutes=n) for n in range(10_000)
        )
        monkeypatch.setattr(timezone, "now", lambda: next(moments))
        take(client, "reject", *tasks, comment="x")
        with tenant_scope(house):
            assert len(set(LifecycleEntry.objects.values_list("changed_on", flat=True))) == 2
