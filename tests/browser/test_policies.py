"""The content security policy (D148) in a real browser: no page violates it, and the theme still works."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import DEMO, NewVisitor, Visitor
from tests.scale import only_at_full_scale

pytestmark = [pytest.mark.long, pytest.mark.browser]
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")
# Signing out would end the walk; the others are not pages.
LEFT_OUT = re.compile(r"/logout/|/_api(/|$)|/static/|/export/")
# Pages with forms, filters, sortable tables, charts and pictures; the walk follows their links.
STORAGE_PAGES = [
    f"{DEMO}/admin/{page}"
    for page in ("", "storage/apitoken/", "storage/apitoken/add/", "elements/element/", "facets/elementtype/")
]
SITE_PAGES = ["/admin/", "/admin/storage/storage/add/", "/admin/storage/staffaccount/", "/admin/storage/failedsignin/"]
# In a timer, because code that a test evaluates directly may do more than a page.
BROKEN = """() => new Promise((done) => setTimeout(() => {
  const script = document.createElement("script");
  script.textContent = "window.injected = true";
  document.body.append(script);
  const button = document.createElement("button");
  button.setAttribute("onclick", "window.injected = true");
  button.click();
  let evaluated = "allowed";
  try { new Function("return 1")(); } catch (problem) { evaluated = problem.name; }
  done([Boolean(window.injected), evaluated]);
}))"""


def walk(visitor: Visitor, *starts: str, most: int) -> list[str]:
    """Open one page of each kind and return the kinds."""
    waiting, seen = list(starts), list[str]()
    while waiting and len(seen) < most:
        address = waiting.pop(0)
        kind = ID.sub("*", urlsplit(address).path)
        if kind in seen:
            continue
        seen.append(kind)
        response = visitor.page.goto(visitor.base + address, wait_until="load")
        assert response is not None
        policy = response.headers["content-security-policy"]
        assert "script-src 'self';" in policy, address
        assert "unsafe-eval" not in policy
        found = visitor.page.eval_on_selector_all(
            "a[href]", "links => links.map(link => link.href).filter(href => href.startsWith(location.origin))"
        )
        waiting += [href.removeprefix(visitor.base) for href in found if not LEFT_OUT.search(href)]
    return seen


def test_reader_pages_and_signing_in(visit: NewVisitor) -> None:
    reader = visit()
    reader.expected |= {404}
    starts = [f"{DEMO}/", "/admin/login/", f"{DEMO}/admin/login/", f"{DEMO}/nothing/", "/nothing/"]
    assert len(walk(reader, *starts, most=8)) == 8


@only_at_full_scale
def test_the_back_office_of_a_storage(visit: NewVisitor) -> None:
    assert len(walk(visit("rita"), *STORAGE_PAGES, most=36)) >= 30


@only_at_full_scale
def test_the_back_office_of_the_installation(visit: NewVisitor) -> None:
    assert len(walk(visit("root", at=""), *SITE_PAGES, most=16)) >= 14


@pytest.mark.parametrize("path", ["/admin/login/", f"{DEMO}/1033/"])
def test_what_was_smuggled_in_does_not_run(visit: NewVisitor, path: str) -> None:
    reader = visit()
    reader.open(path)
    assert reader.page.evaluate(BROKEN) == [False, "EvalError"]
    assert len(reader.faults) == 2
    assert all("Content Security Policy" in fault for fault in reader.faults), reader.faults
    reader.faults.clear()


def test_the_theme_works(visit: NewVisitor) -> None:
    """The script evaluates the expressions of the theme: menus, theme, side bar, filters, choosing rows."""
    rita = visit("rita", locale="en-GB")  # in a separate browser, which remembers the choice
    page = rita.page
    rita.open(f"{DEMO}/admin/storage/apitoken/")
    dark, menu = page.locator("html.dark"), page.get_by_role("button", name="Dark")
    assert (dark.count(), menu.is_visible()) == (0, False)
    page.get_by_role("button", name="Account: rita").click()
    menu.click()
    dark.wait_for()
    page.get_by_role("heading").first.click()
    menu.wait_for(state="hidden")
    page.reload()
    dark.wait_for()
    side = page.locator("[x-bind\\:class*='xl:hidden!']").get_by_role("link").first
    side.wait_for()
    page.get_by_role("button", name="Navigation").click()
    side.wait_for(state="hidden")
    assert page.evaluate("localStorage.getItem('sidebarDesktopOpen')") == "0"
    page.locator("input.action-select").first.check()
    run = page.locator("button[name=index]")
    assert not run.is_visible()
    page.locator("select[name=action]").select_option("revoke_selected")
    run.wait_for()
    page.locator("[x-on\\:click='filterOpen = true']").first.click()
    page.locator("#changelist-filter, [x-show=filterOpen]").first.wait_for()


def test_expressions_are_evaluated_exactly_or_refused(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(f"{DEMO}/admin/")

    def value(expression: str) -> object:
        return rita.page.evaluate("text => window.Alpine.evaluate(document.body, text)", expression)

    for expression, expected in (
        (r"'it\'s \"so\" \\'", 'it\'s "so" \\'),
        ("({a: [1, 2]}).a[1] * 3 - 1", 5),
        ("null ?? (1 > 2 ? 'a' : 'b')", "b"),
        ("[1, 2].map(each => each + 1)", [2, 3]),
    ):
        assert value(expression) == expected
    assert rita.faults == []
    for expression in (r"'a\nb'", r"'\u0041'", "({a: null}).a?.b.c", "window.document?.title"):
        assert value(expression) is None
        (fault,) = rita.faults
        assert f"in: {expression}" in fault
        rita.faults.clear()


def test_the_theme_is_chosen_before_signing_in(visit: NewVisitor) -> None:
    page = (reader := visit()).page
    reader.open("/admin/login/")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Dark").click()
    page.locator("html.dark").wait_for()
