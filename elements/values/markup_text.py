"""The text of markup, for places that show no markup, such as comparisons. Pure functions."""

from __future__ import annotations

import re
from html.parser import HTMLParser

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
LINES = HEADINGS | {"p", "div", "li", "ul", "ol", "dl", "dt", "dd", "tr", "table", "blockquote", "pre"}
CELLS = frozenset({"td", "th"})
# Where `splitlines` ends a line.
BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class _TextParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = tag.rpartition(":")[2]
        if name in LINES or name == "br":
            self.parts.append("\n")
        if name == "li":
            self.parts.append("• ")
        elif name == "img":
            self.parts.append(dict(attrs).get("alt") or "")

    def handle_endtag(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name in LINES:
            self.parts.append("\n")
        elif name in CELLS:
            self.parts.append(" | ")

    def handle_data(self, data: str) -> None:
        self.parts.append(BREAKS.sub(" ", data))


def markup_text(markup: str) -> str:
    """Return the text with one line for each paragraph, list item and row of a table."""
    parser = _TextParser()
    parser.feed(markup)
    parser.close()
    lines = (" ".join(line.split()).removesuffix(" |") for line in "".join(parser.parts).splitlines())
    return "\n".join(line for line in lines if line)
