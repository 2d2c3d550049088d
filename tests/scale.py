"""Scale of tests with arbitrarily many cases: a part usually, everything with TEST_SCALE=full."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

IS_FULL = os.environ.get("TEST_SCALE") == "full"
only_at_full_scale = pytest.mark.skipif(not IS_FULL, reason="runs with TEST_SCALE=full")
slow_on_a_cluster = [] if IS_FULL else [pytest.mark.one_node("takes a minute there; it runs with TEST_SCALE=full")]
"""Marks cases of which smaller ones run on a Citus cluster, too."""
many_rows = [pytest.mark.long, pytest.mark.on_cluster, *slow_on_a_cluster]
"""Marks cases of which smaller ones are quick tests."""
PART = 6


def scaled(number: int) -> int:
    """Scale a number of cases, requests or rounds."""
    return number if IS_FULL else max(1, number // PART)


def first_quick(cases: Iterable[Any], number: int = 1) -> list[Any]:
    """Return the cases of a test: the first ones are quick, and all others long."""
    every = list(cases)
    return [*every[:number], *(_long(each) for each in every[number:])]


def _long(case: Any) -> Any:
    return pytest.param(
        *(case if isinstance(case, tuple) else (case,)), marks=[pytest.mark.long, pytest.mark.on_cluster]
    )
