"""The form of the documentation: line width, working links, and the rules of `docs/writing.md`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documentation_pages import CODE, LINK, PAGES, anchors, headings, name, prose

WIDTH = 100
QUESTION = re.compile(r"^(What|Who|Where|How|Why|Is|Of)\b")
ODD = re.compile(
    r"\b((?<!there )is no(?! longer)|anew|what there is|who has|does not hold|passed over|stands for|comes about"
    r"|of the server|whoever)\b",
    re.IGNORECASE,
)
QUOTES_ODD_PHRASES = "docs/writing.md"
# `make docs` writes these; the texts are in the code.
GENERATED = {"docs/reference/settings.md", "docs/reference/permissions.md", "docs/reference/dependencies.md"}
WRITTEN = [path for path in PAGES if name(path) not in GENERATED]


def is_too_wide(line: str) -> bool:
    """Accept what cannot be wrapped: tables, pictures, and a single long link or piece of code."""
    if len(line) <= WIDTH or line.startswith(("|", "![")):
        return False
    return " " in CODE.sub("x", LINK.sub("x", line)).strip(" -")


@pytest.mark.parametrize("path", WRITTEN, ids=name)
def test_lines_are_at_most_100_characters_wide(path: Path) -> None:
    assert [line for line in prose(path).splitlines() if is_too_wide(line)] == []


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    broken = []
    for _, link in LINK.findall(prose(path)):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        page = (path.parent / target).resolve() if target else path
        if not page.exists() or (anchor and anchor not in anchors(page)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("path", WRITTEN, ids=name)
def test_headings_are_nouns_or_tasks(path: Path) -> None:
    assert [heading for heading in headings(path) if QUESTION.match(heading)] == []


@pytest.mark.parametrize("path", [path for path in WRITTEN if name(path) != QUOTES_ODD_PHRASES], ids=name)
def test_pages_avoid_odd_phrases(path: Path) -> None:
    assert [line for line in prose(path).splitlines() if ODD.search(CODE.sub("", line))] == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x" * 100, False),
        ("word " * 25, True),
        ("| " + "cell " * 30, False),
        ("- `" + "code " * 30 + "`", False),
        (f"See [this]({'x' * 120}).", True),
        (f"- [a long link with words]({'x' * 120})", False),
    ],
)
def test_lines_that_cannot_be_wrapped_may_be_wide(line: str, expected: bool) -> None:
    assert is_too_wide(line) == expected
