"""What comes about by the clock (D21, D23, D85, D92): versions end and take effect, and tasks are marked as stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone
from psycopg.errors import DeadlockDetected, LockNotAvailable

from elements.models import ElementChange, ElementVersion, Reference, Shape
from elements.writing.stored import lock_elements
from facets.changing.changes import change_configuration
from facets.configuration import configuration_of
from facets.rows.reading import read_blueprint
from release.models import LifecycleEntry, Task
from release.schedule.clock import Outcome, run_lifecycle
from release.steps.days import start_of_day
from release.steps.effects import write_steps
from repository_site.core.problems import NotFound
from storage.access.tokens import revoke_token
from storage.models import ApiToken, Storage
from storage.models.roles import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.factories import StorageFactory, token_for
from tests.release.house import ID, NO_END, PUBLISHED, STATES, Desk, error
from tests.release.test_tasks import (
    TYPE,
    WAY,
    Clock,
    act,
    ask,
    done,
    fingerprints,
    fresh,
    grant,
    logged,
    open_task,
    pointers,
    rival_of,
    set_task,
)

pytestmark = [pytest.mark.django_db, pytest.mark.long]
Sit = Callable[..., Desk]
NOW = datetime.fromisoformat("2026-07-01T10:00:00+00:00")
TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """It is noon of 1 July 2026 in the storage's time zone, and stays so."""
    found = Clock()
    monkeypatch.setattr(timezone, "now", lambda: found.moment)
    return found


def valid(storage: Storage, *versions: str, **moments: datetime | None) -> None:
    """Set the validity of versions, without a change of them."""
    with tenant_scope(storage):
        ElementVersion.objects.filter(id__in=[ID[name] for name in versions]).update(**moments)


def states(storage: Storage, *versions: str) -> list[str]:
    with tenant_scope(storage):
        found = {str(each.id): each.state for each in ElementVersion.objects.all()}
    return [found[ID[name]] for name in versions]


def line(version: str, number: str = "1.0") -> str:
    return f"{ID[version]}, version {number} of {ID[version.rpartition('-')[0]]}"


def told(outcome: Outcome) -> dict[str, list[str]]:
    """In one order: which version of several comes first is not promised."""
    return {part: sorted(lines) for part, lines in asdict(outcome).items() if lines}


def run(storage: Storage, *, dry_run: bool = False) -> dict[str, list[str]]:
    return told(run_lifecycle(fresh(storage), dry_run=dry_run))


def mark(storage: Storage, task: str) -> tuple[datetime | None, list[str]]:
    with tenant_scope(storage):
        found = Task.objects.get(id=task)
    return found.stuck_on, found.stuck_reasons


