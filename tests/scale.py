"""The scale of tests with unlimited cases: usually a part, all of them with TEST_SCALE=full."""

from __future__ import annotations

import os

import pytest

IS_FULL = os.environ.get("TEST_SCALE") == "full"
only_at_full_scale = pytest.mark.skipif(not IS_FULL, reason="runs with TEST_SCALE=full")
PART = 6


def scaled(number: int) -> int:
    """A number of cases, requests or rounds."""
    return number if IS_FULL else max(1, number // PART)
