"""Every decision that is cited, such as D13, is defined once in `docs/decisions/` and listed in its table of contents."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from repository_site.core.environment import PROJECT_DIR
from tests.documentation_pages import anchors, name

FOLDER = PROJECT_DIR / "docs/decisions"
CONTENTS = FOLDER / "README.md"
DEFINED = re.compile(r"^#{2,3} D([0-9]+) \S", re.MULTILINE)
CITED = re.compile(r"\bD([0-9]{1,3})\b")
LISTED = re.compile(r"^\| \[D([0-9]+)\]\(([a-z]+\.md)#(d[0-9]+[^)]*)\) \| ", re.MULTILINE)
FOLDERS = (
    "repository_site", "storage", "facets", "elements", "release", "templates", "tests", "benchmarks", "docs",
)  # fmt: skip
TEXT = {".py", ".md", ".html", ".js", ".css", ".lark", ".sql"}


def project_files() -> list[Path]:
    found = [path for folder in FOLDERS for path in (PROJECT_DIR / folder).rglob("*") if path.suffix in TEXT]
    return [*found, *PROJECT_DIR.glob("*.md"), PROJECT_DIR / "pyproject.toml", PROJECT_DIR / "Makefile"]


def numbers(pattern: re.Pattern[str], paths: list[Path]) -> list[int]:
    return [int(number) for path in paths for number in pattern.findall(path.read_text(encoding="utf-8"))]


def pages() -> list[Path]:
    return [path for path in sorted(FOLDER.glob("*.md")) if path != CONTENTS]


def test_every_number_is_defined_once() -> None:
    counted = Counter(numbers(DEFINED, pages()))
    assert [number for number, times in counted.items() if times > 1] == []
    assert len(counted) > 150


def test_every_cited_decision_exists() -> None:
    defined = set(numbers(DEFINED, pages()))
    missing = {
        name(path): unknown for path in project_files() if (unknown := sorted(set(numbers(CITED, [path])) - defined))
    }
    assert missing == {}


def test_the_table_of_contents_lists_every_decision() -> None:
    listed = LISTED.findall(CONTENTS.read_text(encoding="utf-8"))
    assert sorted(int(number) for number, _, _ in listed) == sorted(numbers(DEFINED, pages()))
    broken = [(page, anchor) for _, page, anchor in listed if anchor not in anchors(FOLDER / page)]
    assert broken == []