class TestExpiring:
    @pytest.mark.parametrize(
        ("end", "is_over"),
        [(NOW, True), (NOW - TICK, True), (NOW + TICK, False), (NOW - 900 * DAY, True), (None, False)],
    )
    def test_what_is_past_its_end(self, house: Storage, end: datetime | None, is_over: bool) -> None:
        valid(house, "released-1", valid_until=end)
        before = fingerprints(house)
        assert run(house) == ({"expired": [line("released-1")]} if is_over else {})
        assert states(house, "released-1") == ["expired" if is_over else "released"]
        assert (fingerprints(house) == before) is not is_over

    def test_only_what_is_published_ends(self, house: Storage) -> None:
        versions = [f"{state}-1" for state in STATES]
        valid(house, *versions, "order-1", "order-2", valid_until=NOW - DAY)
        ended = [f"{state}-1" for state in PUBLISHED]
        expected = sorted([*(line(each) for each in ended), line("order-2", "2.0")])
        assert run(house) == {"expired": expected}
        assert states(house, *versions, "order-1", "order-2") == [
            *("expired" if state in PUBLISHED else state for state in STATES),
            "expired",
            "expired",
        ]
        with tenant_scope(house):
            assert {str(each.version_id) for each in LifecycleEntry.objects.all()} == {
                ID[each] for each in (*ended, "order-2")
            }

    def test_everything_that_goes_with_it(self, house: Storage, desk: Sit, clock: Clock) -> None:
        anna, vera = desk(user="anna"), desk(user="vera")
        task = ask(anna, comment="Out of date.")
        asked = done(anna.get(f"rest/tasks/{task}"))
        set_task(house, task, stuck_on=NOW, stuck_reasons=["overdue"])
        before = anna.element("released")
        rival = fingerprints(house)[1]
        end = NOW + DAY
        valid(house, "released-1", valid_until=end)
        clock.moment = NOW + 2 * DAY
        assert run(house) == {"expired": [line("released-1")], "overtaken": [f"{task}, {TYPE}"]}
        related = {name: found for name, found in before["related"].items() if name != "changedBy"}
        [history] = related["releaseHistory"]
        assert anna.element("released") == {
            **before,
            "state": "expired",
            "attributes": {
                **before["attributes"],
                "changedOn": {"127": "2026-07-03T12:00:00"},
                "isReleased": {"127": False},
                "state1": {"127": "expired"},
                "validUntil": {"127": "2026-07-02T12:00:00"},
            },
            "related": {**related, "releaseHistory": [{**history, "state": "expired"}]},
        }
        assert anna.steps("released")[1:] == [
            {
                "number": 2,
                "step": "expiry",
                "versionId": ID["released-1"],
                "version": "1.0",
                "fromState": "released",
                "toState": "expired",
                "changedOn": "2026-07-03T12:00:00",
                "caller": "run_lifecycle",
                "requestId": "",
            }
        ]
        with tenant_scope(house):
            [change] = ElementChange.objects.all()
            row = ElementVersion.objects.get(id=ID["released-1"])
        assert (change.action, change.before, change.after) == (
            "transitioned",
            {"state": "released"},
            {"state": "expired"},
        )
        assert (change.caller_id, change.caller_label, change.request_id) == (None, "run_lifecycle", "")
        assert (row.category, row.revision, row.changed_by_id) == ("retired", 1, None)
        assert done(anna.get(f"rest/tasks/{task}")) == {
            **asked,
            "state": "obsolete",
            "element": {**asked["element"], "state": "expired"},
            "decider": "run_lifecycle",
            "decidedOn": "2026-07-03T12:00:00",
        }
        parts = [f"released-{part}" for part in ("start", "task", "end")]
        assert pointers(house, "released", *parts) == [(ID["released-1"], None), *((ID[each], None) for each in parts)]
        for name in ("released", "released-1", *parts):
            assert vera.get(f"rest/facets/processes/views/detail/elements/{ID[name]}").status_code == 404
        assert fingerprints(house)[1] == rival
        # From what has ended a new version can be made.
        assert anna.new_version("released")["state"] == "inProcess"

    def test_a_draft_stays_the_newest(self, house: Storage, desk: Sit) -> None:
        draft = desk(user="anna").new_version("order")["versionId"]
        with tenant_scope(house):
            ElementVersion.objects.filter(id=draft).update(valid_until=NOW - DAY)
        valid(house, "order-2", valid_until=NOW)
        assert run(house) == {"expired": [line("order-2", "2.0")]}
        assert pointers(house, "order") == [(draft, None)]
        with tenant_scope(house):
            assert ElementVersion.objects.get(id=draft).state == "inProcess"

    def test_what_another_published_diagram_shows_stays_published(self, house: Storage) -> None:
        with tenant_scope(house):
            Shape.objects.create(version_id=ID["order-2"], element_id=ID["released-task"], position=9)
        valid(house, "released-1", valid_until=NOW)
        run(house)
        assert pointers(house, "released-start", "released-task") == [
            (ID["released-start"], None),
            (ID["released-task"], ID["released-task"]),
        ]
        valid(house, "order-2", valid_until=NOW)
        run(house)
        assert pointers(house, "released-task") == [(ID["released-task"], None)]

    def test_an_accepted_expiry(self, house: Storage, desk: Sit, clock: Clock) -> None:
        anna, ben = desk(user="anna"), desk(user="ben")
        task = ask(anna, "inEffect", validUntil="2026-07-05T00:00:00")
        done(act(ben, task, "accept"))
        clock.set("2026-07-04T21:59:59.999999+00:00")
        assert run(house) == {}
        clock.set("2026-07-04T22:00:00+00:00")
        assert run(house) == {"expired": [line("inEffect-1")]}
        assert [each[:4] for each in logged(anna, "inEffect")][2:] == [
            ("expiry", "requestToExpire", "expired", "run_lifecycle")
        ]
        assert done(anna.get(f"rest/tasks/{task}"))["state"] == "accepted"

    def test_once(self, house: Storage) -> None:
        valid(house, "released-1", "inEffect-1", valid_until=NOW)
        run(house)
        before = fingerprints(house)
        assert run(house) == {}
        assert fingerprints(house) == before

    def test_only_in_the_storage_that_is_asked_for(self, house: Storage) -> None:
        rival = rival_of(house)
        for storage in (house, rival):
            valid(storage, "released-1", valid_until=NOW)
        before = fingerprints(house)
        assert run(rival) == {"expired": [line("released-1")]}
        after = fingerprints(house)
        assert (after[0] == before[0], after[1] == before[1]) == (True, False)
        assert states(house, "released-1") == ["released"]

    def test_other_types_and_storages_without_any(self, house: Storage) -> None:
        """Whatever has a release cycle; a storage without elements has nothing to do."""
        valid(house, "erp-1", valid_until=NOW)
        assert run(house) == {"expired": [line("erp-1")]}
        assert run(StorageFactory.create(collection="acme", key="plain")) == {}

    def test_a_storage_that_was_removed_meanwhile(self, house: Storage) -> None:
        storage = StorageFactory.create(collection="acme", key="gone")
        remove_storage(fresh(storage))
        for dry_run in (False, True):
            with pytest.raises(NotFound):
                run_lifecycle(storage, dry_run=dry_run)


