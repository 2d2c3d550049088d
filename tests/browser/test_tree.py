"""The tree of the back office by keyboard, and by dragging: moves, undo, refused moves, search and details (D481)."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import DEMO, NARROW, NewVisitor, Visitor
from tests.browser.keyboard import check_focus, skip_to_content, tab_to
from tests.browser.submitting import call

pytestmark = [pytest.mark.long, pytest.mark.browser]
PROCESSES = "/facets/processes/views/detail/elements"
TREE = f"{DEMO}/admin/elements/tree/"


class Gardener:
    """A person at a tree in which a new branch has three children: Ash, Beech and Cedar.

    The branch has a category of its own, the first of its siblings: other tests add hundreds of processes to others.
    """

    def __init__(self, visitor: Visitor, token: str) -> None:
        self.visitor, self.page, self.token = visitor, visitor.page, token
        found = call(visitor, token, "GET", f"{PROCESSES}?$filter=type -eq 'subCategory'&$page=1&$pageSize=1")
        above = [each["id"] for each in reversed(found["elements"][0]["rootPath"])]
        category = self.make("subCategory", above[-1], "Forest", position=0)[0]
        self.top = self.make("mainProcess", category, "Wood")[0]
        self.children = self.make("subProcess", self.top, "Ash", "Beech", "Cedar")
        self.address = f"{TREE}?facet=processes&open={','.join([*above, category, self.top])}"

    def make(self, type: str, parent: str, *names: str, **more: int) -> list[str]:
        made = [
            {"type": type, "attributes": {"name": {"1031": name, "1033": name}}, "rootPath": [{"id": parent}], **more}
            for name in names
        ]
        found = call(self.visitor, self.token, "POST", PROCESSES, {"elements": made})["elements"]
        return [str(each["id"]) for each in found]

    def order(self) -> list[str]:
        """Return the names below the branch, as the API has them."""
        children = call(self.visitor, self.token, "GET", f"{PROCESSES}/{self.top}/children")["elements"]
        return [each["attributes"]["name"]["1033"] for each in children]

    def name(self, number: int) -> Locator:
        return self.page.locator(f"#at-{self.children[number]} > .el-branch-row > .el-named")

    def says(self, text: str) -> None:
        expect(self.page.locator("#tree-status")).to_contain_text(text)


def test_elements_move_by_keyboard(visit: NewVisitor, token: str) -> None:
    gardener = Gardener(visit("rita"), token)
    page, keys = gardener.page, gardener.page.keyboard
    gardener.visitor.open(gardener.address)
    gardener.visitor.check_accessibility()
    skip_to_content(gardener.visitor)
    tab_to(gardener.visitor, gardener.name(0))
    keys.press("ArrowDown")
    check_focus(gardener.name(1))
    keys.press("Alt+ArrowUp")
    gardener.says("Beech was moved.")
    check_focus(gardener.name(1))
    assert gardener.order() == ["Beech", "Ash", "Cedar"]
    keys.press("Alt+ArrowUp")
    gardener.says("The element cannot be moved there.")
    keys.press("Control+z")
    gardener.says("Beech was moved.")
    assert gardener.order() == ["Ash", "Beech", "Cedar"]
    keys.press("Alt+ArrowRight")
    expect(page.locator(f"#at-{gardener.children[0]} #at-{gardener.children[1]}")).to_be_visible()
    check_focus(gardener.name(1))
    assert gardener.order() == ["Ash", "Cedar"]
    keys.press("Alt+ArrowLeft")
    expect(page.locator(f"#at-{gardener.children[0]} #at-{gardener.children[1]}")).to_have_count(0)
    check_focus(gardener.name(1))
    assert gardener.order() == ["Ash", "Beech", "Cedar"]
    # The address has the open branches, so loading the page again shows the same.
    page.reload()
    expect(gardener.name(1)).to_be_visible()


def test_a_refused_move_keeps_the_place(visit: NewVisitor, token: str) -> None:
    gardener = Gardener(visit("rita"), token)
    rita, keys = gardener.visitor, gardener.page.keyboard
    rita.expected |= {412, 409}
    rita.open(gardener.address)
    # Somebody else moves the element, then submits another one.
    call(
        rita,
        token,
        "POST",
        PROCESSES,
        {"elements": [{"id": gardener.children[1], "rootPath": [{"id": gardener.children[2]}]}]},
    )
    gardener.name(1).focus()
    keys.press("Alt+ArrowUp")
    gardener.says("Somebody else has moved Beech in the meantime.")
    expect(gardener.page.locator(".el-tree-problems")).to_be_visible()
    expect(gardener.name(0)).to_be_visible()
    gardener.name(2).focus()
    call(rita, token, "POST", f"/release/{gardener.children[2]}/transitions/InProcessToInReview?ignoreWarnings=true")
    keys.press("Alt+ArrowUp")
    gardener.says("The place in the tree cannot be changed")
    check_focus(gardener.name(2))
    rita.check_accessibility()


def test_elements_are_dragged(visit: NewVisitor, token: str) -> None:
    gardener = Gardener(visit("rita"), token)
    gardener.visitor.open(gardener.address)
    rows = [gardener.page.locator(f"#at-{each} > .el-branch-row") for each in gardener.children]
    rows[2].drag_to(rows[0], target_position={"x": 60, "y": 4})
    gardener.says("Cedar was moved.")
    assert gardener.order() == ["Cedar", "Ash", "Beech"]
    box = rows[1].bounding_box()
    assert box is not None
    rows[0].drag_to(rows[1], target_position={"x": 60, "y": box["height"] / 2})
    expect(gardener.page.locator(f"#at-{gardener.children[1]} #at-{gardener.children[0]}")).to_be_visible()
    assert gardener.order() == ["Cedar", "Beech"]
    _move_to_the_top(gardener)


def _move_to_the_top(gardener: Gardener) -> None:
    """Systems can be at the top: drag one there, undo, and do it by keyboard."""
    page, systems = gardener.page, "/facets/it/views/detail/elements"

    def make(name: str, **more: object) -> str:
        body = {"elements": [{"type": "system", "attributes": {"name": {"1031": name, "1033": name}}, **more}]}
        return str(call(gardener.visitor, gardener.token, "POST", systems, body)["elements"][0]["id"])

    upper = make("Aardvark")
    lower = make("Badger", rootPath=[{"id": upper}])
    gardener.visitor.open(f"{TREE}?facet=it&open={upper}")
    inside, name = page.locator(f"#at-{upper} #at-{lower}"), page.locator(f"#at-{lower} > .el-branch-row > .el-named")
    expect(page.locator("#tree-top")).to_be_hidden()
    page.locator(f"#at-{lower} > .el-branch-row").drag_to(page.locator("#tree-top"), force=True)
    gardener.says("Badger was moved.")
    expect(inside).to_have_count(0)
    expect(name).to_be_focused()
    page.keyboard.press("Control+z")
    expect(inside).to_be_visible()
    expect(name).to_be_focused()
    page.keyboard.press("Alt+Home")
    expect(inside).to_have_count(0)
    page.keyboard.press("Alt+Home")
    gardener.says("The element cannot be moved there.")


def test_the_menu_moves_and_details_are_beside_the_tree(visit: NewVisitor, token: str) -> None:
    gardener = Gardener(visit("rita"), token)
    page, rita = gardener.page, gardener.visitor
    rita.open(gardener.address)
    page.get_by_label("Details of Beech").click()
    expect(page.locator("#tree-details")).to_contain_text("Beech")
    rita.check_looks(1)
    page.set_viewport_size(NARROW)
    menu = page.locator("summary[aria-label='Move Beech']")
    menu.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Move down").locator("visible=true").click()
    gardener.says("Beech was moved.")
    assert gardener.order() == ["Ash", "Cedar", "Beech"]


def test_the_tree_finds_an_element(visit: NewVisitor, token: str) -> None:
    gardener = Gardener(visit("rita"), token)
    gardener.make("subProcess", gardener.top, "Sequoia gigantea")
    gardener.visitor.open(f"{TREE}?facet=processes")
    field = gardener.page.get_by_role("searchbox", name="Find in the tree")
    field.fill("sequoia")
    field.press("Enter")
    gardener.page.get_by_role("link", name="Sequoia gigantea").first.click()
    expect(gardener.page.locator(".el-tree").get_by_text("Sequoia gigantea")).to_be_visible()
    expect(gardener.page.locator("#tree-details")).to_contain_text("Sequoia gigantea")
