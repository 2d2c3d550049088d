"""References as JSON texts that all elements with the same target share.

References are most of a list and differ in little but their ids. One of each kind is built like every other part of a
response; the ids of the others are inserted into its text. Texts are cached with the identities of targets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from secrets import token_hex
from typing import Any

import orjson

from elements import derived
from elements.reading.assembly.links import CALLER_FIELDS, ReferenceLinks
from elements.reading.assembly.projection import TypeProjection
from elements.reading.assembly.reference_fields import NO_EXTRAS, Extras
from elements.reading.identities import Texts, most_of_a_kind
from elements.reading.rows import Identity, VersionRow

# Placeholders for ids in texts of references. They are random, so that no stored value equals them.
IDS = Identity(token_hex(16), token_hex(16), "", token_hex(16), "", "")
IDS_IN_TEXT = re.compile(f"({IDS.element}|{IDS.creation}|{IDS.version})")
# Text of a reference with %s for each id, and a function that takes these ids from the identity of a target.
Form = tuple[str, Callable[[Identity], tuple[str, ...]]]
NOTHING: Mapping[str, Sequence[str]] = {}


class ReferenceWriter:
    """Writes references. `make` builds the reference to a target as a plain dictionary."""

    def __init__(self, make: Callable[[Identity], dict[str, Any]]) -> None:
        self._make = make
        self._forms: dict[tuple[str, str, str], Form] = {}

    def begin(self) -> None:
        """Forget the texts before the next batch, so that a list of any length does not fill the memory."""
        self._forms.clear()

    def references(self, targets: Iterable[Identity], extras: Extras = NO_EXTRAS) -> orjson.Fragment | None:
        """Return the references as JSON, or None if there are none."""
        texts = [self.text(each, extras) for each in targets] if extras else [self._text(each) for each in targets]
        return _list(texts) if texts else None

    def text(self, target: Identity, extras: Extras) -> str:
        text, extra = self._text(target), extras.get(target.version)
        return text if extra is None else text[:-1] + extra.text

    def related(
        self, row: VersionRow, shown: TypeProjection, links: ReferenceLinks, texts: Texts
    ) -> dict[str, orjson.Fragment]:
        """Write `ReferenceLinks.related` of a version. `texts` has the texts that were written before in this form."""
        found: dict[str, orjson.Fragment] = {}
        held, most = links.references.get(row.version, NOTHING), most_of_a_kind()

        def write(target: str) -> str:
            """Return the text of a reference; empty for a target that the reader must not see."""
            identity = links.identities.get(target)
            if identity is None:
                return ""
            text = self._text(identity)
            if len(texts) < most:
                texts[target] = text
            return text

        # Most types have many contexts, and most elements use few of them.
        for context in sorted([*shown.stored_contexts.intersection(held), *shown.other_contexts]):
            if context in held:
                try:
                    written = [*map(texts.__getitem__, held[context])]
                except KeyError:
                    written = [text for target in held[context] if (text := texts.get(target) or write(target))]
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
