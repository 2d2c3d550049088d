"""A reader page as a person sees it: its lines of text, headings and links, parsed from the HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urldefrag, urlsplit

from django.test import Client

LINES = {
    "p",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "dt",
    "dd",
    "tr",
    "summary",
    "label",
    "button",
    "form",
    "ul",
    "ol",
}
WITHOUT_END = {"meta", "link", "input", "br", "img", "hr", "rect", "path", "col", "wbr"}
Attributes = dict[str, str]


@dataclass
class ParsedReaderPage:
    """`lines` are those of the main part, without diagrams, which have their own tests."""

    lines: list[str] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    tags: list[tuple[str, Attributes]] = field(default_factory=list)
    title: str = ""

    @property
    def addresses(self) -> list[str]:
        return [address for _, address in self.links]

    def address(self, text: str) -> str:
        """Return the address of the only link with this text."""
        (found,) = {address for shown, address in self.links if shown == text}
        return found

    def attributes(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.tags if name == tag]

    def section(self, heading: str) -> list[str]:
        """Return the lines from one second-level heading to the next."""
        ends = [text for level, text in self.headings if level <= 2]
        start = max(place for place, line in enumerate(self.lines) if line == heading)
        following = (place for place, line in enumerate(self.lines) if place > start and line in ends)
        return self.lines[start + 1 : next(following, len(self.lines))]


class _ReaderPageParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = ParsedReaderPage()
        self.open: list[str] = []
        self.text: list[str] = []
        self.link: tuple[str, list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.page.tags.append((tag, attributes))
        if tag in LINES:
            self.end_line()
        elif tag in ("td", "th"):
            self.text.append("| " if self.text else "")
        elif tag == "br":
            self.text.append(" / ")
        elif tag == "a" and "href" in attributes:
            self.link = (attributes["href"], [])
        if tag not in WITHOUT_END:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.page.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes something else")
        if tag == "a" and self.link:
            self.page.links.append((" ".join("".join(self.link[1]).split()), self.link[0]))
            self.link = None
        if tag in LINES:
            line = self.end_line()
            if tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
                self.page.headings.append((int(tag[1]), line))

    def handle_data(self, data: str) -> None:
        if "title" in self.open and "svg" not in self.open:
            self.page.title += " ".join(data.split())
        if self.link:
            self.link[1].append(data)
        if "main" in self.open and not {"svg", "select", "style"} & set(self.open):
            self.text.append(data)

    def end_line(self) -> str:
        line = " ".join("".join(self.text).split())
        self.text = []
        if line:
            self.page.lines.append(line)
        return line


def found_in(html: str, *texts: str) -> list[str]:
    """Return the texts that occur. Using `in` on a whole page would make pytest explain the difference for hours."""
    return [text for text in texts if text in html]


def read_page(html: str) -> ParsedReaderPage:
    """Refuse markup with wrongly nested tags."""
    reading = _ReaderPageParser()
    reading.feed(html)
    reading.close()
    assert reading.open == [], reading.open
    return reading.page


def crawl(client: Client, root: str, *starts: str, within: str = "/") -> Iterator[tuple[str, str]]:
    """Yield every linked page of a storage with its HTML. Each must open, and none may be outside the storage."""
    waiting, seen = [f"{root}{path}" for path in starts], set[str]()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        response = client.get(address)
        if response.status_code in (301, 302):
            waiting.append(urldefrag(response["Location"]).url)
            continue
        assert response.status_code == 200, address
        html = response.content.decode()
        yield address, html
        for link in read_page(html).addresses:
            target = urldefrag(link).url
            parts = urlsplit(target)
            if parts.netloc == "testserver" and "/_api/" in parts.path:
                assert parts.path.startswith(f"{root}/_api/"), link
                continue
            if parts.netloc:
                continue  # an address in the content
            if target:
                assert parts.path.startswith(f"{root}/"), (address, link)
            # The same diagram in another direction is the same page.
            if target.startswith(root + within) and "/admin/" not in target and "layout=" not in target:
                waiting.append(target)
