"""Permissions on the task pages of the back office."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

from release.models import Task
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, MakeClient
from tests.release.stored_contents import fingerprints, rival_of
from tests.release.task_calls import ANOTHERS, UNKNOWN, ask, grant, open_task
from tests.release.task_pages import LOG, TASKS, boss, member, state_of, take, text_of, told

pytestmark = [pytest.mark.django_db, pytest.mark.long]
STEPS = ("accept", "reject", "reassign", "remind", "withdraw")


class TestRights:
    @pytest.mark.parametrize("role", [Role.ANALYZER, Role.EDITOR, Role.APPROVER, Role.ARCHITECT, Role.ADMINISTRATOR])
    def test_steps_offered_to_each_role(self, house: Storage, role: Role) -> None:
        client, task = member(house, role), open_task(house)
        decides = role in (Role.APPROVER, Role.ARCHITECT, Role.ADMINISTRATOR)
        asks = role in (Role.EDITOR, Role.ARCHITECT, Role.ADMINISTRATOR)
        allowed = dict(zip(STEPS, (decides, decides, decides, asks, asks), strict=True))
        assert client.get(TASKS).status_code == 200
        page = client.get(f"{TASKS}{task}/change/").content.decode()
        assert {each: f"{TASKS}{task}/{each}/" in page for each in STEPS} == allowed
        offered = set(re.findall(r'<option value="(\w+)"', client.get(TASKS).content.decode()))
        assert {each: each in offered for each in STEPS} == allowed
        before = fingerprints(house)
        for step in STEPS:
            status = 200 if allowed[step] else 403
            assert client.get(f"{TASKS}{task}/{step}/").status_code == status
            assert client.get(f"{TASKS}step/{step}/?task={task}").status_code == status
            if not allowed[step]:
                assert take(client, step, task, comment="x", assignee=ID["dora"]).status_code == 403
        assert fingerprints(house) == before

    def test_permissions_on_a_single_task(self, house: Storage, desk: MakeClient) -> None:
        """Dora is an approver, but the task is assigned to Ben. Anna is the requester and can withdraw; other editors
        cannot."""
        dora, anna = member(house, Role.APPROVER, user="dora"), member(house, Role.EDITOR, user="anna")
        someone = member(house, Role.EDITOR)
        task = ask(desk(user="anna"))
        response = take(dora, "accept", task, comment="x")
        assert (response.status_code, ANOTHERS in text_of(response)) == (403, True)
        for step, does in (("withdraw", "withdraw this"), ("remind", "remind")):
            response = take(someone, step, task, comment="x")
            words = f"Only the requester or an administrator can {does}."
            assert (response.status_code, words in text_of(response)) == (403, True)
        assert "1 reminder was sent." in told(anna, take(anna, "remind", task))
        assert "1 task was withdrawn." in told(anna, take(anna, "withdraw", task, comment="Not yet."))

    def test_a_requester_cannot_accept(self, house: Storage, desk: MakeClient) -> None:
        grant(house, "anna", architect=True)
        anna, task = member(house, Role.ARCHITECT, user="anna"), ask(desk(user="anna"))
        assert take(anna, "accept", task, comment="x").status_code == 403
        assert state_of(house, task) == ["open"]

    def test_tasks_of_another_storage_are_not_found(self, house: Storage) -> None:
        """Both storages have the same ids."""
        rival = rival_of(house)
        own, other = open_task(house), open_task(rival)
        with tenant_scope(rival):
            twin = Task.objects.get(id=other)
            twin.delete()
            twin.id = UUID(own)
            twin.save(force_insert=True)
        client, before = boss(house), fingerprints(house)[1]
        for step in STEPS:
            assert client.get(f"{TASKS}step/{step}/?task={other}").status_code == 404
            assert take(client, step, other, comment="x", assignee=ID["dora"]).status_code == 404
        assert client.get(f"{TASKS}{other}/change/").status_code == 404
        take(client, "reject", own, comment="Only here.")
        assert (state_of(house, own), state_of(rival, own)) == (["rejected"], ["open"])
        assert fingerprints(house)[1] == before

    def test_unknown_addresses(self, house: Storage) -> None:
        client = boss(house)
        for path in (
            "step/nonsense/",
            "step/accept/",
            "step/accept/?task=x",
            f"step/accept/?task={UNKNOWN}",
            "x/change/",
        ):
            assert client.get(f"{TASKS}{path}").status_code == 404
        assert client.get(f"{LOG}{UNKNOWN}/change/").status_code == 404
