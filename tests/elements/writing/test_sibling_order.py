"""Order of siblings (D480), decided without a database: ranks, and the rows that a move writes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elements.writing.deciding.sibling_order import (
    MAX_RANK,
    ChildOrder,
    Sibling,
    rank_between,
    ranks_between,
)
from elements.writing.findings import Refusal
from elements.writing.inputs import PositionInput
from elements.writing.planned_changes import PlannedChange
from facets.template_format.reading import read_template
from tests.elements.handbook import TEMPLATE

TYPE = next(each for each in read_template(TEMPLATE).types if each.key == "subProcess")


def moved(element: str, position: PositionInput | None = None) -> PlannedChange:
    return PlannedChange(f"elements[0] {element}", TYPE, element, element, None, {}, position=position)


def after_moves(stored: list[Sibling], *moves: PlannedChange) -> tuple[list[str], dict[str, Sibling]]:
    """Return the order that a read of the rows would have, and the rows that were written."""
    order = ChildOrder(stored, max((each.position for each in stored), default=-1) + 1)
    for each in moves:
        order.place(each)
    keys = order.keys()
    rows = {each.element: each for each in stored} | keys
    found = [each.element for each in sorted(rows.values(), key=lambda row: (row.position, row.rank, row.element))]
    assert found == order.order
    return found, keys


DENSE = [Sibling(name, number) for number, name in enumerate("abcdef")]


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (PositionInput(0), "xabcdef"),
        (PositionInput(3), "abcxdef"),
        (PositionInput(6), "abcdefx"),
        (PositionInput(99), "abcdefx"),
        (PositionInput(before="a"), "xabcdef"),
        (PositionInput(before="d"), "abcxdef"),
        (PositionInput(after="c"), "abcxdef"),
        (PositionInput(after="f"), "abcdefx"),
        (None, "abcdefx"),
    ],
)
def test_a_new_sibling_writes_only_its_own_row(position: PositionInput | None, expected: str) -> None:
    found, keys = after_moves(DENSE, moved("x", position))
    assert ("".join(found), list(keys)) == (expected, ["x"])


def test_a_sibling_that_stays_in_its_place_keeps_its_key() -> None:
    assert after_moves(DENSE, moved("c", PositionInput(2))) == (list("abcdef"), {"c": DENSE[2]})


def test_several_siblings_are_placed_in_the_order_of_the_request() -> None:
    moves = [moved(each, PositionInput(1)) for each in "xyz"]
    found, keys = after_moves(DENSE, *moves, moved("f", PositionInput(0)))
    assert ("".join(found), sorted(keys)) == ("fazyxbcde", ["f", "x", "y", "z"])


def test_siblings_with_equal_keys_are_numbered_again_if_one_must_go_between() -> None:
    stored = [Sibling(name, 4) for name in "abc"]
    found, keys = after_moves(stored, moved("x", PositionInput(1)))
    assert ("".join(found), keys) == (
        "axbc",
        {name: Sibling(name, number) for number, name in enumerate("axbc")},
    )


def test_a_removed_sibling_is_not_counted() -> None:
    order = ChildOrder(DENSE, 6)
    order.remove("a")
    order.place(moved("x", PositionInput(1)))
    assert "".join(order.order) == "bxcdef"
    assert list(order.keys()) == ["x"]


@pytest.mark.parametrize("position", [PositionInput(before="q"), PositionInput(after="x")])
def test_only_another_sibling_can_be_named(position: PositionInput) -> None:
    with pytest.raises(Refusal, match=r"is not a sibling; name another child of the same parent, or a number"):
        ChildOrder(DENSE, 6).place(moved("x", position))


@given(st.lists(st.integers(min_value=0), max_size=120))
def test_ranks_stay_between_their_neighbours(places: list[int]) -> None:
    ranks = [""]
    for place in places:
        index = place % len(ranks)
        above = ranks[index + 1] if index + 1 < len(ranks) else None
        ranks.insert(index + 1, rank_between(ranks[index], above))
    assert all(low < high for low, high in pairwise(ranks))
    assert not any(each.endswith("0") for each in ranks)


@pytest.mark.parametrize("number", [1, 2, 500])
def test_ranks_of_many_stay_short(number: int) -> None:
    found = list(ranks_between("", "1", number))
    assert (found, len(set(found))) == (sorted(found), number)
    assert max(map(len, found)) <= 6


@pytest.mark.long
def test_moves_to_the_same_place_number_all_again_only_after_hundreds_of_moves() -> None:
    stored, written = list(DENSE), 0
    for number in range(2000):
        name = f"x{number}"
        _found, keys = after_moves(stored, moved(name, PositionInput(after="a")))
        rows = {each.element: each for each in stored} | keys
        stored = sorted(rows.values(), key=lambda row: (row.position, row.rank))
        written += len(keys)
        assert max(len(each.rank) for each in stored) <= MAX_RANK
    assert written < 2000 + 4 * 2000
