"""One page of each kind, found by following links: axe-core finds nothing, wide and light or narrow and dark, the title
of the window says where one is, and no icon is part of a name."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.artist import Artist
from tests.browser.conftest import DEMO, NewVisitor, Visitor
from tests.scale import IS_FULL

pytestmark = [pytest.mark.long, pytest.mark.browser]
OFFICE = f"{DEMO}/admin"
ELEMENT = f"{OFFICE}/elements/element"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")
# All facets of a reader page are alike.
FACET = re.compile(rf"({DEMO}/\*)/(?!search)\w+/")
# Forms that share a template; a full run checks each.
ALIKE = re.compile(r"(/facets)/\w+/(add|\*/delete)/|(/task/\*)/(?:accept|reject|remind|withdraw)/")
# Signing out would end the walk; the others are not pages.
LEFT_OUT = re.compile(r"/logout/|/_api(/|$)|/static/|/export|/bpmn/$|/table/|/p/|^/api/|/messages/\*/")
ICONS = """() => [...document.querySelectorAll(".material-symbols-outlined")]
  .filter(icon => !icon.closest("[aria-hidden=true]")).map(icon => icon.textContent.trim())"""
TRANSITION, FIRST_TAB = "InProcessToReleased", "attributes"


def kind_of(address: str) -> str:
    parts = urlsplit(address)
    tab = parse_qs(parts.query).get("tab", [FIRST_TAB])[0]
    kind = FACET.sub(r"\1/facet/", ID.sub("*", parts.path))
    kind = kind if IS_FULL else ALIKE.sub(r"\1\3/alike/\2", kind)
    return kind + (f"?tab={tab}" if tab != FIRST_TAB else "")


def walk(visitor: Visitor, inside: str, *starts: str) -> dict[str, str]:
    """Check one page of each kind whose address begins with `inside`; return the title of each."""
    waiting, seen, titles = list(starts), set[str](), dict[str, str]()
    while waiting:
        address = waiting.pop(0)
        kind = kind_of(address)
        if kind in seen or LEFT_OUT.search(kind) or not address.startswith(inside):
            continue
        seen.add(kind)
        visitor.page.goto(visitor.base + address, wait_until="load")
        at = kind_of(visitor.page.url)
        if at in titles:
            continue
        titles[at] = visitor.page.title()
        if IS_FULL or len(titles) % 4 < 2:
            # Half of the pages, in both looks; the tests of single pages check them, too.
            visitor.check_looks(len(titles))
        assert visitor.page.evaluate(ICONS) == [], address
        found = visitor.page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)")
        waiting += [href.removeprefix(visitor.base) for href in found if href.startswith(visitor.base)]
    return titles


def check_titles(titles: dict[str, str], site: str) -> None:
    named = sorted((title, kind) for kind, title in titles.items())
    alike = [(one, other) for one, other in pairwise(named) if one[0] == other[0]]
    assert alike == []
    assert [title for title, _ in named if not title.endswith(site) or "Select " in title] == []


def test_pages_of_a_storage(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita"), token)
    process = f"{ELEMENT}/{artist.process}"
    starts = [f"{process}/{page}/" for page in ("change", "edit", "steps", "delete", "bpmn/import")]
    starts += [
        f"{process}/transition/?transition={TRANSITION}",
        f"{ELEMENT}/add/?type=mainProcess",
        f"{ELEMENT}/?q=nothing+at+all",
    ]
    titles = walk(artist.visitor, f"{OFFICE}/", *starts, f"{OFFICE}/")
    check_titles(titles, " | Showcase")
    assert len(titles) >= 60


def test_pages_of_the_installation(visit: NewVisitor) -> None:
    titles = walk(visit("root", at=""), "/admin/", "/admin/")
    check_titles(titles, " | Content repository")
    assert len(titles) >= 20


def test_pages_for_readers(visit: NewVisitor) -> None:
    reader = visit()
    reader.expected |= {404}
    starts = [f"{DEMO}/", f"{DEMO}/1033/search?q=bicycle", f"{OFFICE}/login/", f"{DEMO}/nothing/"]
    titles = walk(reader, DEMO, *starts)
    check_titles(titles, "Showcase")
    assert len(titles) >= 6
