"""Blocks of formatted text in the JSON of the editor Trix, which the back office uses (D442). Pure.

Trix has a list of blocks with a path of attributes; each block has pieces of text with attributes. Tables are
attachments: Trix shows their content, and returns the source that was sent with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from elements.values.markup import shown_markup
from elements.values.rich_text import (
    HEADINGS,
    MARKS,
    NOT_IN_XML,
    PREFORMATTED,
    QUOTE,
    KeptMarkup,
    Piece,
    TextBlock,
    TextRun,
)

CONTENT_TYPE = "application/vnd.repository.kept"
_PARTS: Mapping[str, tuple[str, ...]] = {
    "ul": ("bulletList", "bullet"),
    "ol": ("numberList", "number"),
    QUOTE: ("quote",),
    PREFORMATTED: ("code",),
    **{heading: (f"heading{heading[1:]}",) for heading in HEADINGS},
}
_PART_OF = {names[0]: part for part, names in _PARTS.items()}
# Items follow their lists, which tell their kind.
_ITEMS = ("bullet", "number")
_OWN_NAMES = {"strong": "bold", "em": "italic", "del": "strike", "u": "underline", "code": "monospace"}
_MARK_NAMES = {mark: _OWN_NAMES.get(mark, mark) for mark in MARKS}
_MARK_OF = {name: mark for mark, name in _MARK_NAMES.items()}


def editor_document(blocks: Sequence[TextBlock]) -> list[dict[str, Any]]:
    return [
        {
            "text": [_shown(each) for each in block.pieces],
            "attributes": [name for part in block.path for name in _PARTS[part]],
            "htmlAttributes": {},
        }
        for block in blocks
    ]


def _shown(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, KeptMarkup):
        content = {"contentType": CONTENT_TYPE, "content": shown_markup(piece.source, ""), "kept": piece.source}
        return {"type": "attachment", "attachment": content, "attributes": {}}
    attributes: dict[str, Any] = {_MARK_NAMES[mark]: True for mark in sorted(piece.marks)}
    if piece.address:
        attributes["href"] = piece.address
    return {"type": "string", "string": piece.text, "attributes": attributes}


def read_document(document: Any) -> list[TextBlock]:
    """Return the blocks that an editor has sent, or raise ValueError for another form."""
    try:
        return [TextBlock.of(_path(each["attributes"]), _pieces(each["text"])) for each in document]
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(str(problem)) from problem


def _path(names: Sequence[str]) -> Iterator[str]:
    """Preformatted text and headings contain no other blocks, so they end the path."""
    for name in names:
        if name not in _ITEMS:
            part = _PART_OF[name]
            yield part
            if part in (*HEADINGS, PREFORMATTED):
                return


def _pieces(pieces: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    for piece in pieces:
        attributes = piece["attributes"]
        if piece["type"] == "attachment":
            yield KeptMarkup(_plain(piece["attachment"]["kept"]))
        elif not attributes.get("blockBreak"):
            marks = frozenset(_MARK_OF[name] for name, is_set in attributes.items() if is_set and name in _MARK_OF)
            yield TextRun(_plain(piece["string"]), marks, _plain(attributes.get("href") or "").strip())


def _plain(text: str) -> str:
    """Remove characters that XML does not allow. Programs put some of them into the clipboard."""
    return NOT_IN_XML.sub("", text)
