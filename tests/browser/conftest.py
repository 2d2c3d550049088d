"""A real browser with a real server. Every logged error and every failed request of a page fails the test."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Request,
    Response,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.browser.world import PASSWORD
from tests.scale import IS_FULL
from tests.server_process import DataFolders, Server, free_port

# The headless shell takes half the time of chromium.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
REQUIRED = "REPOSITORY_BROWSER_REQUIRED"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
# Pages answer later on a busy machine; the default is 5 s.
expect.set_options(timeout=60_000)
DEMO = "/demo/showcase"
LONG_PAGE = 700
"""Number of HTML elements."""
WIDE, NARROW = ViewportSize(width=1400, height=1000), ViewportSize(width=390, height=844)
# Sizes of the screen, and whether it is dark.
LOOKS = ((WIDE, False), (NARROW, True), (WIDE, True), (NARROW, False))


def prepared_site(folder: Path, data_folders: DataFolders) -> Server:
    """A server with the demo storage and the people of `world`."""
    server = Server(folder / "var", free_port())
    server.environ.pop("REPOSITORY_BODY_LIMIT")
    # The identity provider of a test.
    server.environ["REPOSITORY_WEBHOOK_NETWORKS"] = "127.0.0.0/8"
    data_folders.copy(server.data_dir, "demo", "--no-serve")
    built = server.manage("shell", "-v", "0", "-c", "from tests.browser.world import build; build()")
    assert built.returncode == 0, built.stderr
    server.start("serve", "--workers", "1")
    return server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Server]:
    server = prepared_site(tmp_path_factory.mktemp("browser"), data_folders)
    yield server
    server.ctrl_c()


@pytest.fixture(scope="session")
def token(site: Server) -> str:
    """Token of an administrator of the demo storage."""
    return str(json.loads((site.data_dir / "demo-credentials.json").read_text())["token"])


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser for this package alone: it runs an event loop, in which Django's database cannot be used."""
    if CHROMIUM is None:
        if os.environ.get(REQUIRED):
            pytest.fail("There is no chromium; `make browser` installs it.")
        pytest.skip("NO BROWSER: there is no chromium on this machine; `make browser` installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Visitor:
    """A person with a browser."""

    page: Page
    base: str
    expected: set[int] = field(default_factory=set)
    """Expected error statuses."""
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self._note(message.type == "error", f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self._note(True, f"script: {error}"))
        self.page.on("requestfailed", self._note_failure)
        self.page.on("response", self._note_status)

    def open(self, path: str) -> Response:
        response = self.page.goto(self.base + path if path.startswith("/") else path)
        assert response is not None
        self.settle()
        return response

    def settle(self) -> None:
        """Wait until the page and the parts that it asks for are loaded. The state `networkidle` needs half a second
        without any request, which takes too long on a busy machine."""
        self.page.wait_for_load_state()
        expect(self.page.locator(".htmx-request")).to_have_count(0)

    def follow(self, target: Locator) -> None:
        """Click a link or button, and wait for the next page."""
        with self.page.expect_navigation():
            target.click()
        self.settle()

    def sign_in(self, name: str, at: str) -> None:
        self.open(f"{at}/admin/login/")
        self.page.locator("input[name=username]").fill(name)
        self.page.locator("input[name=password]").fill(PASSWORD)
        self.follow(self.page.locator("button[type=submit]"))

    def check_accessibility(self, *, contrast_only: bool = False) -> None:
        """Fail for findings of axe-core, with the first place of each.

        Contrast on long pages, whose rows are alike, is checked in a full run only, because it takes most of the time.
        """
        has_contrast = IS_FULL or self.page.evaluate("document.querySelectorAll('*').length") <= LONG_PAGE
        if contrast_only and not has_contrast:
            return
        options: dict[str, Any] = {
            "resultTypes": ["violations"],
            "rules": {"color-contrast": {"enabled": has_contrast}},
        }
        if contrast_only:
            options["runOnly"] = ["color-contrast"]
        found = Axe().run(self.page, options=options).response["violations"]
        texts = [f"{each['id']}: {each['help']}: {each['nodes'][0]['html']}" for each in found]
        assert not found, "\n".join([self.page.url, *texts])

    def check_looks(self, number: int) -> None:
        """Check a page wide and light or, if its number is odd, narrow and dark; in a full run in all four looks. No
        page scrolls sideways."""
        for place, (size, is_dark) in enumerate(LOOKS if IS_FULL else LOOKS[:2]):
            self.page.set_viewport_size(size)
            self._darken(is_dark)
            if IS_FULL or place == number % 2:
                self.check_accessibility()
            widths = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert widths[0] <= widths[1], f"{self.page.url} is {widths[0]} pixels wide on a screen of {widths[1]}."
        self.page.set_viewport_size(WIDE)
        self._darken(False)

    def _darken(self, is_dark: bool) -> None:
        self.page.emulate_media(color_scheme="dark" if is_dark else "light")
        # The theme of the back office asks for the scheme only while a page loads.
        self.page.evaluate(
            "isDark => document.querySelector('html[x-data]')?.classList.toggle('dark', isDark)", is_dark
        )

    def _note_failure(self, request: Request) -> None:
        """Leaving a page while it loads aborts its requests, and other sites that the demo links do not exist; neither
        is a fault."""
        is_ours = request.url.startswith(self.base)
        self._note(is_ours and "ERR_ABORTED" not in str(request.failure), f"failed: {request.url}")

    def _note_status(self, response: Response) -> None:
        self._note(response.status >= 400 and response.status not in self.expected, f"{response.status} {response.url}")

    def _note(self, is_fault: bool, text: str) -> None:
        # The browser logs the status of a failed response again; note it only once, with its address.
        if is_fault and "Failed to load resource" not in text:
            self.faults.append(text)


NewVisitor = Callable[..., Visitor]


@pytest.fixture(scope="package")
def people() -> dict[str, BrowserContext]:
    """Contexts of signed-in visitors, kept with their sessions and cached files."""
    return {}


@pytest.fixture
def visit(browser: Browser, site: Server, people: dict[str, BrowserContext]) -> Iterator[NewVisitor]:
    """Make visitors: `visit("rita", at="/demo/showcase")` is signed in there, `visit()` is anonymous. Options start a
    separate browser context."""
    visitors: list[Visitor] = []

    def make(name: str | None = None, at: str = DEMO, **options: Any) -> Visitor:
        known = people.get(name or "") if not options else None
        context = known or browser.new_context(**{"viewport": WIDE, "locale": "en-GB", **options})
        context.set_default_timeout(60_000)
        visitor = Visitor(context.new_page(), f"http://127.0.0.1:{site.port}")
        visitors.append(visitor)
        if name is not None and known is None:
            visitor.sign_in(name, at)
            if not options:
                people[name] = context
        return visitor

    yield make
    faults = [fault for visitor in visitors for fault in visitor.faults]
    for visitor in visitors:
        visitor.page.close()
        if visitor.page.context not in people.values():
            visitor.page.context.close()
    assert faults == []


def wait_until(page: Page, condition: str) -> None:
    """Wait for a condition; the policy of pages forbids the evaluation inside `wait_for_function`."""
    deadline = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(50)
