"""A person who uses the keyboard only, and sees where the focus is."""

from __future__ import annotations

from playwright.sync_api import Locator

from tests.browser.conftest import Visitor

# Presses of the Tab key that a page may need, with the navigation before its content.
MOST_TABS = 400
# The outline belongs to the element itself, or to the frame of a field.
HAS_VISIBLE_FOCUS = """each => {
  const outlined = (one) => {
    const style = getComputedStyle(one);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  };
  const box = each.getBoundingClientRect();
  const isInView = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return isInView && (outlined(each) || outlined(each.parentElement));
}"""


def is_focused(target: Locator) -> bool:
    return bool(target.evaluate("each => each === document.activeElement"))


def check_focus(target: Locator) -> None:
    """Fail unless the target has the focus and shows it."""
    assert is_focused(target), target
    assert target.evaluate(HAS_VISIBLE_FOCUS), f"The focus is not visible at {target}."


def tab_to(visitor: Visitor, target: Locator, key: str = "Tab") -> None:
    for _ in range(MOST_TABS):
        visitor.page.keyboard.press(key)
        if is_focused(target):
            return check_focus(target)
    raise AssertionError(f"The Tab key does not reach {target}.")


def press(visitor: Visitor, target: Locator, key: str = "Enter") -> None:
    """Go to a link or button with the Tab key and follow it to the next page."""
    tab_to(visitor, target)
    with visitor.page.expect_navigation():
        visitor.page.keyboard.press(key)
    visitor.settle()


def skip_to_content(visitor: Visitor) -> None:
    """Use the skip link, which is the first stop of a page."""
    tab_to(visitor, visitor.page.locator("a.office-skip"))
    visitor.page.keyboard.press("Enter")
    assert is_focused(visitor.page.locator("#content"))
