"""Takes the pictures of the documentation: `make screenshots` starts a demo and opens its main pages."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize, sync_playwright

from repository_site.core.environment import PROJECT_DIR
from tests.browser.artist import Artist, draw_order
from tests.browser.conftest import CHROMIUM, DEMO, FLAGS, NARROW, Visitor, prepared_site
from tests.browser.stuck_task import stuck_request
from tests.server_process import DataFolders, Server

IMAGES = PROJECT_DIR / "docs/images"
OFFICE = f"{DEMO}/admin"
SIZE, PAGE = ViewportSize(width=1280, height=860), ViewportSize(width=1280, height=1500)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = prepared_site(Path(folder), DataFolders(Path(folder)))
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            token = json.loads((server.data_dir / "demo-credentials.json").read_text())["token"]
            stuck_request(server, token)
            base = f"http://127.0.0.1:{server.port}"
            take_office(Visitor(browser.new_context(viewport=SIZE).new_page(), base), server, token)
            take_editor(Visitor(browser.new_context(viewport=SIZE).new_page(), base), token)
            take_reader(Visitor(browser.new_context(viewport=PAGE).new_page(), base), "reader")
            take_reader(Visitor(browser.new_context(viewport=NARROW).new_page(), base), "reader-phone")
            browser.close()
        finally:
            server.ctrl_c()


def take_office(visitor: Visitor, server: Server, token: str) -> None:
    visitor.sign_in("root", DEMO)
    for name, path in {
        "overview": f"{OFFICE}/",
        "elements": f"{OFFICE}/elements/element/",
        "element": element_page(server, token, "Carbon footprint per bicycle", "kpi"),
        "tasks": f"{OFFICE}/release/task/",
        "token": f"{OFFICE}/storage/apitoken/issue/",
        "site": "/admin/",
    }.items():
        visitor.open(path)
        save(visitor.page, name)
    visitor.open(f"{OFFICE}/facets/elementtype/?q=mainProcess")
    visitor.follow(visitor.page.get_by_role("link", name="mainProcess", exact=True))
    save(visitor.page, "type")
    visitor.page.locator("input[name='display_names-1033']").first.fill("Core process")
    visitor.follow(visitor.page.locator("button[name=_save]").first)
    visitor.open(f"{OFFICE}/configuration/compare/")
    save(visitor.page, "compare")


def take_editor(visitor: Visitor, token: str) -> None:
    visitor.sign_in("root", DEMO)
    artist = Artist(visitor, token)
    draw_order(artist)
    save(visitor.page, "steps")


def take_reader(visitor: Visitor, name: str) -> None:
    visitor.open(f"{DEMO}/1033/search?q=assemble+bicycle")
    visitor.follow(visitor.page.locator("main").get_by_role("link", name="Assemble bicycle", exact=True))
    save(visitor.page, name)


def element_page(server: Server, token: str, name: str, facet: str) -> str:
    address = f"{DEMO}/_api/rest/facets/{facet}/views/detail/elements?$filter=name%20-eq%20'{name.replace(' ', '%20')}'"
    answer: Any = server.request("GET", address, None, {"Authorization": f"Bearer {token}"})[1]
    return f"{OFFICE}/elements/element/{answer['elements'][0]['id']}/change/"


def save(page: Page, name: str) -> None:
    page.wait_for_timeout(700)  # wait for the animation of charts
    page.screenshot(path=IMAGES / f"{name}.png")
    sys.stderr.write(f"docs/images/{name}.png\n")


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    main()
