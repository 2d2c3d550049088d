"""Formatted text as an editor has it: blocks with runs of marked text, and pieces that are kept as they are (D441).

Pure. `read_markup` in `rich_text_reading.py` makes blocks from an Html value, or tells why the editor cannot show it;
`write_markup` makes the value again. The editor of the back office exchanges blocks as JSON (`rich_text_exchange.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

# Marks in the order in which they enclose each other.
MARKS = ("strong", "em", "u", "del", "ins", "mark", "small", "sub", "sup", "code", "kbd")
LISTS = ("ul", "ol")
QUOTE, PREFORMATTED = "blockquote", "pre"
HEADINGS = tuple(f"h{level}" for level in range(1, 7))
# Spaces that browsers show as one; the others, such as the no-break space, are characters of the text.
SPACES = re.compile(r"[ \t\r]+")
AROUND_BREAKS = re.compile(r" ?\n ?")
NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class TextRun:
    """Text with the same marks; `\\n` is a line break. `address` is the target of a link."""

    text: str
    marks: frozenset[str] = frozenset()
    address: str = ""


@dataclass(frozen=True, slots=True)
class KeptMarkup:
    """Markup that the editor shows but does not change, such as a table."""

    source: str


Piece = TextRun | KeptMarkup


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph or, by the last part of the path, an item of a list, a heading, or preformatted text. The other parts
    are the lists and quotations around it, from outside."""

    path: tuple[str, ...]
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, path: Iterable[str], pieces: Iterable[Piece]) -> TextBlock:
        parts = tuple(path)
        is_exact = bool(parts) and parts[-1] == PREFORMATTED
        return cls(parts, tuple(_joined(pieces if is_exact else _spaced(pieces))))

    @property
    def text(self) -> str:
        return "".join(each.text if isinstance(each, TextRun) else "\ufffc" for each in self.pieces)


def _spaced(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces with the spaces that a browser shows: one between words, and none beside a line break."""
    last = "\n"
    waiting: TextRun | None = None
    for piece in pieces:
        if isinstance(piece, KeptMarkup):
            if waiting is not None:
                yield waiting
            yield piece
            waiting, last = None, "\n"
            continue
        text = AROUND_BREAKS.sub("\n", SPACES.sub(" ", piece.text))
        if last in " \n":
            text = text.removeprefix(" ")
        if not text:
            continue
        if waiting is not None:
            yield (
                TextRun(waiting.text.removesuffix(" "), waiting.marks, waiting.address) if text[0] == "\n" else waiting
            )
        waiting, last = TextRun(text, piece.marks, piece.address), text[-1]
    if waiting is not None:
        yield _trimmed(waiting)


def _trimmed(run: TextRun) -> TextRun:
    return TextRun(run.text.removesuffix(" "), run.marks, run.address)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    def form(piece: Piece) -> object:
        return (piece.marks, piece.address) if isinstance(piece, TextRun) else object()

    for _, alike in groupby((each for each in pieces if not isinstance(each, TextRun) or each.text), form):
        found = list(alike)
        first = found[0]
        if isinstance(first, TextRun):
            yield TextRun("".join(each.text for each in found if isinstance(each, TextRun)), first.marks, first.address)
        else:
            yield from found


def write_markup(blocks: Sequence[TextBlock]) -> str:
    """Return the markup of the blocks, without a declaration; empty if they contain nothing."""
    return _MarkupComposer().compose(_meaningful(blocks))


def _meaningful(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """Return the blocks without empty headings and without empty paragraphs at the end; kept pieces stand alone."""
    found = [part for block in blocks for part in _parted(block)]
    leaf = {*HEADINGS, PREFORMATTED}
    found = [each for each in found if each.pieces or not each.path or each.path[-1] not in leaf]
    while found and not found[-1].path and not found[-1].text.strip("\n"):
        found.pop()
    return found


def _parted(block: TextBlock) -> Iterator[TextBlock]:
    if not any(isinstance(each, KeptMarkup) for each in block.pieces):
        yield block
        return
    for is_kept, pieces in groupby(block.pieces, lambda each: isinstance(each, KeptMarkup)):
        if is_kept:
            yield from (TextBlock((), (each,)) for each in pieces)
        else:
            part = TextBlock.of(block.path, pieces)
            stripped = part.text.strip("\n")
            if stripped:
                yield part


class _MarkupComposer:
    """Writes blocks one after the other. Neighbours share the lists and quotations that both are in."""

    def __init__(self) -> None:
        self._written: list[str] = []
        self._open: list[str] = []

    def compose(self, blocks: Iterable[TextBlock]) -> str:
        for block in blocks:
            self._add(block)
        self._close(0)
        return "".join(self._written)

    def _add(self, block: TextBlock) -> None:
        leaf = block.path[-1] if block.path and block.path[-1] in (*HEADINGS, PREFORMATTED) else ""
        around = block.path[:-1] if leaf else block.path
        wanted = [tag for part in around for tag in ((part, "li") if part in LISTS else (part,))]
        # Each block that a list contains directly is an item of its own.
        most = len(wanted) - 1 if wanted and wanted[-1] == "li" else len(wanted)
        shared = 0
        while shared < min(most, len(self._open)) and self._open[shared] == wanted[shared]:
            shared += 1
        self._close(shared)
        if not self._open and self._written:
            self._written.append("\n")
        for tag in wanted[shared:]:
            self._written.append(f"\n<{tag}>" if tag == "li" else f"<{tag}>")
            self._open.append(tag)
        kept = block.pieces[0] if block.pieces and isinstance(block.pieces[0], KeptMarkup) else None
        if kept is not None:
            self._written.append(kept.source)
        elif leaf or not self._open or self._open[-1] != "li":
            tag = leaf or "p"
            self._written.append(f"<{tag}>{_content(block, is_exact=tag == PREFORMATTED)}</{tag}>")
        else:
            self._written.append(_content(block))

    def _close(self, until: int) -> None:
        while len(self._open) > until:
            tag = self._open.pop()
            self._written.append(f"\n</{tag}>" if tag in LISTS else f"</{tag}>")


def _content(block: TextBlock, *, is_exact: bool = False) -> str:
    written: list[str] = []
    open_tags: list[str] = []
    for run in block.pieces:
        if not isinstance(run, TextRun):
            continue
        # The first tag tells links to different targets apart.
        wanted = [f'a href="{escape(run.address)}"'] if run.address else []
        wanted += [mark for mark in MARKS if mark in run.marks]
        shared = 0
        while shared < min(len(wanted), len(open_tags)) and wanted[shared] == open_tags[shared]:
            shared += 1
        written += [f"</{tag.partition(' ')[0]}>" for tag in reversed(open_tags[shared:])]
        written += [f"<{tag}>" for tag in wanted[shared:]]
        open_tags = wanted
        text = escape(run.text, quote=False)
        written.append(text if is_exact else text.replace("\n", "<br/>"))
    written += [f"</{tag.partition(' ')[0]}>" for tag in reversed(open_tags)]
    # Browsers do not show a line break at the end of a block, and no line for a block without content.
    if not is_exact and (not block.pieces or block.text.endswith("\n")):
        written.append("<br/>")
    return "".join(written)
