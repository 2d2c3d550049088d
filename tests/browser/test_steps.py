"""A person draws a process by keyboard: steps, branches, a loop; the API returns what was drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ViewportSize

from tests.browser.artist import OFFICE, Artist, draw_order, leave, names
from tests.browser.conftest import DEMO, NARROW, NewVisitor, wait_until

pytestmark = [pytest.mark.long, pytest.mark.browser]
TABLET = ViewportSize(width=820, height=1180)
BPMN = """<?xml version="1.0"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="http://example.org/order">
  <process id="order"><task id="check" name="Check order"/></process>
</definitions>"""


@pytest.fixture
def artist(visit: NewVisitor, token: str) -> Artist:
    return Artist(visit("rita"), token)


ORDER = [
    ("evStart", "Order received", ""),
    ("task", "Check order", "1, 4"),
    ("ruleXor", "Complete?", "2"),
    ("task", "Ask customer", "3"),
    ("task", "Reserve stock", "3"),
    ("ruleXor", "In stock?", "5"),
    ("task", "Pick goods", "6"),
    ("task", "Pack goods", "7"),
    ("task", "Order parts", "6"),
    ("task", "Ship", "8, 9"),
    ("task", "Invoice", "10"),
    ("evEnd", "Order closed", "11"),
]


def names_before(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, list[str]]]:
    return [
        (type, name, [rows[int(number) - 1][1] for number in before.replace(",", " ").split()])
        for type, name, before in rows
    ]


def test_a_process_with_branches_and_a_loop_is_drawn_by_keyboard(artist: Artist) -> None:
    draw_order(artist)
    # The loop: the second step also follows the fourth.
    for _ in range(10):
        artist.keys.press("ArrowUp")
    artist.keys.press("Escape")
    artist.keys.press("Tab")
    artist.keys.press("End")
    artist.keys.type(", 4")
    artist.keys.press("Tab")
    assert artist.rows() == ORDER
    artist.visitor.check_accessibility()
    artist.save()
    assert artist.stored() == names_before(ORDER)
    assert "tab=diagram" in artist.page.url
    assert artist.page.locator(".diagram .shape").count() == len(ORDER)


def test_changes_are_undone_and_redone(artist: Artist) -> None:
    draw_order(artist)
    drawn = artist.rows()
    for _ in range(3):
        artist.keys.press("Control+Delete")
    assert len(artist.rows()) == len(drawn) - 3
    for _ in range(3):
        artist.keys.press("Control+z")
    assert artist.rows() == drawn
    artist.keys.press("Control+y")
    assert artist.rows() == drawn[:-1]
    artist.visitor.page.on("dialog", lambda dialog: dialog.accept())
    artist.open()


def test_a_shape_selects_its_row_and_the_other_way_round(artist: Artist) -> None:
    draw_order(artist)
    artist.page.locator(".st-picture .shape", has_text="Reserve stock").first.click()
    assert artist.page.evaluate("document.activeElement.value") == "Reserve stock"
    artist.keys.press("ArrowDown")
    assert "In stock?" in str(artist.page.locator(".st-picture .shape.current title").text_content())
    artist.page.on("dialog", lambda dialog: dialog.accept())
    artist.open()


def test_another_persons_changes_are_added_and_both_are_saved(artist: Artist) -> None:
    artist.open()
    artist.begin("Order received")
    artist.step("Check order")
    artist.save()
    artist.open()
    shapes = artist.get(f"diagram/elements/{artist.process}/content")["elements"]
    last = shapes[-1]["properties"]["shapeId"]
    added = {"type": "task", "attributes": {"name": {"1033": "Pack"}}}
    items = [
        {"shapeInfo": {"index": 0, "id": last}},
        {"shapeInfo": {"index": 1, "predecessors": [0]}, "element": added},
    ]
    artist.send("POST", f"diagram/elements/{artist.process}/content", {"values": items})
    artist.page.locator(".st-name").first.focus()
    artist.keys.press("Control+a")
    artist.keys.type("Order arrives")
    artist.visitor.expected.add(412)
    artist.keys.press("Control+s")
    artist.page.locator(".st-problems", has_text="Added: Pack").wait_for()
    assert artist.rows() == [
        ("evStart", "Order arrives", ""),
        ("task", "Check order", "1"),
        ("task", "Pack", "2"),
    ]
    artist.visitor.check_accessibility()
    artist.save()
    assert artist.stored() == [
        ("evStart", "Order arrives", []),
        ("task", "Check order", ["Order arrives"]),
        ("task", "Pack", ["Check order"]),
    ]


def test_a_version_that_was_released_meanwhile_is_not_changed(artist: Artist) -> None:
    artist.open()
    artist.begin("Order received")
    artist.save()
    artist.open()
    path = f"{DEMO}/_api/rest/release/{artist.process}/transitions/InProcessToReleased?ignoreWarnings=true"
    released = artist.page.request.post(f"{artist.visitor.base}{path}", data={}, headers=artist.headers)
    assert released.ok, released.text()
    artist.visitor.expected |= {409, 412}
    artist.page.locator(".st-name").first.focus()
    artist.step("Check order")
    artist.keys.press("Control+s")
    artist.page.locator(".st-problems", has_text="can no longer be changed").wait_for()
    assert [name for _, name, _ in artist.rows()] == ["Order received", "Check order"]
    artist.page.on("dialog", lambda dialog: dialog.accept())
    artist.open()
    assert artist.stored() == [("evStart", "Order received", [])]


def test_leaving_with_unsaved_steps_asks(artist: Artist) -> None:
    asked: list[str] = []

    def stay(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.accept()

    artist.page.on("dialog", stay)
    artist.open()
    artist.begin("Order received")
    artist.open()
    assert asked == ["beforeunload"]
    assert artist.rows() == []


def test_the_editor_fits_a_phone(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita", viewport=NARROW), token)
    artist.open()
    artist.begin("Order received")
    artist.step("Check order")
    width = artist.page.evaluate("document.documentElement.scrollWidth")
    assert width <= NARROW["width"]
    artist.visitor.check_accessibility()
    artist.page.on("dialog", lambda dialog: dialog.accept())
    artist.open()


def middle(artist: Artist, number: int) -> tuple[float, float]:
    """Return the middle of the number by which a row is dragged."""
    box = artist.page.locator(".st-handle").nth(number - 1).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_rows_are_dragged_with_the_mouse(artist: Artist) -> None:
    draw_order(artist)
    mouse = artist.page.mouse
    mouse.move(*middle(artist, 11))
    mouse.down()
    mouse.move(*middle(artist, 8), steps=4)
    mouse.up()
    assert artist.rows()[6:] == [
        ("task", "Pick goods", "6"),
        ("task", "Invoice", "7"),
        ("task", "Pack goods", "8"),
        ("task", "Order parts", "6"),
        ("task", "Ship", "9, 10"),
        ("evEnd", "Order closed", "11"),
    ]
    leave(artist)


def test_rows_are_dragged_with_a_finger(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita", viewport=TABLET, has_touch=True), token)
    draw_order(artist)
    artist.page.evaluate("scrollTo(0, 0)")
    (x, y), (_, end) = middle(artist, 8), middle(artist, 7)
    touch = artist.page.context.new_cdp_session(artist.page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for part in range(1, 5):
        place = {"x": x, "y": y + (end - y) * part / 4}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [place]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    # The page handles a touch after the answer to its event.
    wait_until(artist.page, "document.querySelectorAll('.st-name')[6].value === 'Pack goods'")
    # The first step of a branch.
    assert artist.rows()[5:8] == [
        ("ruleXor", "In stock?", "5"),
        ("task", "Pack goods", "6"),
        ("task", "Pick goods", "7"),
    ]
    leave(artist)


def test_the_picture_scrolls_to_the_current_step(artist: Artist) -> None:
    artist.open()
    artist.begin("Step 1")
    for number in range(2, 25):
        artist.step(f"Step {number}")
    is_visible = """(() => {
        const [shape, area] = [document.querySelector('.shape.current'), document.querySelector('.st-picture')];
        const [one, other] = [shape.getBoundingClientRect(), area.getBoundingClientRect()];
        return one.top >= other.top && one.bottom <= other.bottom;
    })()"""
    for number in (24, 1, 12):
        artist.page.locator(".st-name").nth(number - 1).focus()
        wait_until(
            artist.page, f"document.querySelector('.shape.current title')?.textContent.endsWith(': Step {number}')"
        )
        wait_until(artist.page, is_visible)
    leave(artist)


def test_rows_stay_while_others_change(artist: Artist) -> None:
    draw_order(artist)
    artist.page.evaluate("document.querySelectorAll('.st-row').forEach((row) => (row.isOld = true))")
    old = "[...document.querySelectorAll('.st-row')].map((row) => Boolean(row.isOld))"
    artist.keys.press("Enter")
    artist.keys.type("Archive")
    # The last row has changed since it was made.
    assert artist.page.evaluate(old) == [True] * 11 + [False] * 2
    artist.page.locator(".st-label").nth(6).fill("yes")
    artist.keys.press("Control+z")
    assert len(artist.rows()) == 13
    artist.page.locator(".st-label").nth(6).fill("yes")
    artist.save()
    found = artist.get(f"diagram/elements/{artist.process}/content?$details=true")["elements"]
    labels = [flow["properties"].get("label") for each in found for flow in each["properties"]["predecessors"]]
    assert [each for each in labels if each] == [{"1033": "yes"}]


def test_a_wrong_number_is_explained_and_kept(artist: Artist) -> None:
    artist.open()
    artist.begin("Order received")
    artist.step("Check order")
    field = artist.page.locator(".st-before").nth(1)
    field.fill("9")
    artist.keys.press("Tab")
    problem = artist.page.get_by_text("There is no such step before this one: 9. Use numbers from 1 to 2.")
    assert problem.evaluate("each => each.clientHeight") > 10
    assert (field.get_attribute("aria-invalid"), field.input_value()) == ("true", "9")
    artist.visitor.check_accessibility()
    leave(artist)


def test_the_picture_stays_visible_on_a_phone(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita", viewport=NARROW, has_touch=True), token)
    draw_order(artist)
    in_order = """(() => {
        const picture = document.querySelector('.st-picture').getBoundingClientRect();
        const field = [...document.querySelectorAll('.st-name')].at(-1).getBoundingClientRect();
        const edges = [0, field.top, field.bottom, picture.top, picture.bottom, innerHeight];
        return field.top > 0 && picture.height > 0 && edges.every((edge, place) => !place || edges[place - 1] <= edge);
    })()"""
    wait_until(artist.page, in_order)
    leave(artist)


def test_the_picture_follows_the_colours_of_the_back_office(artist: Artist) -> None:
    artist.open()
    artist.begin("Order received")
    look = "getComputedStyle(document.querySelector('.st-picture svg')).filter"
    artist.page.locator(".st-picture .shape").wait_for()
    assert artist.page.evaluate(look) == "none"
    artist.page.evaluate("document.documentElement.classList.add('dark')")
    assert artist.page.evaluate(look).startswith("invert(1)")
    leave(artist)


def test_roles_of_a_placed_process_are_not_changed_here(artist: Artist) -> None:
    """They belong to the other process, so a change would be lost."""
    artist.open()
    artist.begin("Order received")
    artist.step("", type="Sub")
    artist.keys.type("Assemble")
    artist.page.locator(".st-choices li", has_text="Assemble bicycle").wait_for()
    artist.keys.press("ArrowDown")
    artist.keys.press("Enter")
    artist.page.locator(".st-name[readonly]").wait_for()
    assert names(artist) == ["Order received", "Assemble bicycle"]
    assert artist.page.locator(".st-role").count() == 0
    artist.save()
    assert artist.stored() == [
        ("evStart", "Order received", []),
        ("subProcess", "Assemble bicycle", ["Order received"]),
    ]


def test_another_type_keeps_the_lane_and_the_sub_process_of_a_step(artist: Artist) -> None:
    """New steps take them over from the step beside them."""
    sub = artist.get("detail/elements?$filter=type -eq 'subProcess'&$page=1&$pageSize=1")["elements"][0]["id"]
    task = {"type": "task", "attributes": {"name": {"1033": "Pack"}}}
    path = f"diagram/elements/{artist.process}/content"
    values = [
        {"shapeInfo": {"index": 0, "lane": 0}, "element": {"type": "subProcess", "id": sub}},
        {"shapeInfo": {"index": 1, "lane": 0, "container": 0}, "element": task},
    ]
    artist.send("PUT", path, {"values": values, "lanes": [{"index": 0, "name": {"1033": "Stock"}}]})
    artist.open()
    artist.page.locator(".st-type").nth(1).select_option("evEnd")
    artist.page.locator(".st-name").nth(1).focus()
    artist.keys.press("Shift+Enter")
    artist.keys.type("Pick")
    artist.save()
    found = artist.get(f"{path}?$details=true")
    (lane,) = (each["id"] for each in found["lanes"])
    drawn = [(each["type"], each["properties"]) for each in found["elements"]]
    outer = drawn[0][1]["shapeId"]
    assert [(type, each["lane"], each.get("container")) for type, each in drawn] == [
        ("subProcess", lane, None),
        ("task", lane, outer),
        ("evEnd", lane, outer),
    ]


# Steps by key with their kind and the steps before them, a change, and the same afterwards.
CHANGES = [
    ("s:start t:task:s e:end:t", ("move", "e", 1), "s: e:t t:s"),
    ("s:start e:end:s", ("split", "e"), "s: e:s"),
    ("s:start x:xor:s a:task:x b:task:a e:end:b", ("move", "b", 2), "s: x:s b:x a:b e:a"),
    ("s:start x:xor:s a:task:x e:end:a", ("remove", "x"), "s: a:s e:a"),
    ("s:start x:xor:s t:task e:task:x", ("outdent", "e"), "s: x:s t: e:x"),
]


@pytest.mark.parametrize(("before", "change", "after"), CHANGES)
def test_changes_keep_the_flow_sensible(artist: Artist, before: str, change: tuple[Any, ...], after: str) -> None:
    artist.open()
    changed = artist.page.evaluate(
        """([text, change]) => {
            const kinds = ['start', 'task', 'xor', 'end'];
            const types = kinds.map((kind) => ({ key: kind, kind, isOwn: true, isOffered: true, roles: '' }));
            const steps = text.split(' ').map((each) => {
                const [key, type, before = ''] = each.split(':');
                const flows = before.split(',').filter(Boolean).map((from) => ({ key: from, label: {} }));
                return { key, type, names: {}, before: flows, roles: [], shape: key, element: key, lane: null, container: null, host: null };
            });
            const list = new StepList({ types, steps, most: 100 });
            const [name, key, place] = change;
            list[name](list.find(key), place);
            return list.steps.map((each) => `${each.key}:${each.before.map((flow) => flow.key)}`).join(' ');
        }""",
        [before, change],
    )
    assert changed == after


def test_a_bpmn_file_is_chosen_and_previewed(artist: Artist, tmp_path: Path) -> None:
    file = tmp_path / "order.bpmn"
    file.write_text(BPMN)
    artist.visitor.open(f"{OFFICE}/elements/element/{artist.process}/change/?tab=diagram")
    artist.visitor.follow(artist.page.get_by_role("link", name="Import BPMN"))
    artist.visitor.check_accessibility()
    artist.page.get_by_label("BPMN 2.0 file").set_input_files(file)
    artist.page.get_by_role("button", name="Preview").click()
    artist.page.get_by_text("Nothing is stored yet.").wait_for()
    artist.visitor.check_accessibility()
    artist.page.get_by_role("button", name="Import").click()
    artist.page.locator(".diagram .shape", has_text="Check order").wait_for()
    assert artist.stored() == [("task", "Check order", [])]
