"""Html values as blocks of formatted text, in one pass; and the reasons why an editor cannot show a value (D441).

Pure. Everything that blocks cannot represent is a reason: other elements, attributes, comments, and structures that
would look different after they were written again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn
from xml.parsers import expat

from django.utils.translation import gettext as _

from elements.values.html import ROOT, XML_DECLARATION, enclosed, place_in, runs_code
from elements.values.rich_text import HEADINGS, LISTS, MARKS, PREFORMATTED, QUOTE, KeptMarkup, Piece, TextBlock, TextRun

ALIASES = {"b": "strong", "i": "em", "s": "del", "strike": "del", **{mark: mark for mark in MARKS}}
PARAGRAPHS = ("p", "div")
LEAVES = (*PARAGRAPHS, *HEADINGS, PREFORMATTED)
SHOWN = frozenset((*LEAVES, *LISTS, *ALIASES, QUOTE, "li", "br", "a", "span"))
KEPT = ("table", "figure", "dl")
LONGEST = 200_000
"""Characters of a value. Browsers take long to format more."""
DEEPEST = 8
"""Lists and quotations around a block."""
MOST_OPEN = 40
"""Open elements, because each text looks at all of them."""
MARKUP_SPACE = re.compile(r"[ \t\r\n]+")


class NotShown(ValueError):
    """The editor cannot show a value; the text is the reason."""


def read_markup(text: str) -> list[TextBlock]:
    """Return the blocks of an Html value, with or without its declaration, or raise NotShown."""
    if len(text) > LONGEST:
        raise NotShown(_("more than %(most)d characters") % {"most": LONGEST})
    declaration = XML_DECLARATION.match(text)
    try:
        content = enclosed(text[declaration.end() :] if declaration else text)
        return _MarkupReader(content).read()
    except (expat.ExpatError, UnicodeEncodeError):
        raise NotShown(_("text that is not well-formed")) from None


class _Item:
    """An open item of a list: whether it has a text of its own, and whether something follows that."""

    def __init__(self, *, is_first: bool) -> None:
        self.is_first = is_first
        self.has_text = self.has_more = False


class _MarkupReader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        self._blocks: list[TextBlock] = []
        self._path: list[str] = []
        self._items: list[_Item] = []
        self._begun_at: list[int] = []
        """For each open list and quotation: the number of blocks before it."""
        self._has_items: list[bool] = []
        """For each open list: whether it has an item already."""
        self._open: list[str] = []
        """Open elements, without the enclosing one."""
        self._leaf = ""
        """Element of the current block; empty if its text stands directly in an item, a quotation or the value."""
        self._pieces: list[Piece] | None = None
        """Pieces of the current block; None between blocks."""
        self._address = ""
        self._kept_at = self._kept_depth = 0
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction

    def read(self) -> list[TextBlock]:
        self._parser.Parse(self._content, True)
        return self._blocks

    def _refuse(self, text: str) -> NoReturn:
        place = place_in(self._content, self._parser.CurrentByteIndex)
        raise NotShown(_("%(problem)s (line %(line)d, column %(column)d)") % {"problem": text, **place})

    def _refuse_structure(self, name: str) -> NoReturn:
        self._refuse(_("the element %(name)s at this place") % {"name": name[:40]})

    def _refuse_empty(self, name: str) -> NoReturn:
        self._refuse(_("the element %(name)s without content") % {"name": name})

    def _comment(self, text: str) -> None:
        if not self._kept_depth:
            self._refuse(_("a comment"))

    def _instruction(self, target: str, text: str) -> None:
        if not self._kept_depth:
            self._refuse(_("a processing instruction"))

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._kept_depth:
            self._kept_depth += 1
            return
        if self._parser.CurrentByteIndex < len(ROOT):
            return
        if name in KEPT and not self._open:
            self._end_block()
            self._kept_at, self._kept_depth = self._parser.CurrentByteIndex, 1
            return
        if name not in SHOWN:
            self._refuse(_("the element %(name)s") % {"name": name[:40]})
        for attribute in attributes:
            if (name, attribute) != ("a", "href"):
                words = {"attribute": attribute[:40], "name": name[:40]}
                self._refuse(_("the attribute %(attribute)s of the element %(name)s") % words)
        if self._leaf == PREFORMATTED or len(self._open) == MOST_OPEN:
            self._refuse_structure(name)
        if name in LEAVES:
            self._start_leaf(name)
        elif name in LISTS or name == QUOTE:
            self._start_container(name)
        elif name == "li":
            self._start_item()
        elif name == "br":
            self._add(TextRun("\n", *self._form()))
        elif name == "a":
            self._start_link(attributes)
        self._open.append(name)

    def _start_leaf(self, name: str) -> None:
        self._require_no_marks(name)
        if self._leaf or (self._open and self._open[-1] in LISTS):
            self._refuse_structure(name)
        self._end_block()
        self._begin_block(name)

    def _start_container(self, name: str) -> None:
        self._require_no_marks(name)
        if self._leaf or len(self._path) == DEEPEST or (self._open and self._open[-1] in LISTS):
            self._refuse_structure(name)
        self._end_block()
        if self._blocks and self._blocks[-1].path[: len(self._path) + 1] == (*self._path, name):
            # Written again, they would be one.
            self._refuse_structure(name)
        if self._open and self._open[-1] == "li":
            item = self._items[-1]
            if not item.has_text and not item.is_first:
                # Written again, it would belong to the item before.
                self._refuse_structure(name)
            item.has_more = True
        self._path.append(name)
        self._begun_at.append(len(self._blocks))
        if name in LISTS:
            self._has_items.append(False)

    def _start_item(self) -> None:
        if not self._open or self._open[-1] not in LISTS:
            self._refuse_structure("li")
        self._items.append(_Item(is_first=not self._has_items[-1]))
        self._has_items[-1] = True

    def _start_link(self, attributes: Mapping[str, str]) -> None:
        address = attributes.get("href", "")
        if self._address or not address or runs_code(address):
            self._refuse_structure("a")
        self._address = address

    def _require_no_marks(self, name: str) -> None:
        if self._open and (self._open[-1] in ALIASES or self._open[-1] in ("a", "span")):
            self._refuse_structure(name)

    def _form(self) -> tuple[frozenset[str], str]:
        return frozenset(ALIASES[name] for name in self._open if name in ALIASES), self._address

    def _text(self, text: str) -> None:
        if self._kept_depth:
            return
        if self._leaf == PREFORMATTED:
            self._add(TextRun(text))
            return
        plain = MARKUP_SPACE.sub(" ", text)
        if plain != " " or self._pieces is not None:
            self._add(TextRun(plain, *self._form()))

    def _add(self, run: TextRun) -> None:
        if self._pieces is None and self._is_between_items():
            self._refuse(_("a text between the items of a list"))
        pieces = self._begin_block("") if self._pieces is None else self._pieces
        pieces.append(run)

    def _is_between_items(self) -> bool:
        around = next((name for name in reversed(self._open) if name not in ALIASES and name not in ("a", "span")), "")
        return around in LISTS

    def _begin_block(self, leaf: str) -> list[Piece]:
        """An item has one text, at its beginning; written again, other texts would be items of their own."""
        if self._path and self._path[-1] in LISTS:
            item = self._items[-1]
            if item.has_text or item.has_more:
                self._refuse(_("several texts in an item of a list"))
            item.has_text = True
        pieces: list[Piece] = []
        self._leaf, self._pieces = leaf, pieces
        return pieces

    def _end_block(self) -> None:
        if self._pieces is None:
            return
        path = [*self._path, self._leaf] if self._leaf and self._leaf not in PARAGRAPHS else self._path
        pieces = self._pieces
        if self._leaf != PREFORMATTED:
            _drop_last_break(pieces)
        block = TextBlock.of(path, pieces)
        if not block.pieces and self._leaf in (*HEADINGS, PREFORMATTED):
            self._refuse_empty(self._leaf)
        self._blocks.append(block)
        self._leaf, self._pieces = "", None

    def _end(self, name: str) -> None:
        if self._kept_depth:
            self._kept_depth -= 1
            if not self._kept_depth:
                self._end_kept(name)
            return
        if not self._open:
            self._end_block()
            return
        self._open.pop()
        if name == self._leaf:
            self._end_block()
        elif name in LISTS or name == QUOTE:
            self._end_container(name)
        elif name == "li":
            self._end_item()
        elif name == "a":
            self._address = ""

    def _end_container(self, name: str) -> None:
        self._end_block()
        self._path.pop()
        if self._begun_at.pop() == len(self._blocks):
            self._refuse_empty(name)
        if name in LISTS:
            self._has_items.pop()

    def _end_item(self) -> None:
        self._end_block()
        item = self._items.pop()
        if not item.has_text and not item.has_more:
            self._blocks.append(TextBlock(tuple(self._path), ()))

    def _end_kept(self, name: str) -> None:
        end = self._content.index(b">", self._parser.CurrentByteIndex) + 1
        source = self._content[self._kept_at : end]
        if not re.search(rb"</%s\s*>\Z" % name.encode(), source):
            self._refuse_empty(name)
        self._blocks.append(TextBlock((), (KeptMarkup(source.decode()),)))


def _drop_last_break(pieces: list[Piece]) -> None:
    """Remove the line break at the end of a block, which browsers do not show."""
    for index in range(len(pieces) - 1, -1, -1):
        piece = pieces[index]
        if not isinstance(piece, TextRun) or piece.text.strip(" "):
            if isinstance(piece, TextRun) and piece.text == "\n":
                del pieces[index]
            return
