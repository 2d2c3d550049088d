"""A person who draws a process by keyboard."""

from __future__ import annotations

from typing import Any

from tests.browser.conftest import DEMO, Visitor

OFFICE = f"{DEMO}/admin"
FACET = f"{DEMO}/_api/rest/facets/processes/views"
Wire = dict[str, Any]


class Artist:
    """A person at the editor of one process, who uses the keyboard only."""

    def __init__(self, visitor: Visitor, token: str) -> None:
        self.visitor, self.page, self.keys = visitor, visitor.page, visitor.page.keyboard
        self.headers = {"Authorization": f"Bearer {token}"}
        parent = self.get("detail/elements?$filter=type -eq 'subCategory'&$page=1&$pageSize=1")["elements"][0]["id"]
        names = {"1031": "Auftrag bis Zahlung", "1033": "Order to cash"}
        made = {"type": "mainProcess", "attributes": {"name": names}, "rootPath": [{"id": parent}]}
        self.process = self.send("POST", "detail/elements", {"elements": [made]})["elements"][0]["id"]

    def get(self, path: str) -> Any:
        response = self.page.request.get(f"{self.visitor.base}{FACET}/{path}", headers=self.headers)
        assert response.ok, response.text()
        return response.json()

    def send(self, method: str, path: str, body: Wire) -> Any:
        address = f"{self.visitor.base}{FACET}/{path}"
        response = self.page.request.fetch(address, method=method, data=body, headers=self.headers)
        assert response.ok, response.text()
        return response.json()

    def open(self) -> None:
        self.visitor.open(f"{OFFICE}/elements/element/{self.process}/steps/")

    def begin(self, name: str) -> None:
        self.page.locator("[data-do=add]").focus()
        self.keys.press("Enter")
        self.keys.type(name)

    def step(self, name: str, key: str = "Enter", type: str = "") -> None:
        self.keys.press(key)
        self.keys.type(name)
        if type:
            # Back to the type, choose it by its first letters, and to the name again.
            self.keys.press("Escape")
            self.keys.press("Shift+Tab")
            self.keys.type(type)
            self.keys.press("Escape")
            self.keys.press("Tab")

    def rows(self) -> list[tuple[str, str, str]]:
        """Type, name and predecessors of each row."""
        cells = "[...document.querySelectorAll('.st-row')].map(row => ['type', 'name', 'before'].map(cell => row.querySelector(`.st-${cell}`).value))"
        return [tuple(each) for each in self.page.evaluate(cells)]

    def save(self) -> None:
        with self.page.expect_navigation():
            self.keys.press("Control+s")
        self.visitor.settle()

    def stored(self) -> list[tuple[str, str, list[str]]]:
        """Type, name and names of the predecessors of each shape, as the API returns them."""
        found = self.get(f"diagram/elements/{self.process}/content")["elements"]
        names = {each["properties"]["shapeId"]: each["attributes"]["name"].get("1033", "") for each in found}
        return [
            (
                each["type"],
                names[each["properties"]["shapeId"]],
                [names[before["properties"]["shapeId"]] for before in each["properties"]["predecessors"]],
            )
            for each in found
        ]


def draw_order(artist: Artist) -> None:
    """Twelve steps with two branches and a loop."""
    artist.open()
    artist.begin("Order received")
    artist.step("Check order")
    artist.step("Complete?", type="XOR")
    artist.step("Ask customer")
    artist.step("Reserve stock", key="Control+Enter")
    artist.step("In stock?", type="XOR")
    artist.step("Pick goods")
    artist.step("Pack goods")
    artist.step("Order parts", key="Control+Enter")
    artist.step("Ship")
    artist.keys.press("Shift+Tab")
    artist.step("Invoice")
    artist.step("Order closed", type="End")


def names(artist: Artist) -> list[str]:
    return [name for _, name, _ in artist.rows()]


def leave(artist: Artist) -> None:
    """Leave without saving, so that the next page opens."""
    artist.page.on("dialog", lambda dialog: dialog.accept())
    artist.open()
