"""The token bucket alone, with a fake clock."""

from __future__ import annotations

import pytest

from repository_site.core.environment.values import Rate
from repository_site.core.problems import TooManyRequests
from repository_site.core.rest import throttling
from repository_site.core.rest.throttling import Throttle


class ThrottleClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def passes(throttle: Throttle, key: str) -> bool:
    try:
        throttle.take(key)
    except TooManyRequests:
        return False
    return True


def test_a_burst_then_the_rate() -> None:
    clock = ThrottleClock()
    throttle = Throttle(Rate(2, 5), clock)
    assert [passes(throttle, "a") for _ in range(6)] == [True] * 5 + [False]
    clock.now += 1
    assert [passes(throttle, "a") for _ in range(3)] == [True, True, False]
    clock.now += 1000
    assert [passes(throttle, "a") for _ in range(6)] == [True] * 5 + [False]


def test_keys_do_not_touch_each_other() -> None:
    throttle = Throttle(Rate(1, 1), ThrottleClock())
    assert [passes(throttle, key) for key in "abab"] == [True, True, False, False]


def test_refused_requests_do_not_count() -> None:
    clock = ThrottleClock()
    throttle = Throttle(Rate(1, 1), clock)
    assert [passes(throttle, "a") for _ in range(50)].count(True) == 1
    clock.now += 1
    assert passes(throttle, "a")


def test_the_error_has_the_seconds_to_wait() -> None:
    throttle = Throttle(Rate(0.25, 1), ThrottleClock())
    throttle.take("a")
    with pytest.raises(TooManyRequests) as caught:
        throttle.take("a")
    assert caught.value.retry_after == 4


def test_off() -> None:
    throttle = Throttle(None)
    assert all(passes(throttle, "a") for _ in range(1000))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "MAX_BUCKETS", 3)
    throttle = Throttle(Rate(1, 1), ThrottleClock())
    for key in "abcd":
        throttle.take(key)
    assert not passes(throttle, "d")
    assert passes(throttle, "a")
    assert len(throttle._buckets) == 3
