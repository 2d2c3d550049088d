"""References as JSON that is made already: the same text for all that refer to a target.

Most of a list is references, and they differ in little but their ids. So one of each kind is made as every other part
of an answer is, and the ids of the others are written into its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from secrets import token_hex
from typing import Any

import orjson

from elements import derived
from elements.reading.links import CALLER_FIELDS, Links
from elements.reading.rows import Identity, VersionRow

# Stand for the ids in texts of references. Nobody can know them, so nothing that is stored is like them.
IDS = Identity(token_hex(16), token_hex(16), "", token_hex(16), "", "")
NOTHING: Mapping[str, Sequence[str]] = {}


class ReferenceWriter:
    """`make` makes the reference to a target, as a plain dictionary."""

    def __init__(self, make: Callable[[Identity], dict[str, Any]]) -> None:
        self._make = make
        self._kinds: dict[tuple[str, str, str], str] = {}
        self._texts: dict[str, str] = {}
        self._visible = _Texts({}, self._text)

    def begin(self, links: Links) -> None:
        """With the next batch: a list of any length must not fill the memory."""
        self._kinds.clear()
        self._texts.clear()
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
        found = self._texts.get(target.version)
        if found is None:
            kind = target.type, target.state, target.stereotype
            text = self._kinds.get(kind) or self._write_first(kind)
            text = text.replace(IDS.element, target.element).replace(IDS.version, target.version)
            found = self._texts[target.version] = text.replace(IDS.creation, target.creation)
        return found

    def _write_first(self, kind: tuple[str, str, str]) -> str:
        type, state, stereotype = kind
        first = self._make(Identity(IDS.element, IDS.creation, type, IDS.version, state, stereotype))
        found = self._kinds[kind] = orjson.dumps(first).decode()
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
