"""Recent activity, in memory that processes share (D196)."""

from __future__ import annotations

import os

import pytest

from repository_site.core.fairness.presence import WINDOW, Presence
from tests.repository_site.fairness.test_budgets import BudgetClock

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
