"""Html attributes and addresses on reader pages and in the back office (D16): nothing passes that writing would refuse,
regardless of how it was stored.

The markup is parsed as XML, as on write, and written again from an allow-list, in one pass (D181). Styles, classes and
ids are left out, because the page decides about its appearance.
"""

from __future__ import annotations

import re
from html import escape
from urllib.parse import urlsplit
from xml.parsers import expat

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

from elements.values.html import PICTURE, XML_DECLARATION, local_name

TEXT = {"p", "br", "hr", "div", "span", "blockquote", "pre", "code", "kbd", "samp", "var", "abbr", "address", "cite"}
MARKED = {"b", "strong", "i", "em", "u", "s", "small", "sub", "sup", "mark", "q", "del", "ins", "dfn", "time", "wbr"}
LISTS = {"ul", "ol", "li", "dl", "dt", "dd"}
HEADINGS = {f"h{level}" for level in range(1, 7)}
TABLES = {"table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "th", "td"}
PICTURES = {"img", "figure", "figcaption"}
ALLOWED = frozenset(TEXT | MARKED | LISTS | HEADINGS | TABLES | PICTURES | {"a"})
WITHOUT_END = frozenset({"br", "hr", "wbr", "col", "img"})
# The text of other elements is kept.
LEFT_OUT_WITH_TEXT = frozenset({"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title"})
EVERYWHERE = frozenset({"lang", "dir", "title"})
ATTRIBUTES = {
    "a": EVERYWHERE | {"href", "hreflang"},
    "img": EVERYWHERE | {"src", "alt", "width", "height"},
    "ol": EVERYWHERE | {"start", "reversed", "type"},
    "li": EVERYWHERE | {"value"},
    "td": EVERYWHERE | {"colspan", "rowspan"},
    "th": EVERYWHERE | {"colspan", "rowspan", "scope"},
    "time": EVERYWHERE | {"datetime"},
}
ADDRESSES = frozenset({"href", "src"})
# The base of a relative address is unknown here.
FOLLOWED = re.compile(r"\s*(?:https?|mailto|tel):", re.IGNORECASE)
# Schemes of addresses that are attribute values.
LINKED_SCHEMES = frozenset({"http", "https", "mailto"})
FILE_SCHEMES = frozenset({"http", "https"})
# Headings of the markup go below the headings of the page.
FIRST_LEVEL, LAST_LEVEL = 3, 6
HEADING = re.compile(r"<(/?)h([1-6])\b")


def shown_markup(text: str, table_label: str) -> SafeString:
    """Return markup that is safe in a page, or raise ValueError for text that is not well-formed.

    Wide tables scroll separately, also by keyboard, under the given label; without a label they do not.
    """
    declaration = XML_DECLARATION.match(text)
    writer = _MarkupWriter(table_label)
    try:
        writer.parser().Parse(f"<root>{text[declaration.end() :] if declaration else text}</root>", True)
    except expat.ExpatError as problem:
        raise ValueError(str(problem)) from None
    return mark_safe(_lowered("".join(writer.written)))  # noqa: S308  every text and value is escaped


class _MarkupWriter:
    """Writes allowed elements while a parser reads. Deeper nesting than allowed, which only values from before this
    limit can have, becomes flat: browsers take long for it."""

    def __init__(self, table_label: str) -> None:
        self.written: list[str] = []
        self._deepest = settings.MARKUP_NESTING
        region = f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(table_label)}">'
        self._region, self._region_end = (region, "</div>") if table_label else ("", "")
        # End tags of the open elements; empty for those that are not written.
        self._ends: list[str] = []
        # Number of open elements where a part begins that is left out with its text, or 0.
        self._left_out_at = 0

    def parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        return parser

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.lower()
        end = ""
        if not self._left_out_at:
            if local_name(name) in LEFT_OUT_WITH_TEXT:
                self._left_out_at = len(self._ends) + 1
            elif tag in ALLOWED and len(self._ends) <= self._deepest:
                self.written.append(self._start_tag(tag, attributes))
                end = "" if tag in WITHOUT_END else f"</{tag}>{self._region_end if tag == 'table' else ''}"
        self._ends.append(end)

    def _end(self, name: str) -> None:
        if self._left_out_at == len(self._ends):
            self._left_out_at = 0
        if end := self._ends.pop():
            self.written.append(end)

    def _text(self, text: str) -> None:
        if not self._left_out_at:
            self.written.append(escape(text, quote=False))

    def _start_tag(self, tag: str, attributes: dict[str, str]) -> str:
        kept = _kept(tag, attributes) if attributes else {}
        if tag == "a":
            kept["rel"] = "noopener noreferrer"
        if tag == "img":
            # The server of a picture learns that somebody looks at it, but not on which page.
            kept = {"referrerpolicy": "no-referrer", "alt": "", **kept, "loading": "lazy"}
        values = "".join(f' {attribute}="{escape(value)}"' for attribute, value in kept.items())
        return f"{self._region if tag == 'table' else ''}<{tag}{values}>"


def _kept(tag: str, attributes: dict[str, str]) -> dict[str, str]:
    allowed = ATTRIBUTES.get(tag, EVERYWHERE)
    given = {name.lower(): value for name, value in attributes.items()}
    return {
        name: value
        for name, value in given.items()
        if name in allowed and (name not in ADDRESSES or _may_be_followed(tag, value))
    }


def _may_be_followed(tag: str, address: str) -> bool:
    """Allow data addresses for pictures in the text, and for nothing else."""
    return FOLLOWED.match(address) is not None or (tag == "img" and PICTURE.match(address) is not None)


def _lowered(clean: str) -> str:
    """Shift headings so that the outermost follows the page's own headings and no level is skipped."""
    levels = sorted({int(found[2]) for found in HEADING.finditer(clean)})
    lower = {level: min(FIRST_LEVEL + rank, LAST_LEVEL) for rank, level in enumerate(levels)}
    return HEADING.sub(lambda found: f"<{found[1]}h{lower[int(found[2])]}", clean)


def is_followed(address: str, schemes: frozenset[str]) -> bool:
    """Whether an address may be a link; `javascript:` and the like may not."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in schemes and bool(parts.netloc or parts.scheme.lower() == "mailto")
