"""A person writes formatted text: formats, links to an element, pastes, and reads it back through the API."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Dialog, expect

from tests.browser.artist import OFFICE, Artist
from tests.browser.conftest import DEMO, NARROW, NewVisitor, wait_until
from tests.browser.keyboard import check_focus, is_focused, tab_to
from tests.browser.rich_text_author import FIELD, RichTextAuthor
from tests.elements.rich_text_samples import (
    ATTACKS,
    DOCS,
    DOCS_STORED,
    PAGE,
    PAGE_STORED,
    SHOWN,
    TABLE,
    WORD,
    WORD_STORED,
)

pytestmark = [pytest.mark.long, pytest.mark.browser]
DEPARTMENT = "Research & Development"


@pytest.fixture
def author(visit: NewVisitor, token: str) -> RichTextAuthor:
    return RichTextAuthor(visit("rita"), token)


def test_text_is_typed_and_formatted(author: RichTextAuthor) -> None:
    author.open()
    author.start()
    author.tool("Heading 2").click()
    author.keys.type(DEPARTMENT)
    author.keys.press("Enter")
    author.keys.type("Plans are ")
    author.keys.press("Control+b")
    author.keys.type("important")
    author.keys.press("Control+b")
    author.keys.type(".")
    author.keys.press("Shift+Enter")
    author.keys.type("Second line")
    author.keys.press("Enter")
    author.tool("Bulleted list").click()
    author.keys.type("one")
    author.keys.press("Enter")
    author.tool("Increase level").click()
    author.keys.type("inside")
    author.keys.press("Enter")
    author.keys.press("Enter")
    author.keys.press("Enter")
    author.keys.press("Control+i")
    author.keys.type("end")
    author.save()
    assert author.stored() == (
        "<h2>Research &amp; Development</h2>\n<p>Plans are <strong>important</strong>.<br/>Second line</p>\n"
        "<ul>\n<li>one<ul>\n<li>inside</li>\n</ul></li>\n</ul>\n<p><em>end</em></p>"
    )
    assert author.editor.locator("h2").inner_text() == DEPARTMENT


def test_keys_that_come_before_the_next_frame(author: RichTextAuthor) -> None:
    """On a slow computer, the keys of a fast typist arrive before the browser shows the characters before them."""
    author.open()
    author.start()
    author.page.evaluate("() => { window.requestAnimationFrame = (show) => setTimeout(show, 1000); }")
    author.keys.type("a ")
    author.keys.press("Control+b")
    author.keys.type("b")
    author.keys.press("Control+b")
    author.keys.type(" c ")
    author.tool("Italic").click()
    author.keys.type("d")
    author.keys.press("Enter")
    author.keys.type("e")
    author.keys.press("Backspace")
    author.keys.type("f ")
    author.keys.press("Control+k")
    author.keys.type("https://x.example/")
    author.keys.press("Enter")
    author.save()
    assert author.stored() == (
        '<p>a <strong>b</strong> c <em>d</em></p>\n<p>f <a href="https://x.example/">https://x.example/</a></p>'
    )


@pytest.mark.parametrize("markup", SHOWN)
def test_values_pass_through_the_editor(author: RichTextAuthor, markup: str) -> None:
    """Trix shows each value and gives back the same one. A value that is not changed keeps its form, here a line break
    at the end."""
    author.store(f"{markup}\n")
    author.open()
    assert author.root.locator(".el-rich-note").inner_text() == ""
    author.save()
    assert author.stored() == f"{markup}\n"
    author.editor.evaluate("each => { each.editor.setSelectedRange([0, 0]); each.editor.insertString('x'); }")
    author.save()
    assert author.stored() != f"{markup}\n"
    author.editor.evaluate(
        "each => { each.editor.setSelectedRange([0, 1]); each.editor.deleteInDirection('backward'); }"
    )
    author.save()
    assert author.stored() in (markup, markup.replace(TABLE, f"<p><br/></p>\n{TABLE}", 1))


def test_a_link_leads_to_an_element_by_search(author: RichTextAuthor, token: str) -> None:
    author.open()
    author.start()
    author.keys.type("See ")
    author.keys.press("Control+k")
    field = author.root.get_by_role("combobox")
    assert is_focused(field)
    author.keys.type("Order to cash")
    wait_until(
        author.page, "document.querySelector('.el-rich-link [role=option]')?.textContent.startsWith('Order to cash')"
    )
    author.keys.press("ArrowDown")
    author.keys.press("Enter")
    author.keys.type(" first.")
    author.save()
    stored = author.stored() or ""
    begin, _, rest = stored.partition('"')
    address, _, end = rest.partition('"')
    assert (begin, end) == ("<p>See <a href=", ">Order to cash</a> first.</p>")
    assert address.startswith(f"{author.visitor.base}{DEMO}/1033/processes/")
    author.visitor.open(address)
    assert author.page.locator("h1").inner_text() == "Order to cash"


def test_links_are_typed_changed_and_removed(author: RichTextAuthor) -> None:
    author.store("<p>See page.</p>")
    author.open()
    author.select(4, 8)
    author.tool("Link").click()
    field = author.root.get_by_role("combobox")
    field.fill("nonsense")
    author.keys.press("Enter")
    assert "Choose an element from the list" in author.root.get_by_role("alert").inner_text()
    field.fill("https://x.example/?a=1&b=2")
    author.keys.press("Enter")
    author.save()
    assert author.stored() == '<p>See <a href="https://x.example/?a=1&amp;b=2">page</a>.</p>'
    author.select(6, 6)
    author.tool("Link").click()
    assert field.input_value() == "https://x.example/?a=1&b=2"
    author.root.get_by_role("button", name="Remove link").click()
    author.save()
    assert author.stored() == "<p>See page.</p>"


@pytest.mark.parametrize(
    ("pasted", "stored"),
    [
        ({"text_html": WORD, "text_plain": "Scope"}, WORD_STORED),
        ({"text_html": DOCS, "text_plain": "Bold"}, DOCS_STORED),
        ({"text_plain": "one & two\r\n\r\nthree <b>"}, "<p>one &amp; two</p>\n<p>three &lt;b&gt;</p>"),
        ({"text_plain": DEPARTMENT}, "<p>Research &amp; Development</p>"),
        ({"text_html": PAGE}, PAGE_STORED),
    ],
)
def test_pasted_text_is_cleaned(author: RichTextAuthor, pasted: dict[str, str], stored: str) -> None:
    author.open()
    author.start()
    author.paste(**pasted)
    author.save()
    # The browser reports handlers in pasted text that the policy has blocked.
    author.visitor.faults = [each for each in author.visitor.faults if "inline event handler" not in each]
    assert author.stored() == stored
    assert author.page.evaluate("window.hit") is None


@pytest.mark.parametrize("attack", ATTACKS)
def test_pasted_text_cannot_run(author: RichTextAuthor, attack: str) -> None:
    author.open()
    author.start()
    author.paste(text_html=attack)
    author.page.wait_for_timeout(200)
    assert author.editor.locator("img, a").count() == 0
    assert author.page.evaluate("window.hit") is None
    author.save()
    assert author.page.evaluate("window.hit") is None


def test_a_table_is_kept_and_can_be_removed(author: RichTextAuthor) -> None:
    author.store(f"<p>before</p>{TABLE}<p>after</p>")
    author.open()
    assert author.editor.locator("td").inner_text() == "1 > 0"
    author.select(6, 6)
    author.keys.type(" it")
    author.save()
    assert author.stored() == f"<p>before it</p>\n{TABLE}\n<p>after</p>"
    author.start()
    author.editor.locator("td").click()
    author.editor.get_by_role("button", name="Remove").click()
    author.save()
    assert author.stored() == "<p>before it</p>\n<p><br/></p>\n<p>after</p>"


def test_the_source_can_be_edited(author: RichTextAuthor) -> None:
    author.store("<p>text</p>")
    author.open()
    author.start()
    author.keys.press("End")
    author.keys.type("!")
    author.root.get_by_role("button", name="Edit source").click()
    wait_until(author.page, f"document.activeElement.name === '{FIELD}'")
    assert author.area.input_value() == "<p>text!</p>"
    author.area.fill("<p>text!</p>\n<p>more")
    author.root.get_by_role("button", name="Edit formatted text").click()
    note = author.root.locator(".el-rich-note")
    note.filter(has_text="line 2, column 1: the element p is not closed").wait_for()
    author.area.fill("<p>text!</p><p>more</p>")
    author.root.get_by_role("button", name="Edit formatted text").click()
    author.editor.filter(has_text="more").wait_for()
    assert note.inner_text() == ""
    author.save()
    assert author.stored() == "<p>text!</p><p>more</p>"
    author.root.get_by_role("button", name="Edit source").click()
    author.area.fill("<p class='x'>a</p>")
    author.save()
    assert author.stored() == "<p class='x'>a</p>"
    assert "the attribute class of the element p" in note.inner_text()
    assert (author.area.is_visible(), author.editor.is_visible()) == (True, False)


def test_the_editor_works_by_keyboard(author: RichTextAuthor) -> None:
    author.store("<ul><li>one</li><li>two</li></ul>")
    author.open()
    first = author.root.get_by_role("toolbar").get_by_role("button").first
    tab_to(author.visitor, first)
    author.keys.press("ArrowRight")
    check_focus(author.tool("Italic"))
    author.keys.press("End")
    author.keys.press("Home")
    author.keys.press("Tab")
    assert is_focused(author.editor)
    assert author.editor.get_attribute("aria-label") == "English – Description"
    # Tab leaves the editor, also in a list.
    author.keys.press("Control+End")
    author.keys.press("Tab")
    assert is_focused(author.root.get_by_role("button", name="Edit source"))
    author.keys.press("Shift+Tab")
    author.keys.press("Control+a")
    author.keys.press("Shift+Tab")
    assert is_focused(first)
    author.keys.press("Enter")
    expect(first).to_have_attribute("aria-pressed", "true")
    author.save()
    assert author.stored() == "<ul>\n<li><strong>one</strong></li>\n<li><strong>two</strong></li>\n</ul>"


def test_escape_closes_the_list_and_then_the_link(author: RichTextAuthor) -> None:
    author.open()
    author.start()
    author.keys.press("Control+k")
    author.root.get_by_role("option").first.wait_for()
    author.keys.press("Escape")
    assert author.root.get_by_role("option").count() == 0
    assert is_focused(author.root.get_by_role("combobox"))
    author.keys.press("Escape")
    assert is_focused(author.editor)
    assert author.tool("Link").get_attribute("aria-expanded") == "false"


def test_the_form_is_accessible_in_all_looks(author: RichTextAuthor) -> None:
    author.store(f'<h2>a</h2>{TABLE}<ul><li>b <a href="https://x.example">c</a></li></ul><blockquote>d</blockquote>')
    author.open()
    for number in (0, 1):
        author.visitor.check_looks(number)
    author.start()
    author.keys.press("Control+k")
    author.root.get_by_role("option").first.wait_for()
    author.visitor.check_looks(0)
    author.store("<p class='x'>a</p>")
    author.open()
    author.page.set_viewport_size(NARROW)
    author.visitor.check_looks(1)


def test_without_scripts_the_source_is_edited(visit: NewVisitor, token: str) -> None:
    author = RichTextAuthor(visit("rita", java_script_enabled=False), token)
    author.store("<p>a</p>")
    author.visitor.open(f"{OFFICE}/elements/element/{author.process}/edit/")
    author.area.fill(DEPARTMENT)
    author.visitor.follow(author.page.locator("[name=_continue]"))
    assert author.stored() == "Research &amp; Development"


def test_a_conflict_keeps_what_was_typed(author: RichTextAuthor) -> None:
    author.store("<p>a</p>")
    author.open()
    author.store("<p>theirs</p>")
    author.start()
    author.keys.press("End")
    author.keys.type(" & mine")
    author.visitor.expected.add(412)
    author.save()
    assert author.editor.inner_text().strip() == "a & mine"
    assert "theirs" in author.page.locator(".el-conflict").inner_text()
    author.save()
    assert author.stored() == "<p>a &amp; mine</p>"


def test_leaving_a_changed_text_is_noticed(author: RichTextAuthor) -> None:
    author.open()
    author.start()
    author.keys.type("a")
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    author.page.on("dialog", accept)
    author.page.goto(f"{author.visitor.base}{OFFICE}/")
    assert asked == ["beforeunload"]


def test_an_ampersand_in_the_editor_of_diagrams(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita"), token)
    artist.open()
    artist.begin(DEPARTMENT)
    artist.save()
    assert [name for _, name, _ in artist.stored()] == [DEPARTMENT]
    artist.open()
    assert [row[1] for row in artist.rows()] == [DEPARTMENT]
    assert DEPARTMENT in json.dumps(artist.get(f"diagram/elements/{artist.process}/content"))
