"""A page of another origin calls the API from a real browser, once its origin is allowed (D576)."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.browser.conftest import DEMO, NewVisitor
from tests.browser.world import ROOT

pytestmark = [pytest.mark.long, pytest.mark.browser]
# Calls that need a preflight request. A browser refuses what is not allowed with a TypeError.
CALL = """async ([address, token]) => {
    const headers = {Authorization: `Bearer ${token}`, "Content-Type": "application/json", Prefer: "return=minimal"};
    try {
        const found = await fetch(`${address}/query`, {method: "POST", headers, body: '{"pageSize": 0}'});
        const wrong = await fetch(address, {headers: {Authorization: "Bearer wrong"}});
        const text = await wrong.json();
        return [found.status, Number(found.headers.get("X-Total-Count")) > 0, wrong.status, text.type];
    } catch (problem) { return problem.name; }
}"""


class App(BaseHTTPRequestHandler):
    """A web page of another origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>App</title><link rel=icon href=data:,>")

    def log_message(self, *args: Any) -> None:
        """Write nothing."""


@pytest.fixture
def app() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), App) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_of_an_allowed_origin_calls_the_api(visit: NewVisitor, app: str, token: str) -> None:
    stranger = visit(locale="en-US")
    stranger.expected |= {401, 405}
    stranger.page.goto(f"{app}/")
    asked: list[Any] = [f"{stranger.base}{DEMO}/_api/rest/facets/processes/views/list/elements", token]
    assert stranger.page.evaluate(CALL, asked) == "TypeError"
    # The browser reports the refused call.
    stranger.faults.clear()
    root = visit(ROOT, at="")
    root.open("/admin/storage/storage/")
    root.follow(root.page.get_by_role("link", name="demo/showcase").first)
    origins = root.page.get_by_label("Web pages of other origins")
    origins.fill(app)
    root.check_looks(0)
    root.follow(root.page.get_by_role("button", name="Save", exact=True))
    assert stranger.page.evaluate(CALL, asked) == [200, True, 401, "unauthorized"]
