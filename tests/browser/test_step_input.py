"""Text that a person is still typing in the editor of a diagram is neither lost nor misunderstood."""

from __future__ import annotations

import pytest

from tests.browser.artist import Artist, leave, names
from tests.browser.conftest import NewVisitor

pytestmark = [pytest.mark.long, pytest.mark.browser]
# Hold back the request that saves until `go` is called.
HOLD = """() => {
    const send = window.fetch;
    const waiting = new Promise((resolve) => (window.go = resolve));
    window.fetch = async (...given) => {
        if (given[1]?.method === "PUT") await waiting;
        return send(...given);
    };
}"""


@pytest.fixture
def artist(visit: NewVisitor, token: str) -> Artist:
    return Artist(visit("rita"), token)


def three_steps(artist: Artist) -> None:
    artist.open()
    artist.begin("Order received")
    artist.step("Check order")
    artist.step("Pack")


def type_numbers(artist: Artist, numbers: str) -> None:
    artist.page.locator(".st-before").nth(1).focus()
    artist.keys.press("Control+a")
    artist.keys.type(numbers)


def test_typed_numbers_count_before_a_new_step_renumbers_the_others(artist: Artist) -> None:
    three_steps(artist)
    type_numbers(artist, "1, 3")
    artist.keys.press("Enter")
    artist.keys.type("Ask customer")
    artist.page.wait_for_timeout(100)
    assert [(name, before) for _, name, before in artist.rows()] == [
        ("Order received", ""),
        ("Check order", "1, 4"),
        ("Ask customer", "2"),
        ("Pack", "3"),
    ]
    leave(artist)


def test_a_letter_that_is_typed_before_the_rows_are_shown_again_stays_first(artist: Artist) -> None:
    three_steps(artist)
    artist.page.evaluate("() => { window.timers = []; window.setTimeout = (work) => window.timers.push(work); }")
    type_numbers(artist, "1, 3")
    artist.keys.press("Enter")
    artist.keys.type("A")
    artist.page.evaluate("window.timers.forEach((work) => work())")
    artist.keys.type("sk customer")
    assert names(artist) == ["Order received", "Check order", "Ask customer", "Pack"]
    leave(artist)


def test_typed_numbers_are_saved(artist: Artist) -> None:
    three_steps(artist)
    type_numbers(artist, "9")
    artist.keys.press("Control+s")
    artist.page.get_by_text("There is no such step before this one: 9.").wait_for()
    artist.keys.press("Control+a")
    artist.keys.type("1, 3")
    artist.save()
    assert [before for _, _, before in artist.stored()] == [[], ["Order received", "Pack"], ["Check order"]]


def test_nothing_can_be_typed_while_steps_are_saved(artist: Artist) -> None:
    three_steps(artist)
    artist.page.evaluate(HOLD)
    artist.keys.press("Control+s")
    artist.keys.type(" and ship")
    artist.keys.press("Enter")
    artist.page.locator("[data-do=add]").click()
    assert names(artist) == ["Order received", "Check order", "Pack"]
    with artist.page.expect_navigation():
        artist.page.evaluate("window.go()")
    artist.visitor.settle()
    assert [name for _, name, _ in artist.stored()] == ["Order received", "Check order", "Pack"]


def test_enter_that_ends_a_composed_word_makes_no_step(artist: Artist) -> None:
    artist.open()
    artist.begin("注文")
    press = "new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })"
    artist.page.evaluate(f"document.activeElement.dispatchEvent({press})")
    assert names(artist) == ["注文"]
    leave(artist)
