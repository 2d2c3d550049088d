"""The Markdown pages of the project, and the parts of them that tests look at."""

from __future__ import annotations

import re
from pathlib import Path

from repository_site.core.environment import PROJECT_DIR

DOCUMENTATION = [PROJECT_DIR / "README.md", *sorted((PROJECT_DIR / "docs").rglob("*.md"))]
PAGES = [*DOCUMENTATION, PROJECT_DIR / "CONTRIBUTING.md", PROJECT_DIR / "CHANGELOG.md"]
FENCE = re.compile(
    r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$\n*|^<!-- before\n(?P<before>.*?)-->$\n*", re.DOTALL | re.MULTILINE
)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
# Code blocks, the generated lifecycle, and comments.
_NOT_PROSE = re.compile(
    r"^```.*?^```$|^<!-- lifecycle: begin -->$.*?^<!-- lifecycle: end -->$|^<!--.*?-->$", re.DOTALL | re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def name(path: Path) -> str:
    return path.relative_to(PROJECT_DIR).as_posix()


def prose(path: Path) -> str:
    """Return the part of a page that people wrote: without code blocks, generated parts and comments."""
    return _NOT_PROSE.sub("", path.read_text(encoding="utf-8"))


def headings(path: Path) -> list[str]:
    return _HEADING.findall(prose(path))


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub forms them."""
    texts = (LINK.sub(r"\1", heading) for heading in headings(path))
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}
