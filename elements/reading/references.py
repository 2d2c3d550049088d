"""References as JSON that is made already: the same text for all that refer to a target.

Most of a list is references, and they differ in little but their ids. So one of each kind is made as every other part
of an answer is, and the ids of the others are written into its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from secrets import token_hex
from typing import Any

import orjson

from elements import derived
from elements.reading.links import CALLER_FIELDS, Links
from elements.reading.rows import Identity, VersionRow

# Stand for the ids in texts of references. Nobody can know them, so nothing that is stored is like them.
IDS = Identity(token_hex(16), token_hex(16), "", token_hex(16), "", "")
IDS_IN_TEXT = re.compile(f"({IDS.element}|{IDS.creation}|{IDS.version})")
# The text of a reference with %s for each id, and what takes these from the identity of a target, in their order.
Form = tuple[str, Callable[[Identity], tuple[str, ...]]]
NOTHING: Mapping[str, Sequence[str]] = {}


class ReferenceWriter:
    """`make` makes the reference to a target, as a plain dictionary."""

    def __init__(self, make: Callable[[Identity], dict[str, Any]]) -> None:
        self._make = make
        self._forms: dict[tuple[str, str, str], Form] = {}
        self._visible = _Texts({}, self._text)

    def begin(self, links: Links) -> None:
        """With the next batch: a list of any length must not fill the memory."""
        self._forms.clear()
        self._visible = _Texts(links.identities, self._text)

    def references(self, targets: Iterable[Identity]) -> orjson.Fragment | None:
        """None when there are none."""
        texts = [self._text(each) for each in targets]
        return _list(texts) if texts else None

    def related(self, row: VersionRow, contexts: Iterable[str], links: Links) -> dict[str, orjson.Fragment]:
        """What `Links.related` says of a version of the batch, written."""
        found: dict[str, orjson.Fragment] = {}
        held, visible = links.references.get(row.version, NOTHING), self._visible
        for context in contexts:
            if context in held:
                texts = [text for target in held[context] if (text := visible[target])]
            elif context in CALLER_FIELDS:
                caller = getattr(row, CALLER_FIELDS[context])
                texts = [text] if caller and (text := visible[caller]) else []
            elif context == derived.RELEASE_HISTORY:
                texts = [self._text(each.identity) for each in links.known.get(row.element, ()) if each.was_released]
            else:
                continue
            if texts:
                found[context] = _list(texts)
        return found

    def _text(self, target: Identity) -> str:
        kind = target[2], target[4], target[5]
        text, ids = self._forms.get(kind) or self._write_first(kind)
        return text % ids(target)

    def _write_first(self, kind: tuple[str, str, str]) -> Form:
        type, state, stereotype = kind
        first = self._make(Identity(IDS.element, IDS.creation, type, IDS.version, state, stereotype))
        texts = IDS_IN_TEXT.split(orjson.dumps(first).decode())
        places = [IDS.index(each) for each in texts[1::2]]
        found = self._forms[kind] = "%s".join(each.replace("%", "%%") for each in texts[::2]), itemgetter(*places)
        return found


class _Texts(dict[str, str]):
    """By element; empty for what the reader does not get to see."""

    def __init__(self, identities: Mapping[str, Identity], write: Callable[[Identity], str]) -> None:
        super().__init__()
        self._identities = identities
        self._write = write

    def __missing__(self, element: str) -> str:
        target = self._identities.get(element)
        found = self[element] = "" if target is None else self._write(target)
        return found


def _list(texts: list[str]) -> orjson.Fragment:
    return orjson.Fragment(f"[{','.join(texts)}]")
