"""A person who writes formatted text in the form of a process."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator

from tests.browser.artist import OFFICE, Artist
from tests.browser.conftest import Visitor
from tests.elements.rich_text_samples import DECLARATION

FIELD = "a-description-1033"
PASTE = """([editor, types]) => {
  const transfer = new DataTransfer();
  for (const [type, text] of Object.entries(types)) transfer.setData(type, text);
  editor.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
}"""


class RichTextAuthor:
    """A person at the form of a new process; `root` is the field of its English description."""

    def __init__(self, visitor: Visitor, token: str) -> None:
        self.artist = Artist(visitor, token)
        self.visitor, self.page, self.keys = visitor, visitor.page, visitor.page.keyboard
        self.process = self.artist.process
        self.root = self.page.locator(f".el-rich[data-name={FIELD}]")
        self.editor = self.root.locator("trix-editor")
        self.area = self.root.locator("textarea")

    def store(self, markup: str) -> None:
        element = {"id": self.process, "attributes": {"description": {"1033": DECLARATION + markup}}}
        self.artist.send("POST", "detail/elements", {"elements": [element]})

    def stored(self) -> str | None:
        """The value that the API returns, without its declaration."""
        element = self.artist.get(f"detail/elements/{self.process}")["elements"][0]
        value = element["attributes"].get("description", {}).get("1033")
        return None if value is None else str(value).removeprefix(DECLARATION)

    def open(self) -> None:
        self.page.goto(f"{self.visitor.base}{OFFICE}/elements/element/{self.process}/edit/", wait_until="load")
        self.editor.wait_for(state="attached")

    def start(self) -> None:
        self.editor.click()

    def tool(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def paste(self, **types: str) -> None:
        """Paste these types of content; `_` means `/`."""
        given: dict[str, Any] = {type.replace("_", "/"): text for type, text in types.items()}
        self.page.evaluate(PASTE, [self.editor.element_handle(), given])

    def select(self, start: int, end: int) -> None:
        self.editor.evaluate("(each, range) => { each.focus(); each.editor.setSelectedRange(range); }", [start, end])

    def save(self) -> None:
        with self.page.expect_navigation(wait_until="load"):
            self.page.locator("[name=_continue]").click()
        self.editor.wait_for(state="attached")
