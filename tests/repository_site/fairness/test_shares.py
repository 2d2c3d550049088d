"""Shares of things that cannot be taken back (D198)."""

from __future__ import annotations

import threading
import time

from repository_site.core.fairness.shares import Shares


def taken(shares: Shares, holder: str) -> int:
    count = 0
    while shares.take(holder):
        count += 1
    return count


def test_something_is_left_for_the_next_holder() -> None:
    shares = Shares(12)
    assert [taken(shares, each) for each in "abcde"] == [6, 3, 2, 1, 0]
    assert shares.taken == 12
    for each in "aaabcc":
        shares.give_back(each)
    assert taken(shares, "e") == 3
    assert taken(shares, "c") == 2


def test_something_is_left_for_other_parts_of_a_holder() -> None:
    shares = Shares(96)

    def taken_by(*parts: str) -> int:
        count = 0
        while shares.take("a", *parts):
            count += 1
        return count

    # Two networks without a credential count together.
    assert (taken_by("network 1", "unaccepted"), taken_by("network 2", "unaccepted")) == (36, 0)
    assert (taken_by("token"), taken_by("other")) == (12, 0)
    assert shares.taken == 48
    for _ in range(12):
        shares.give_back("a", "token")
    for _ in range(36):
        shares.give_back("a", "network 1", "unaccepted")
    assert (shares.taken, shares._held) == (0, {})


def test_holders_are_forgotten() -> None:
    shares = Shares(4)
    assert taken(shares, "a") == 2
    shares.give_back("a")
    shares.give_back("a")
    assert (shares.taken, shares._held) == (0, {})


def test_a_holder_waits_until_another_one_gives_back() -> None:
    shares, found = Shares(2), list[bool]()
    assert shares.take("a")
    waiting = threading.Thread(target=lambda: found.append(shares.take("a", "part", within=60)))
    waiting.start()
    # It waits for "a", not for "b".
    assert shares.take("b")
    shares.give_back("b")
    assert (found, shares.taken) == ([], 1)
    shares.give_back("a")
    waiting.join(60)
    assert (found, shares.taken, shares.refused) == ([True], 1, 0)
    began = time.monotonic()
    assert not shares.take("a", within=0.05)
    assert (time.monotonic() - began >= 0.05, shares.taken, shares.refused) == (True, 1, 1)
