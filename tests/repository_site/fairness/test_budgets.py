"""Budgets of work: buckets of seconds that can be overdrawn (D197)."""

from __future__ import annotations

import math

from repository_site.core.environment.values import Rate
from repository_site.core.fairness import budgets
from repository_site.core.fairness.budgets import LONGEST_DEBT, Budget
from tests.repository_site.fairness.budget_clock import BudgetClock


def test_work_is_charged_and_time_pays_for_it() -> None:
    clock = BudgetClock()
    budget = Budget(Rate(0.5, 4), clock)
    assert (budget.level("a"), budget.part_left("a"), budget.seconds_in_debt("a")) == (4, 1, 0)
    budget.charge("a", 3)
    assert (budget.level("a"), budget.part_left("a"), budget.level("b")) == (1, 0.25, 4)
    budget.charge("a", 3)
    assert (budget.level("a"), budget.part_left("a"), budget.seconds_in_debt("a")) == (-2, 0, 4)
    clock.now += 3
    assert (budget.level("a"), budget.seconds_in_debt("a")) == (-0.5, 1)
    clock.now += 1000
    assert budget.level("a") == 4


def test_a_debt_is_limited() -> None:
    clock = BudgetClock()
    budget = Budget(Rate(0.5, 4), clock)
    budget.charge("a", 10_000)
    assert budget.seconds_in_debt("a") == LONGEST_DEBT
    clock.now += LONGEST_DEBT
    assert budget.level("a") == 0


def test_without_a_rate() -> None:
    budget = Budget(None)
    budget.charge("a", 10_000)
    assert (budget.level("a"), budget.part_left("a"), budget.seconds_in_debt("a")) == (math.inf, 1, 0)


def test_the_least_recently_used_buckets_are_forgotten() -> None:
    budget = Budget(Rate(1, 10), BudgetClock())
    for key in range(budgets.MAX_BUCKETS):
        budget.charge(key, 1)
    budget.charge(0, 1)
    budget.charge("one more", 1)
    assert (budget.level(0), budget.level(1), budget.level(2)) == (8, 10, 9)
