"""Pictures of diagrams on pages: layouts, zoom, full screen, keyboard, phones, downloads, and two versions compared."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Download, Locator, Page

from tests.browser.conftest import DEMO, NARROW, NewVisitor, Visitor, wait_until
from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.browser]
NAME = "Assemble bicycle"
TOLERANCE = 2
"""Pixels by which a rounded size may differ."""
COMPARED, NEW_STEP = "Conduct%20internal%20audit", "Check kit"


def open_process(reader: Visitor, layout: str = "", name: str = NAME) -> Page:
    reader.open(f"{DEMO}/1033/search?q={name.replace(' ', '+')}")
    reader.follow(reader.page.locator("main").get_by_role("link", name=name, exact=True))
    if layout:
        reader.open(f"{reader.page.url}?layout={layout}")
    return reader.page


def width(page: Page) -> float:
    return float(page.locator(".dg-view > svg").evaluate("svg => svg.getBoundingClientRect().width"))


def natural_size(page: Page) -> tuple[float, float]:
    *_, wide, high = (page.locator(".dg-view > svg").get_attribute("viewBox") or "").split()
    return float(wide), float(high)


def is_scrolled(view: Locator) -> bool:
    return bool(view.evaluate("view => view.scrollWidth > view.clientWidth || view.scrollHeight > view.clientHeight"))


def saved(download: Download, folder: Path) -> Path:
    path = folder / download.suggested_filename
    download.save_as(path)
    return path


def test_tools_zoom_and_fit(visit: NewVisitor) -> None:
    page = open_process(visit())
    tools, view = page.get_by_role("group", name="Tools of the picture"), page.locator(".dg-view")
    tools.get_by_role("button", name="Actual size").click()
    actual, _ = natural_size(page)
    assert width(page) == pytest.approx(actual, abs=TOLERANCE)
    tools.get_by_role("button", name="Zoom in").click()
    assert width(page) == pytest.approx(actual * 1.25, abs=TOLERANCE)
    assert is_scrolled(view)
    tools.get_by_role("button", name="Fit").click()
    assert not is_scrolled(view)
    fitting = width(page)
    tools.get_by_role("button", name="Zoom out").click()
    assert width(page) == pytest.approx(fitting / 1.25, abs=TOLERANCE)


def test_keys_zoom_fit_and_scroll(visit: NewVisitor) -> None:
    page = open_process(visit())
    view = page.get_by_role("group", name="Diagram, can be scrolled and zoomed")
    view.focus()
    page.keyboard.press("1")
    actual, _ = natural_size(page)
    assert width(page) == pytest.approx(actual, abs=TOLERANCE)
    page.keyboard.press("+")
    assert width(page) == pytest.approx(actual * 1.25, abs=TOLERANCE)
    before = view.evaluate("view => view.scrollTop")
    page.keyboard.press("ArrowDown")
    wait_until(page, f"document.querySelector('.dg-view').scrollTop > {before}")
    page.keyboard.press("-")
    assert width(page) == pytest.approx(actual, abs=TOLERANCE)
    page.keyboard.press("0")
    assert not is_scrolled(view)
    # Combined with a modifier, the keys belong to the browser.
    fitting = width(page)
    page.keyboard.press("Control+1")
    assert width(page) == fitting


def test_full_screen_shows_the_whole_picture(visit: NewVisitor) -> None:
    page = open_process(visit())
    page.locator(".dg-view").focus()
    page.keyboard.press("f")
    wait_until(page, "document.fullscreenElement?.matches('[data-diagram]')")
    wait_until(page, "document.querySelector('.dg-view').getBoundingClientRect().height > innerHeight * 0.8")
    assert not is_scrolled(page.locator(".dg-view"))
    page.get_by_role("button", name="Full screen").click()
    wait_until(page, "document.fullscreenElement === null")


def test_the_mouse_moves_the_picture_without_following_a_link(visit: NewVisitor) -> None:
    page = open_process(visit())
    view = page.locator(".dg-view")
    view.focus()
    for _ in range(4):
        page.keyboard.press("+")
    step = page.locator("svg a", has_text="Provide parts")
    step.scroll_into_view_if_needed()
    box, address, before = step.bounding_box(), page.url, view.evaluate("view => view.scrollTop")
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 60, steps=4)
    page.mouse.up()
    assert view.evaluate("view => view.scrollTop") == before + 60
    page.wait_for_timeout(100)
    assert page.url == address
    step.click()
    page.wait_for_url(lambda url: url != address)


def test_every_layout_can_be_chosen(visit: NewVisitor) -> None:
    reader = visit()
    page = open_process(reader)
    ways = page.get_by_role("navigation", name="How the diagram is drawn")
    texts = ways.get_by_role("link").all_inner_texts()
    pictures = {}
    for text in texts:
        reader.follow(ways.get_by_role("link", name=text, exact=True))
        assert ways.locator("[aria-current=true]").all_inner_texts() == [text]
        assert page.locator("svg", has_text="Provide parts").count() == 1
        pictures[text] = page.locator(".dg-view > svg").inner_html()
    assert texts == [
        "Detailed",
        "Top to bottom",
        "Left to right",
        "Lanes side by side",
        "Lanes below each other",
        "As drawn",
        "Matrix",
    ]
    # Nothing in the demo was drawn by hand, so that `As drawn` is computed.
    assert len(set(pictures.values())) >= len(texts) - 1
    reader.check_accessibility()


def test_downloads(visit: NewVisitor, tmp_path: Path) -> None:
    page = open_process(visit(), "vertical")
    with page.expect_download() as drawn:
        page.get_by_role("link", name="SVG").click()
    svg = saved(drawn.value, tmp_path)
    root = ElementTree.fromstring(svg.read_bytes())
    assert (svg.name, root.tag) == ("Assemble-bicycle.svg", "{http://www.w3.org/2000/svg}svg")
    assert "Provide parts" in "".join(root.itertext())
    with page.expect_download() as painted:
        page.get_by_role("button", name="PNG").click()
    png = saved(painted.value, tmp_path)
    content = png.read_bytes()
    assert (png.name, content[:8]) == ("Assemble-bicycle.png", b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", content[16:24]) == tuple(2 * side for side in natural_size(page))


def test_the_downloaded_picture_is_not_empty_and_light_in_the_dark(visit: NewVisitor, tmp_path: Path) -> None:
    page = open_process(visit(color_scheme="dark"), "vertical")
    with page.expect_download() as painted:
        page.get_by_role("button", name="PNG").click()
    png = saved(painted.value, tmp_path).read_bytes()
    corner, colors = page.evaluate(COLORS, list(png))
    assert corner == [255, 255, 255, 255]
    assert colors > 10


COLORS = """async (bytes) => {
  const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: "image/png" }));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const data = new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer);
  return [Array.from(canvas.getImageData(0, 0, 1, 1).data), new Set(data).size];
}"""


@pytest.mark.parametrize("layout", ["detailed", "horizontalSwimlane", "processMatrix"])
def test_a_phone_scrolls_the_picture_and_not_the_page(visit: NewVisitor, layout: str) -> None:
    reader = visit(viewport=NARROW, has_touch=True, is_mobile=True)
    page = open_process(reader, layout)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert is_scrolled(page.locator(".dg-view"))
    # Texts of 13 pixels stay readable.
    assert width(page) >= natural_size(page)[0] * 0.6 - TOLERANCE
    reader.check_accessibility()


def test_a_printed_picture_fits_the_page(visit: NewVisitor) -> None:
    page = open_process(visit(), "horizontal")
    page.locator(".dg-view").focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.emulate_media(media="print")
    assert not page.locator(".dg-bar").is_visible()
    sides = page.evaluate(
        """() => [document.querySelector('.dg-view > svg').getBoundingClientRect().width,
        document.querySelector('.dg-view').getBoundingClientRect().width]"""
    )
    assert sides[0] <= sides[1]


def test_a_printed_picture_fits_a_page_in_landscape(visit: NewVisitor) -> None:
    page = open_process(visit(), "vertical")
    page.set_viewport_size({"width": 1000, "height": 600})
    page.emulate_media(media="print")
    assert natural_size(page)[1] > 600
    assert page.locator(".dg-view > svg").evaluate("svg => svg.getBoundingClientRect().height") <= 600


PAGE = re.compile(rb"/MediaBox ?\[0 0 ([0-9.]+) ([0-9.]+)\]")


def printed(page: Page) -> list[bool]:
    """Print a page on A4, and return for each sheet whether it is in landscape."""
    sheets = PAGE.findall(page.pdf(format="A4", prefer_css_page_size=True))
    return [float(width) > float(height) for width, height in sheets]


def test_a_wide_picture_is_printed_in_landscape(visit: NewVisitor) -> None:
    reader = visit()
    assert not any(printed(open_process(reader, "vertical")))
    page = open_process(reader, "horizontal")
    assert printed(page).count(True) == 1
    # The heading is on the same sheet.
    page.emulate_media(media="print")
    assert page.locator("#diagram").evaluate("each => getComputedStyle(each).page") == "wide"


def test_printed_pages_of_the_back_office_have_no_navigation(visit: NewVisitor) -> None:
    editor = visit("rita")
    reader = open_process(editor)
    page = editor.page
    editor.open(f"{DEMO}/admin/elements/element/{reader.url.rpartition('/')[2].partition('?')[0]}/change/")
    editor.open(f"{page.url}&tab=diagram")
    page.evaluate("document.documentElement.classList.add('dark')")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.evaluate("document.documentElement.classList.contains('dark')")
    for hidden in ("#nav-sidebar", "#header-inner", ".el-tabs", ".dg-bar", ".el-offers", ".el-subscription"):
        found = page.locator(hidden).first
        assert (found.count(), found.is_visible()) == (1, False), hidden
    assert page.locator(".dg-view > svg").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.classList.contains('dark')")


def test_pictures_without_scripts(visit: NewVisitor) -> None:
    page = open_process(visit(java_script_enabled=False), name="Recruit employees")
    assert page.locator(".dg-view svg .shape").first.is_visible()
    assert page.get_by_role("link", name="SVG").is_visible()
    assert not page.get_by_role("group", name="Tools of the picture").is_visible()


def test_a_comparison_marks_what_a_draft_changes(visit: NewVisitor, site: Server, token: str) -> None:
    process = draft_with_a_new_step(site, token)
    editor = visit("rita")
    editor.open(f"{DEMO}/admin/elements/element/{process}/change/?tab=versions")
    page = editor.page
    page.locator("input[name=old]").nth(1).check()
    page.locator("input[name=new]").first.check()
    editor.follow(page.locator(".el-submit button", has_text="Compare"))
    picture = page.locator(".dg-view > svg")
    assert [" ".join(each.split()) for each in picture.locator(".shape.added text").all_text_contents()] == [NEW_STEP]
    assert picture.locator(".shape.removed, .shape.changed").count() == 0
    assert (picture.locator("g.flow.added path").count(), picture.locator("g.flow.removed path").count()) == (2, 1)
    page.get_by_role("button", name="Fit").click()
    assert not is_scrolled(page.locator(".dg-view"))
    editor.check_accessibility()


def draft_with_a_new_step(site: Server, token: str) -> str:
    """Create a version of a process, insert a step after its first shape, and return the id of the process."""

    def send(method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        status, answer = site.request(method, f"{DEMO}/_api/rest/{path}", sent, headers)
        assert status == 200, answer
        return answer

    [found] = send("GET", f"facets/processes/views/detail/elements?$filter=name%20-eq%20'{COMPARED}'")["elements"]
    send("POST", f"release/{found['id']}/createversion")
    content = f"facets/processes/views/diagram/elements/{found['id']}/content"
    shapes = [each["properties"] for each in send("GET", content)["elements"]]
    first = next(each["shapeId"] for each in shapes if not each["predecessors"])
    [second] = [
        each["shapeId"] for each in shapes if first in [it["properties"]["shapeId"] for it in each["predecessors"]]
    ]
    step = {"type": "task", "attributes": {"name": {"1033": NEW_STEP}}}
    send("POST", content, {"values": [
        {"shapeInfo": {"index": 0, "predecessors": [first]}, "element": step},
        {"shapeInfo": {"index": 1, "id": second, "predecessors": [0], "replacePredecessors": True}},
    ]})  # fmt: skip
    return str(found["id"])