class TestBatches:
    DUE = ("released-1", "inEffect-1", "requestToExpire-1", "order-2", "erp-1")

    @pytest.fixture(autouse=True)
    def due(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("release.schedule.clock.BATCH", 2)
        for number, version in enumerate(self.DUE):
            valid(house, version, valid_until=NOW - number * DAY)

    def test_all_of_them(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes = []

        def write(change: Any, steps: Any) -> list[Task]:
            sizes.append(len(steps))
            return write_steps(change, steps)

        monkeypatch.setattr("release.schedule.clock.write_steps", write)
        assert len(run(house)["expired"]) == 5
        assert sizes == [2, 2, 1]
        assert states(house, *self.DUE) == ["expired"] * 5
        with tenant_scope(house):
            assert LifecycleEntry.objects.count() == ElementChange.objects.count() == 5

    def test_what_is_done_stays_done_when_one_fails(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []

        def write(change: Any, steps: Any) -> list[Task]:
            overtaken = write_steps(change, steps)
            calls.append(steps)
            if len(calls) == 2:
                raise RuntimeError("in the second")
            return overtaken

        monkeypatch.setattr("release.schedule.clock.write_steps", write)
        with pytest.raises(RuntimeError):
            run(house)
        # Those whose end is longest ago came first.
        assert states(house, *self.DUE) == ["released", "inEffect", "requestToExpire", "expired", "expired"]
        assert len(run(house)["expired"]) == 3

    def test_what_somebody_changed_meanwhile_is_left_alone(
        self, house: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between the look and the lock: one has ended, one is to go on, of the others nothing has changed."""
        looks: Iterator[dict[str, Any]] = iter(
            [{"valid_until": NOW + DAY}, {"state": "expired", "category": "retired"}]
        )

        def lock(elements: Any, versions: Any) -> Any:
            ElementVersion.objects.filter(id=versions[0]).update(**next(looks, {"minor": 0}))
            return lock_elements(elements, versions)

        monkeypatch.setattr("release.schedule.clock.lock_elements", lock)
        assert run(house) == {"expired": sorted([line("order-2", "2.0"), line("inEffect-1"), line("released-1")])}
        assert states(house, *self.DUE) == ["expired", "expired", "expired", "expired", "released"]
        with tenant_scope(house):
            assert LifecycleEntry.objects.count() == 3

    def test_who_waits_for_each_other_begins_again(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        waits, failing = list[float](), 3

        def write(change: Any, steps: Any) -> list[Task]:
            nonlocal failing
            overtaken = write_steps(change, steps)
            failing -= 1
            if failing >= 0:
                raise OperationalError("deadlock") from DeadlockDetected()
            return overtaken

        monkeypatch.setattr("release.schedule.clock.write_steps", write)
        monkeypatch.setattr("time.sleep", waits.append)
        assert len(run(house)["expired"]) == 5
        assert len(waits) == 3
        with tenant_scope(house):
            assert LifecycleEntry.objects.count() == 5

    @pytest.mark.parametrize(("cause", "attempts"), [(DeadlockDetected(), 5), (LockNotAvailable(), 1)])
    def test_but_not_for_ever(
        self, house: Storage, monkeypatch: pytest.MonkeyPatch, cause: Exception, attempts: int
    ) -> None:
        calls = []

        def write(change: Any, steps: Any) -> None:
            calls.append(steps)
            raise OperationalError("no") from cause

        monkeypatch.setattr("release.schedule.clock.write_steps", write)
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        before = fingerprints(house)
        with pytest.raises(OperationalError):
            run(house)
        assert len(calls) == attempts
        assert fingerprints(house) == before


def let_versions_take_effect(storage: Storage) -> None:
    with tenant_scope(storage):
        blueprint = read_blueprint()
    cycles = tuple(replace(each, takes_effect="inEffect") for each in blueprint.cycles)
    change_configuration(storage, replace(blueprint, cycles=cycles))


class TestTakingEffect:
    def test_not_in_the_standard_cycle(self, house: Storage) -> None:
        valid(house, "released-1", valid_from=NOW - DAY)
        assert run(house) == {}
        assert states(house, "released-1") == ["released"]

    def test_once_it_is_valid(self, house: Storage, desk: Sit, clock: Clock) -> None:
        let_versions_take_effect(house)
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        valid(house, *(f"{state}-1" for state in STATES), "order-1", valid_from=NOW - DAY)
        valid(house, "order-2", valid_from=NOW + TICK)
        task = ask(anna)
        before = anna.element("released")
        rival = fingerprints(house)[1]
        expected = {"in_effect": [line("released-1")], "overtaken": [f"{task}, {TYPE}"]}
        assert run(house, dry_run=True) == run(house) == expected
        kept = [state for state in STATES if state != "released"]
        assert states(house, *(f"{state}-1" for state in kept), "order-1", "order-2") == [*kept, "expired", "released"]
        element = vera.element("released")
        assert (element["state"], element["attributes"]["isReleased"]) == ("inEffect", {"127": True})
        for name in ("version", "relOn", "validFrom", "validUntil"):
            assert element["attributes"][name] == before["attributes"][name]
        assert "changedBy" not in element["related"]
        assert element["attributes"]["changedOn"] == {"127": "2026-07-01T12:00:00"}
        assert pointers(house, "released", "released-task") == [(ID["released-1"],) * 2, (ID["released-task"],) * 2]
        assert [each[:4] for each in logged(anna, "released")][1:] == [
            ("effect", "released", "inEffect", "run_lifecycle")
        ]
        # What was asked for was about the version as it was before.
        assert error(act(ben, task, "accept"))[0] == 409
        assert done(anna.get(f"rest/tasks/{task}"))["state"] == "obsolete"
        assert anna.offered("released") == [WAY["inEffect"]]
        assert run(house) == {}
        clock.moment = NOW + TICK
        assert run(house) == {"in_effect": [line("order-2", "2.0")]}
        assert fingerprints(house)[1] == rival

    def test_and_ends_in_the_same_run(self, house: Storage, desk: Sit) -> None:
        stale = fresh(house)
        with tenant_scope(house):
            configuration_of(stale)
        let_versions_take_effect(house)
        valid(house, "released-1", "order-2", valid_from=NOW - 2 * DAY, valid_until=NOW - DAY)
        # Without a validFrom nothing takes effect, but it ends.
        valid(house, "erp-1", valid_until=NOW)
        both = [line("order-2", "2.0"), line("released-1")]
        expected = {"in_effect": sorted(both), "expired": sorted([*both, line("erp-1")])}
        # Whoever has read the storage before its cycle was changed goes by how it is now.
        with transaction.atomic():
            assert told(run_lifecycle(stale)) == expected
            transaction.set_rollback(True)
        assert run(house, dry_run=True) == run(house) == expected
        anna = desk(user="anna")
        assert [each[:3] for each in logged(anna, "released")] == [
            ("effect", "released", "inEffect"),
            ("expiry", "inEffect", "expired"),
        ]
        assert [each["number"] for each in anna.steps("order")] == [1, 2]
        assert pointers(house, "released", "order") == [(ID["released-1"], None), (ID["order-2"], None)]


class TestDryRun:
    def test_it_tells_the_same_and_changes_nothing(self, house: Storage) -> None:
        stuck, well = open_task(house, "order-2", "eve"), open_task(house)
        set_task(house, well, stuck_on=NOW, stuck_reasons=["overdue"])
        valid(house, "inEffect-1", "requestToExpire-1", valid_until=NOW)
        before = fingerprints(house)
        expected = {
            "expired": sorted([line("inEffect-1"), line("requestToExpire-1")]),
            "stuck": [f"{stuck}, {TYPE}: approverInactive"],
            "freed": [f"{well}, {TYPE}: can go on"],
        }
        assert run(house, dry_run=True) == expected
        assert fingerprints(house) == before
        assert run(house) == expected

    def test_a_task_that_ends_with_its_version_is_not_stuck(self, house: Storage) -> None:
        task = open_task(house, assignee="eve")
        valid(house, "released-1", valid_until=NOW)
        told_before = run(house, dry_run=True)
        assert run(house) == {"expired": [line("released-1")], "overtaken": [f"{task}, {TYPE}"]}
        assert told_before == {"expired": [line("released-1")], "overtaken": [f"{task}, {TYPE}"]}


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
            # Neither user nor group: nobody stands behind it.
            ("erp", "approverMissing"),
        ],
    )
    def test_whether_somebody_can_take_it(self, house: Storage, assignee: str | None, reason: str | None) -> None:
        task = open_task(house, assignee=assignee)
        assert run(house) == ({"stuck": [f"{task}, {TYPE}: {reason}"]} if reason else {})
        assert mark(house, task) == ((NOW, [reason]) if reason else (None, []))
        assert run(house) == {}

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
    def test_a_group(
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

    def test_what_is_for_everybody_when_there_is_nobody(self, house: Storage) -> None:
        """Users and tokens count, of this storage, that are good for something now."""
        task = open_task(house, assignee=None)
        self.deactivate(house, "ben", "cora", "dora")
        stuck, freed = {"stuck": [f"{task}, {TYPE}: approverMissing"]}, {"freed": [f"{task}, {TYPE}: can go on"]}
        assert run(house) == stuck
        # None of these helps: of another storage, without the role, of somebody who is inactive, over.
        token_for(rival_of(house), Role.ADMINISTRATOR)
        token_for(house, Role.EDITOR, Role.ANALYZER)
        token_for(house, Role.APPROVER, user_id=UUID(ID["eve"]))
        token_for(house, Role.APPROVER, valid_until=NOW + DAY)
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
    def test_the_limit_is_that_of_the_storage(
        self, house: Storage, clock: Clock, limit: int, age: timedelta, is_overdue: bool
    ) -> None:
        task = open_task(house)
        Storage.objects.filter(pk=house.pk).update(stuck_after_days=limit)
        clock.moment = NOW + age
        assert run(house) == ({"stuck": [f"{task}, {TYPE}: overdue"]} if is_overdue else {})

    def test_the_mark_goes_with_the_reason(self, house: Storage, desk: Sit, clock: Clock) -> None:
        task = open_task(house)
        self.deactivate(house, "ben")
        assert run(house) == {"stuck": [f"{task}, {TYPE}: approverInactive"]}
        clock.moment = NOW + 15 * DAY
        # It is stuck since then, for more reasons now.
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
        assert run(house) == {"freed": [f"{task}, {TYPE}: can go on"]}
        assert mark(house, task) == (None, [])
        assert run(house) == {}
        # Marks are no steps in the life of the element.
        with tenant_scope(house):
            assert not LifecycleEntry.objects.exists()

    @pytest.mark.parametrize("verb", ["accept", "reject", "withdraw", "delegate"])
    def test_the_mark_goes_with_a_decision(self, house: Storage, desk: Sit, verb: str) -> None:
        cora = desk(user="cora")
        task = open_task(house, assignee="eve")
        run(house)
        assert mark(house, task) == (NOW, ["approverInactive"])
        found = done(act(cora, task, verb, **({"assignee": ID["dora"]} if verb == "delegate" else {})))
        assert (found["isStuck"], "stuckOn" in found, "stuckReasons" in found) == (False, False, False)
        assert run(house) == {}

    def test_what_is_decided_is_left_alone(self, house: Storage, clock: Clock) -> None:
        for state in ("accepted", "rejected", "withdrawn", "obsolete"):
            set_task(house, open_task(house, assignee="eve"), state=state)
        clock.moment = NOW + 100 * DAY
        before = fingerprints(house)
        assert run(house) == {}
        assert fingerprints(house) == before

    def test_people_of_another_storage(self, house: Storage) -> None:
        """Both have the same ids."""
        task = open_task(house)
        self.deactivate(rival_of(house), "ben")
        assert run(house) == {}
        assert mark(house, task) == (None, [])


class TestLocalTime:
    """validUntil is local to the storage, also where the clocks are changed."""

    @pytest.mark.parametrize(
        ("zone", "ends"),
        [
            (
                "Europe/Berlin",
                {
                    "2026-10-25T00:00:00": "2026-10-24T22:00:00+00:00",
                    "2026-10-26T00:00:00": "2026-10-25T23:00:00+00:00",
                    "2027-03-28T00:00:00": "2027-03-27T23:00:00+00:00",
                    "2027-03-29T00:00:00": "2027-03-28T22:00:00+00:00",
                },
            ),
            pytest.param(
                "America/New_York",
                {
                    "2026-11-01T00:00:00": "2026-11-01T04:00:00+00:00",
                    "2026-11-02T00:00:00": "2026-11-02T05:00:00+00:00",
                    "2027-03-14T00:00:00": "2027-03-14T05:00:00+00:00",
                    "2027-03-15T00:00:00": "2027-03-15T04:00:00+00:00",
                },
                marks=pytest.mark.long,
            ),
        ],
    )
    def test_the_end_of_a_version(
        self, house: Storage, desk: Sit, clock: Clock, zone: str, ends: dict[str, str]
    ) -> None:
        """At midnight of the day of a change, and of the day after it."""
        Storage.objects.filter(pk=house.pk).update(time_zone=zone)
        cora = desk(user="cora")
        versions = dict(zip(WAY, ("released-1", "inEffect-1", "order-2", "house-1"), strict=True))
        for name, end in zip(versions, ends, strict=True):
            done(act(cora, ask(cora, name, validUntil=end), "accept"))
        for (name, version), (end, instant) in zip(versions.items(), ends.items(), strict=True):
            clock.moment = datetime.fromisoformat(instant) - TICK
            assert run(house) == {}, end
            clock.set(instant)
            assert run(house) == {"expired": [line(version, "2.0" if name == "order" else "1.0")]}, end
            assert cora.element(name)["attributes"]["validUntil"] == {"127": end}

    @pytest.mark.parametrize(
        ("zone", "accepted", "end", "instant"),
        [
            # Within the hour that comes twice, and in the last second of a day that was shorter.
            ("Europe/Berlin", "2026-10-25T01:30:00+00:00", "2026-10-25T00:00:00", "2026-10-24T22:00:00+00:00"),
            ("America/New_York", "2027-03-15T03:59:59+00:00", "2027-03-14T00:00:00", "2027-03-14T05:00:00+00:00"),
        ],
    )
    def test_today(
        self, house: Storage, desk: Sit, clock: Clock, zone: str, accepted: str, end: str, instant: str
    ) -> None:
        Storage.objects.filter(pk=house.pk).update(time_zone=zone)
        cora, task = desk(user="cora"), open_task(house)
        clock.set(accepted)
        assert done(act(cora, task, "accept"))["element"]["state"] == "expired"
        assert cora.element("released")["attributes"]["validUntil"] == {"127": end}
        with tenant_scope(house):
            stored = ElementVersion.objects.get(id=ID["released-1"]).valid_until
        assert stored == datetime.fromisoformat(instant)

    def test_a_moment_that_does_not_exist(self, house: Storage, desk: Sit) -> None:
        anna = desk(user="anna")
        before = fingerprints(house)
        for moment in ("2027-03-28T02:00:00", "2027-03-28T02:59:59", "0001-01-01T00:00:00"):
            response = anna.apply("released", WAY["released"], "", {"validUntil": moment})
            assert error(response)[0] == 422
            assert response.json()["message"].startswith("validUntil: ")
        assert fingerprints(house) == before

    @pytest.mark.parametrize(
        ("zone", "moment", "start"),
        [
            ("UTC", "2026-07-01T00:00:00+00:00", "2026-07-01T00:00:00+00:00"),
            ("Europe/Berlin", "2026-10-25T00:30:00+00:00", "2026-10-24T22:00:00+00:00"),
            ("Europe/Berlin", "2027-03-28T01:00:00+00:00", "2027-03-27T23:00:00+00:00"),
            ("America/New_York", "2026-11-01T06:30:00+00:00", "2026-11-01T04:00:00+00:00"),
            ("UTC", "2026-06-30T23:59:59.999999+00:00", "2026-06-30T00:00:00+00:00"),
            ("Asia/Kathmandu", "2026-07-01T18:14:59+00:00", "2026-06-30T18:15:00+00:00"),
            ("Pacific/Kiritimati", "2026-07-01T10:00:00+00:00", "2026-07-01T10:00:00+00:00"),
            # The clocks go from midnight to one, or from one back to midnight: the first instant of the day.
            ("Africa/Cairo", "2026-04-24T12:00:00+00:00", "2026-04-23T22:00:00+00:00"),
            ("Africa/Cairo", "2026-04-23T21:59:59+00:00", "2026-04-22T22:00:00+00:00"),
            ("America/Havana", "2026-11-01T12:00:00+00:00", "2026-11-01T04:00:00+00:00"),
            ("America/Havana", "2026-11-01T05:30:00+00:00", "2026-11-01T04:00:00+00:00"),
        ],
    )
    def test_the_beginning_of_a_day(self, zone: str, moment: str, start: str) -> None:
        assert start_of_day(datetime.fromisoformat(moment), ZoneInfo(zone)) == datetime.fromisoformat(start)


def test_without_an_end_nothing_ever_ends(house: Storage, desk: Sit, clock: Clock) -> None:
    """9999-12-31 stands for a day that does not come."""
    assert desk(user="anna").element("released")["attributes"]["validUntil"] == {"127": NO_END}
    clock.set("9999-12-30T22:59:59+00:00")
    assert run(house) == {}
