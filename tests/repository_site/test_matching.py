"""Common parts of two sequences, and the effort of finding them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repository_site.core.matching import Effort, EqualPart, equal_parts, longest_ascending

SEQUENCES = st.lists(st.sampled_from("abcdef"), max_size=40)


def common(old: Sequence[str], new: Sequence[str], steps: int = 100_000) -> str:
    return "".join("".join(old[each.old : each.old + each.size]) for each in equal_parts(old, new, Effort(steps)))


@pytest.mark.parametrize(
    ("old", "new", "both"),
    [
        ("", "", ""),
        ("abc", "abc", "abc"),
        ("abc", "axc", "ac"),
        ("abcdef", "defabc", "def"),
        ("aab", "aba", "ab"),
        ("x1y2z", "1a2b", "12"),
        ("aaaa", "aa", "aa"),
    ],
)
def test_common_parts(old: str, new: str, both: str) -> None:
    assert common(old, new) == both


@pytest.mark.long
@given(SEQUENCES, SEQUENCES, st.integers(0, 200))
def test_parts_are_equal_parts_in_order(old: list[str], new: list[str], steps: int) -> None:
    parts = equal_parts(old, new, Effort(steps))
    for part in parts:
        assert part.size > 0
        assert old[part.old : part.old + part.size] == new[part.new : part.new + part.size]
    for one, other in pairwise(parts):
        assert one.old + one.size <= other.old
        assert one.new + one.size <= other.new
        assert (one.old + one.size, one.new + one.size) != (other.old, other.new)


def test_without_effort_only_the_ends_are_compared() -> None:
    assert equal_parts("abcde", "axcye", Effort(0)) == [EqualPart(0, 0, 1), EqualPart(4, 4, 1)]


def test_the_effort_bounds_the_visits_of_a_sequence_that_divides_badly() -> None:
    """Each part has one item that occurs once, and dividing there leaves a part that is only shorter by two items."""
    items = [word for number in range(3_000, 0, -1) for word in (str(number - 1), str(number))]
    effort = Effort(50_000)
    equal_parts(items, [part for item in items for part in (item, ",")], effort)
    assert 0 <= effort.left < 50_000


@pytest.mark.long
@given(st.permutations(range(8)))
def test_the_longest_ascending_part(numbers: list[int]) -> None:
    pairs = list(enumerate(numbers))
    found = longest_ascending(pairs)
    assert found == sorted(found, key=lambda pair: pair[1])
    assert set(found) <= set(pairs)
    longest = [1] * len(numbers)
    for index, number in enumerate(numbers):
        longest[index] += max((longest[at] for at in range(index) if numbers[at] < number), default=0)
    assert len(found) == max(longest)
