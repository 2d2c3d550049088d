"""Recent activity, in memory that processes share (D196)."""

from __future__ import annotations

import os
from itertools import islice

import pytest

from repository_site.core.fairness.origin import ELSEWHERE
from repository_site.core.fairness.presence import NEAR, SLOTS, WINDOW, Presence
from tests.repository_site.fairness.budget_clock import BudgetClock

ACME, RIVAL = "acme/handbook", "rival/handbook"


@pytest.fixture
def clock() -> BudgetClock:
    return BudgetClock()


@pytest.fixture
def presence(clock: BudgetClock) -> Presence:
    return Presence(clock)


def others(presence: Presence) -> tuple[bool, bool]:
    return presence.has_other_storages(ACME), presence.has_other_storages(RIVAL)


def test_nobody_is_active_at_first(presence: Presence) -> None:
    assert others(presence) == (False, False)
    assert not presence.has_other_callers(ACME, 1)


def test_other_storages(presence: Presence, clock: BudgetClock) -> None:
    presence.note(ACME, 1)
    assert others(presence) == (False, True)
    presence.note(RIVAL, 1)
    assert others(presence) == (True, True)
    clock.now += WINDOW - 1
    for _ in range(3):
        presence.note(ACME, 1)
    assert others(presence) == (True, True)
    clock.now += 1
    assert others(presence) == (False, True)
    clock.now += WINDOW
    assert others(presence) == (False, False)


def test_accepted_callers(presence: Presence, clock: BudgetClock) -> None:
    assert not presence.has_accepted_callers(ACME)
    presence.note(ACME, 1, is_accepted=False)
    presence.note(RIVAL, 1)
    assert [presence.has_accepted_callers(each) for each in (ACME, RIVAL)] == [False, True]
    presence.note(ACME, 1)
    clock.now += WINDOW - 0.1
    assert presence.has_accepted_callers(ACME)
    clock.now += 0.1
    assert not presence.has_accepted_callers(ACME)


def test_other_callers(presence: Presence, clock: BudgetClock) -> None:
    presence.note(ACME, 1)
    presence.note(RIVAL, 2)
    assert not presence.has_other_callers(ACME, 1)
    assert presence.has_other_callers(ACME, 2)
    presence.note(ACME, 2)
    assert presence.has_other_callers(ACME, 1)
    clock.now += WINDOW
    assert not presence.has_other_callers(ACME, 1)


def test_storages_that_take_most(presence: Presence, clock: BudgetClock) -> None:
    presence.charge(ACME, 8)
    presence.charge(RIVAL, 5)
    presence.charge("third/handbook", 7)
    storages = (ACME, RIVAL, "third/handbook", "new/comer")
    assert [presence.takes_most(each) for each in storages] == [True, False, True, False]
    clock.now += 10
    presence.charge(RIVAL, 5)
    assert [presence.takes_most(each) for each in storages] == [False, True, False, False]
    clock.now += 100
    presence.charge("new/comer", 0.1)
    assert [presence.takes_most(each) for each in storages] == [False, False, False, True]


def test_several_storages_take_more_than_an_equal_share(presence: Presence, clock: BudgetClock) -> None:
    """A second attacker is limited although it takes less than the first one."""
    storages = (ACME, RIVAL, "third/handbook")
    for storage, work in zip(storages, (10, 7, 0.5), strict=True):
        presence.charge(storage, work)
    assert [presence.takes_most(each) for each in storages] == [True, True, False]
    clock.now += 0.4
    assert [presence.takes_most(each) for each in storages] == [True, True, False]


def test_many_small_storages_do_not_make_another_one_large(presence: Presence) -> None:
    presence.charge(ACME, 10)
    presence.charge(RIVAL, 2)
    for number in range(50):
        presence.charge(f"small/{number}", 0.01)
    assert [presence.takes_most(each) for each in (ACME, RIVAL, "small/1")] == [True, False, False]


def test_storages_that_share_records(presence: Presence) -> None:
    """Those that work most keep them: small storages must not hide a large one."""
    others = (f"small/{number}" for number in range(1_000_000))
    crowd = [ACME, *islice((each for each in others if hash(each) % SLOTS == hash(ACME) % SLOTS), NEAR)]
    for storage in crowd:
        presence.charge(storage, 10 if storage is ACME else 1)
    presence.charge(crowd[-1], 0.01)
    assert [presence.takes_most(each) for each in crowd] == [True, *[False] * NEAR]
    presence.charge(crowd[-1], 20)
    assert presence.takes_most(crowd[-1])


def test_storages_with_the_same_work(presence: Presence, clock: BudgetClock) -> None:
    for storage in (ACME, RIVAL, "third/handbook"):
        presence.charge(storage, 0.1)
        clock.now += 0.01
    assert all(presence.takes_most(each) for each in (ACME, RIVAL, "third/handbook"))


def test_unknown_addresses_are_no_activity(presence: Presence) -> None:
    presence.note(ELSEWHERE, 1)
    presence.note(ELSEWHERE, 2)
    assert others(presence) == (False, False)
    assert presence.has_other_callers(ELSEWHERE, 1)


def test_processes_share_it(presence: Presence) -> None:
    """A forked process writes what this one reads."""
    presence.note(ACME, 1)
    child = os.fork()
    if not child:
        presence.note(RIVAL, 1)
        presence.charge(RIVAL, 1)
        os._exit(0)
    os.waitpid(child, 0)
    assert others(presence) == (True, True)
    assert (presence.takes_most(ACME), presence.takes_most(RIVAL)) == (False, True)
