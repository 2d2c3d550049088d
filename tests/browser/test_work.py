"""My work, messages, subscriptions and webhooks: usable by keyboard alone, without a finding of axe-core."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import DEMO, NARROW, WIDE, NewVisitor, Visitor
from tests.browser.keyboard import press, tab_to
from tests.browser.submitting import state_of, submit
from tests.browser.world import RECEIVER

pytestmark = [pytest.mark.long, pytest.mark.browser]
OFFICE = f"{DEMO}/admin"
WORK = f"{OFFICE}/my-work/"
MESSAGES = f"{OFFICE}/messages/"
WEBHOOKS = f"{OFFICE}/storage/webhook/"


def check_looks(visitor: Visitor) -> None:
    """Check a page in light and dark colours, and that it fits a phone."""
    page = visitor.page
    visitor.check_accessibility()
    page.evaluate("document.documentElement.classList.add('dark')")
    visitor.check_accessibility(contrast_only=True)
    page.evaluate("document.documentElement.classList.remove('dark')")
    wide = page.viewport_size
    page.set_viewport_size(NARROW)
    width = page.evaluate("document.documentElement.scrollWidth")
    if wide is not None:
        page.set_viewport_size(wide)
    assert width <= NARROW["width"], page.url


def test_tasks_are_accepted_by_keyboard(visit: NewVisitor, token: str) -> None:
    """A review is accepted in place. A release asks first, and keeps the comment."""
    rita = visit("rita", viewport=WIDE)
    assert rita.page.url == f"{rita.base}{WORK}", "the first page after signing in"
    reviewed, name = submit(rita, token, "InProcessToInReview")
    released, other = submit(rita, token, "InProcessToReadyForRelease")
    rita.open(WORK)
    check_looks(rita)
    task = rita.page.locator("form.work-task", has_text=name)
    tab_to(rita, task.get_by_label("Comment"))
    rita.page.keyboard.type("Well described.")
    press(rita, task.get_by_role("button", name="Accept"))
    assert rita.page.get_by_text("1 task was accepted.").first.is_visible()
    assert state_of(rita, token, reviewed) == "readyForRelease"
    task = rita.page.locator("form.work-task", has_text=other)
    tab_to(rita, task.get_by_label("Comment"))
    rita.page.keyboard.type("Go.")
    press(rita, task.get_by_role("button", name="Accept…"))
    form = rita.page.locator("form.task-form")
    assert form.get_by_label("Comment").input_value() == "Go."
    assert rita.page.get_by_text("Accepting releases this version").is_visible()
    check_looks(rita)
    rita.expected.add(422)
    press(rita, form.get_by_role("button", name="Accept"))
    # The new process has warnings, which have to be confirmed.
    assert state_of(rita, token, released) == "readyForRelease"
    press(rita, form.get_by_role("button", name="Accept anyway"))
    assert (state_of(rita, token, released), rita.page.url) == ("released", f"{rita.base}{WORK}")


def test_a_task_is_rejected_by_keyboard(visit: NewVisitor, token: str) -> None:
    rita = visit("rita")
    element, name = submit(rita, token, "InProcessToReadyForQA")
    rita.open(WORK)
    task = rita.page.locator("form.work-task", has_text=name)
    press(rita, task.get_by_role("button", name="Reject"))
    # A rejection needs a reason: the form of the step says so.
    assert rita.page.get_by_text("Enter a reason; it is recorded in the lifecycle log.").is_visible()
    check_looks(rita)
    tab_to(rita, rita.page.locator("textarea[name=comment]"))
    rita.page.keyboard.type("Please describe the inputs.")
    press(rita, rita.page.locator("form.task-form").get_by_role("button", name="Reject"))
    assert rita.page.get_by_text("1 task was rejected.").first.is_visible()
    assert state_of(rita, token, element) == "inProcess"


def test_an_element_is_subscribed_to_by_keyboard(visit: NewVisitor, token: str) -> None:
    rita = visit("rita")
    element, name = submit(rita, token, "InProcessToInReview")
    rita.open(f"{OFFICE}/elements/element/{element}/change/")
    card = rita.page.locator(".el-subscription")
    press(rita, card.get_by_role("button", name="Subscribe with everything below"))
    assert card.get_by_text("You subscribe to this element and everything below it.").is_visible()
    check_looks(rita)
    rita.open(WORK)
    changes = rita.page.get_by_role("table").filter(has_text="Change").last
    assert name in changes.inner_text()
    rita.open(f"{OFFICE}/elements/element/{element}/change/")
    press(rita, card.get_by_role("button", name="Unsubscribe"))
    assert card.get_by_role("button", name="Subscribe", exact=True).is_visible()


def test_messages_are_read_and_chosen_by_keyboard(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(MESSAGES)
    check_looks(rita)
    assert rita.page.locator(".message-new").count() >= 1
    press(rita, rita.page.get_by_role("button", name="Mark all as read"))
    assert rita.page.locator(".message-new").count() == 0
    press(rita, rita.page.get_by_role("link", name="Choose your mails"))
    check_looks(rita)
    choice = rita.page.get_by_label("A task for me")
    tab_to(rita, choice)
    rita.page.keyboard.type("once")
    press(rita, rita.page.get_by_role("button", name="Save"))
    assert (choice.input_value(), rita.page.get_by_text("Your choice has been saved.").is_visible()) == ("daily", True)


def test_a_webhook_is_added_by_keyboard(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(WEBHOOKS)
    check_looks(rita)
    press(rita, rita.page.get_by_role("link", name="Add a webhook"))
    check_looks(rita)
    tab_to(rita, rita.page.locator("input[name=url]"))
    rita.page.keyboard.type("https://93.184.216.34/other")
    tab_to(rita, rita.page.locator("input[name=events][value='element.created']"))
    rita.page.keyboard.press("Space")
    press(rita, rita.page.get_by_role("button", name="Add the webhook"))
    check_looks(rita)
    secret = rita.page.locator("#copy-secret").inner_text()
    assert re.fullmatch(r"whsec_[\w+/=]+", secret)
    press(rita, rita.page.get_by_role("link", name="I have copied it"))
    check_looks(rita)
    assert secret not in rita.page.content()
    press(rita, rita.page.get_by_role("link", name="Delete"))
    check_looks(rita)
    press(rita, rita.page.locator("form").get_by_role("button", name="Delete"))
    assert rita.page.get_by_text("The webhook has been deleted.").is_visible()


def test_a_dead_letter_is_sent_again_by_keyboard(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(WEBHOOKS)
    row = rita.page.locator("tr", has_text=RECEIVER)
    press(rita, row.get_by_role("link", name="1 dead letter"))
    check_looks(rita)
    press(rita, rita.page.get_by_role("link", name="element.created"))
    check_looks(rita)
    shown = rita.page.locator("#content").inner_text()
    for text in ('"specversion": "1.0"', "503", "Service unavailable", "The receiver did not answer."):
        assert text in shown
    press(rita, rita.page.get_by_role("link", name="Send again"))
    check_looks(rita)
    press(rita, rita.page.locator("form").get_by_role("button", name="Send"))
    assert rita.page.get_by_text("1 message is sent again.").is_visible()
