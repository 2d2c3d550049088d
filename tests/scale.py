"""Scale of tests with arbitrarily many cases: a part usually, everything with TEST_SCALE=full."""

from __future__ import annotations

import os

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
