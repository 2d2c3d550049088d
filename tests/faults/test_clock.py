"""Clock changes: daylight saving moves no instant, a jump of the system clock does (D156).

In one process, with a clock that the test moves: the service takes every moment from `django.utils.timezone`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from elements.models import ElementVersion
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.figures import note
from tests.release.conftest import desk, house
from tests.release.house import ID, HouseClient
from tests.release.log_check import check_lifecycles
from tests.release.scheduled_runs import let_versions_take_effect, line, mark, run, states, valid
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints, fresh, rival_of
from tests.release.task_calls import TYPE, act, ask, done
from tests.release.tasks.conftest import clock

__all__ = ["clock", "desk", "house"]
pytestmark = [pytest.mark.django_db, pytest.mark.fault]
Sit = Callable[..., HouseClient]
HOUR, MINUTE, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)
TICK = timedelta(microseconds=1)
SPRING, AUTUMN = (datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC))
"""The instants at which clocks in Berlin change from 2 to 3 o'clock, and from 3 to 2."""


@pytest.mark.parametrize("change", [SPRING, AUTUMN], ids=["spring", "autumn"])
def test_daylight_saving_over_the_whole_lifecycle(
    house: Storage, desk: Sit, clock: SettableClock, change: datetime
) -> None:
    """Run every quarter of an hour around the change: each step happens once, at its instant and not earlier."""
    let_versions_take_effect(house)
    rival = fingerprints(house)[1]
    due = {
        "released-1": change - 30 * MINUTE,
        "order-2": change,
        "erp-1": change + 30 * MINUTE,
        "inEffect-1": change + 90 * MINUTE,
    }
    for version, moment in due.items():
        valid(house, version, valid_until=moment)
    valid(house, "released-1", valid_from=change - 45 * MINUTE)
    clock.moment = change - 14 * DAY + 30 * MINUTE
    task = ask(desk(user="cora"), "house")
    found: dict[str, datetime] = {}
    runs = 0
    clock.moment = change - 2 * HOUR
    while clock.moment < change + 3 * HOUR:
        told = run(house, dry_run=True)
        assert run(house) == told
        for part, lines in told.items():
            for each in lines:
                assert f"{part} {each}" not in found, "done twice"
                found[f"{part} {each}"] = clock.moment
        clock.moment += 15 * MINUTE
        runs += 1
    expected = {
        f"in_effect {line('order-2', '2.0')}": change - 2 * HOUR,
        f"in_effect {line('released-1')}": change - 45 * MINUTE,
        **{f"expired {line(each, '2.0' if each == 'order-2' else '1.0')}": moment for each, moment in due.items()},
        # 14 times 24 hours and a quarter of an hour after its creation, whatever the local time is.
        f"stuck {task}, {TYPE}: overdue": change + 45 * MINUTE,
    }
    wrong = len(dict(found.items() ^ expected.items()))
    note("clock", f"daylight saving, {change:%d %B %Y}", runs=runs, steps=len(found), wrong=wrong)
    assert found == expected
    assert mark(house, task) == (change + 45 * MINUTE, ["overdue"])
    assert set(states(house, *due)) == {"expired"}
    assert fingerprints(house)[1] == rival
    check_lifecycles(fresh(house))


@pytest.mark.parametrize(
    ("accepted", "start", "end"),
    [
        # Days of 23 and 25 hours, seen from the hour before the change, the hour after it, and its end.
        ("2026-03-29T00:59:59+00:00", "2026-03-28T23:00:00+00:00", "2026-03-29T00:00:00"),
        ("2026-03-29T01:00:00+00:00", "2026-03-28T23:00:00+00:00", "2026-03-29T00:00:00"),
        ("2026-03-29T21:59:59+00:00", "2026-03-28T23:00:00+00:00", "2026-03-29T00:00:00"),
        ("2026-03-29T22:00:00+00:00", "2026-03-29T22:00:00+00:00", "2026-03-30T00:00:00"),
        ("2026-10-25T00:30:00+00:00", "2026-10-24T22:00:00+00:00", "2026-10-25T00:00:00"),
        ("2026-10-25T01:30:00+00:00", "2026-10-24T22:00:00+00:00", "2026-10-25T00:00:00"),
        ("2026-10-25T22:59:59+00:00", "2026-10-24T22:00:00+00:00", "2026-10-25T00:00:00"),
        ("2026-10-25T23:00:00+00:00", "2026-10-25T23:00:00+00:00", "2026-10-26T00:00:00"),
    ],
)
def test_an_end_today_is_the_end_of_the_storages_day(
    house: Storage, desk: Sit, clock: SettableClock, accepted: str, start: str, end: str
) -> None:
    clock.set(accepted)
    cora = desk(user="cora")
    task = ask(cora)
    assert done(act(cora, task, "accept"))["element"]["state"] == "expired"
    assert cora.element("released")["attributes"]["validUntil"] == {"127": end}
    with tenant_scope(house):
        assert ElementVersion.objects.get(id=ID["released-1"]).valid_until == datetime.fromisoformat(start)
    assert run(house) == {}
    check_lifecycles(fresh(house))


def test_the_clock_jumps_forward_and_back(house: Storage, desk: Sit, clock: SettableClock) -> None:
    """A jump ahead runs everything that is due, once. A jump back reverts nothing and keeps the order."""
    begin = clock.moment
    cora, rival = desk(user="cora"), fingerprints(house)[1]
    valid(house, "released-1", valid_until=begin + 10 * DAY)
    valid(house, "order-2", valid_until=begin + 60 * DAY)
    runs = []
    clock.moment = begin + 30 * DAY
    runs.append(run(house))
    rename(cora, "inProcess", "Ahead")
    task = ask(cora, "inEffect")
    clock.moment = begin + HOUR
    runs.append(run(house))
    assert states(house, "released-1", "order-2") == ["expired", "released"]
    # Later changes come after earlier ones, whatever the clock says.
    rename(cora, "inProcess", "Back")
    assert done(act(cora, task, "accept"))["element"]["state"] == "expired"
    names = [each["after"]["attributes"]["name[1033]"] for each in history(cora, "inProcess")[:2]]
    assert names == ["Back", "Ahead"]
    steps = cora.steps("inEffect")
    assert [each["number"] for each in steps] == [*range(1, len(steps) + 1)]
    moments = [each["changedOn"] for each in steps]
    assert moments == sorted(moments)
    clock.moment = begin + 61 * DAY
    runs += [run(house), run(house)]
    expected = [{"expired": [line("released-1")]}, {}, {"expired": [line("order-2", "2.0")]}, {}]
    done_by_clock = sum(len(lines) for each in runs for lines in each.values())
    wrong = sum(ours != theirs for ours, theirs in zip(runs, expected, strict=True))
    note("clock", "the clock 30 days ahead and back", runs=len(runs), steps=done_by_clock, wrong=wrong)
    assert runs == expected
    check_lifecycles(fresh(house))
    assert fingerprints(house)[1] == rival
    assert states(rival_of(house), "released-1") == ["released"]


def rename(cora: HouseClient, name: str, text: str) -> None:
    response = cora.update({"id": ID[name], "attributes": {"name": {"1033": text}}})
    assert response.status_code == 200, response.content


def history(cora: HouseClient, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cora.get(f"rest/facets/processes/views/detail/elements/{ID[name]}/history").json()[
        "values"
    ]
    return found
