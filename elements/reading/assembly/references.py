"""References as JSON that is made already: the same text for all that refer to a target.

Most of a list is references, and they differ in little but their ids. So one of each kind is made as every other part
of an answer is, and the ids of the others are written into its text. Texts are kept with the identities of targets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from secrets import token_hex
from typing import Any

import orjson

from elements import derived
from elements.reading.assembly.links import CALLER_FIELDS, NOT_STORED, ReferenceLinks
from elements.reading.identities import Texts, most_of_a_kind
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

    def begin(self) -> None:
        """With the next batch: a list of any length must not fill the memory."""
        self._forms.clear()

    def references(self, targets: Iterable[Identity]) -> orjson.Fragment | None:
        """None when there are none."""
        texts = [self._text(each) for each in targets]
        return _list(texts) if texts else None

    def related(
        self, row: VersionRow, contexts: Iterable[str], links: ReferenceLinks, texts: Texts
    ) -> dict[str, orjson.Fragment]:
        """What `Links.related` says of a version, written. `texts` are what was written before in the same way."""
        found: dict[str, orjson.Fragment] = {}
        held, most = links.references.get(row.version, NOTHING), most_of_a_kind()

        def write(target: str) -> str:
            """Empty for what the reader does not get to see."""
            identity = links.identities.get(target)
            if identity is None:
                return ""
            text = self._text(identity)
            if len(texts) < most:
                texts[target] = text
            return text

        for context in contexts:
            if targets := held.get(context):
                written = [text for target in targets if (text := texts.get(target) or write(target))]
            elif context not in NOT_STORED:
                continue
            elif context == derived.RELEASE_HISTORY:
                written = [self._text(each.identity) for each in links.known.get(row.element, ()) if each.was_released]
            else:
                caller = getattr(row, CALLER_FIELDS[context])
                written = [text] if caller and (text := texts.get(caller) or write(caller)) else []
            if written:
                found[context] = _list(written)
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


def _list(texts: list[str]) -> orjson.Fragment:
    return orjson.Fragment(f"[{','.join(texts)}]")
