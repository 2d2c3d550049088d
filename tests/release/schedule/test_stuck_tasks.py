"""Scheduled jobs: tasks that nobody can decide, or that wait too long, are marked as stuck (D92)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.models import Reference
from release.models import LifecycleEntry
from release.schedule.lifecycle_jobs import run_lifecycle
from storage.access.tokens import revoke_token
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import issued_token, token_for
from tests.release.house import ID, MakeClient
from tests.release.scheduled_runs import DAY, NOW, TICK, mark, run
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints, fresh, rival_of
from tests.release.task_calls import TYPE, act, done, grant, open_task, set_task

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestStuckTasks:
    def deactivate(self, storage: Storage, *names: str) -> None:
        for name in names:
            grant(storage, name, inactive=True)

    @pytest.mark.parametrize(
        ("assignee", "reason"),
        [
            ("ben", None),
            ("cora", None),
            ("eve", "approverInactive"),
            ("vera", "approverLacksRole"),
            ("anna", "approverLacksRole"),
            ("crew", None),
            (None, None),
            ("ffffffff-0000-4000-8000-000000000000", "approverMissing"),
            # Neither a user nor a group.
            ("erp", "approverMissing"),
        ],
    )
    def test_reasons_of_a_single_assignee(self, house: Storage, assignee: str | None, reason: str | None) -> None:
        task = open_task(house, assignee=assignee)
        assert run(house) == ({"stuck": [f"{task}, {TYPE}: {reason}"]} if reason else {})
        assert mark(house, task) == ((NOW, [reason]) if reason else (None, []))
        assert run(house) == {}

    def test_a_run_does_not_wait_for_tasks_that_are_decided_now(self, house: Storage) -> None:
        """Both would lock the tasks of a version in different orders: a deadlock. A dry run locks nothing."""
        open_task(house, assignee="eve")
        for dry_run, expected in ((True, []), (False, ["FOR UPDATE SKIP LOCKED"])):
            with CaptureQueriesContext(connection) as found:
                run_lifecycle(fresh(house), dry_run=dry_run)
            of_tasks = [each["sql"] for each in found if "release_task" in each["sql"]]
            assert [text for each in of_tasks for text in re.findall(r"FOR UPDATE.*", each)] == expected

    @pytest.mark.parametrize(
        ("members", "inactive", "without_role", "reason"),
        [
            (["ben", "dora"], ["ben"], [], None),
            (["ben", "dora"], ["ben", "dora"], [], "approverInactive"),
            (["ben", "dora"], ["ben"], ["dora"], "approverLacksRole"),
            (["ben", "dora"], [], ["ben", "dora"], "approverLacksRole"),
            (["ben", "dora"], [], ["ben"], None),
            (["dora"], ["dora"], [], "approverInactive"),
            ([], [], [], "approverMissing"),
        ],
    )
    def test_reasons_of_a_group(
        self, house: Storage, members: list[str], inactive: list[str], without_role: list[str], reason: str | None
    ) -> None:
        task = open_task(house, assignee="crew")
        with tenant_scope(house):
            left = [UUID(ID[name]) for name in ("ben", "dora") if name not in members]
            Reference.objects.filter(version_id__in=left, context="userGroups").delete()
        self.deactivate(house, *inactive)
        for name in without_role:
            grant(house, name, approver=False)
        assert run(house) == ({"stuck": [f"{task}, {TYPE}: {reason}"]} if reason else {})

    def test_tasks_for_everybody_without_an_approver(self, house: Storage) -> None:
        """Active users and valid tokens of this storage count as approvers."""
        task = open_task(house, assignee=None)
        self.deactivate(house, "ben", "cora", "dora")
        stuck, freed = {"stuck": [f"{task}, {TYPE}: approverMissing"]}, {"freed": [f"{task}, {TYPE}"]}
        assert run(house) == stuck
        # None of these helps: another storage, no role, an inactive user, an expired token.
        token_for(rival_of(house), Role.ADMINISTRATOR)
        token_for(house, Role.EDITOR, Role.ANALYZER)
        token_for(house, Role.APPROVER, user_id=UUID(ID["eve"]))
        issued_token(house, Role.APPROVER, valid_until=NOW + DAY)
        ApiToken.objects.filter(valid_until=NOW + DAY).update(valid_until=datetime.now(UTC) - DAY)
        assert run(house) == {}
        token_for(house, Role.APPROVER)
        assert run(house) == freed
        usable = ApiToken.objects.filter(storage=house, user_id=None, valid_until=None, revoked_on=None)
        revoke_token(usable.get(roles=["approver"]))
        assert run(house) == stuck
        grant(house, "dora", inactive=False)
        assert run(house) == freed

    @pytest.mark.parametrize(
        ("limit", "age", "is_overdue"),
        [
            (14, 14 * DAY, False),
            (14, 14 * DAY + TICK, True),
            (3, 3 * DAY, False),
            (3, 3 * DAY + TICK, True),
            (0, timedelta(0), False),
            (0, TICK, True),
            (365, 364 * DAY, False),
        ],
    )
    def test_the_storage_sets_the_limit(
        self, house: Storage, clock: SettableClock, limit: int, age: timedelta, is_overdue: bool
    ) -> None:
        task = open_task(house)
        Storage.objects.filter(pk=house.pk).update(stuck_after_days=limit)
        clock.moment = NOW + age
        assert run(house) == ({"stuck": [f"{task}, {TYPE}: overdue"]} if is_overdue else {})

    def test_the_mark_is_cleared_with_the_reason(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        task = open_task(house)
        self.deactivate(house, "ben")
        assert run(house) == {"stuck": [f"{task}, {TYPE}: approverInactive"]}
        clock.moment = NOW + 15 * DAY
        # The task keeps its time and gets further reasons.
        assert run(house) == {"stuck": [f"{task}, {TYPE}: approverInactive, overdue"]}
        assert mark(house, task) == (NOW, ["approverInactive", "overdue"])
        shown = done(desk(Role.ANALYZER).get(f"rest/tasks/{task}"))
        assert (shown["isStuck"], shown["stuckOn"], shown["stuckReasons"]) == (
            True,
            "2026-07-01T12:00:00",
            ["approverInactive", "overdue"],
        )
        grant(house, "ben", inactive=False)
        assert run(house) == {"stuck": [f"{task}, {TYPE}: overdue"]}
        assert mark(house, task) == (NOW, ["overdue"])
        Storage.objects.filter(pk=house.pk).update(stuck_after_days=20)
        assert run(house) == {"freed": [f"{task}, {TYPE}"]}
        assert mark(house, task) == (None, [])
        assert run(house) == {}
        # Marks are not logged.
        with tenant_scope(house):
            assert not LifecycleEntry.objects.exists()

    @pytest.mark.parametrize("verb", ["accept", "reject", "withdraw", "delegate"])
    def test_the_mark_is_cleared_by_a_decision(self, house: Storage, desk: MakeClient, verb: str) -> None:
        cora = desk(user="cora")
        task = open_task(house, assignee="eve")
        run(house)
        assert mark(house, task) == (NOW, ["approverInactive"])
        found = done(act(cora, task, verb, **({"assignee": ID["dora"]} if verb == "delegate" else {})))
        assert (found["isStuck"], "stuckOn" in found, "stuckReasons" in found) == (False, False, False)
        assert run(house) == {}

    def test_decided_tasks_are_not_marked(self, house: Storage, clock: SettableClock) -> None:
        for state in ("accepted", "rejected", "withdrawn", "obsolete"):
            set_task(house, open_task(house, assignee="eve"), state=state)
        clock.moment = NOW + 100 * DAY
        before = fingerprints(house)
        assert run(house) == {}
        assert fingerprints(house) == before

    def test_people_of_another_storage_do_not_count(self, house: Storage) -> None:
        """Both storages have the same ids."""
        task = open_task(house)
        self.deactivate(rival_of(house), "ben")
        assert run(house) == {}
        assert mark(house, task) == (None, [])
