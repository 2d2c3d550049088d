"""Identities of what is referred to, and how references to it are written.

Many elements share their targets, so both are kept between requests, for as long as the content of the storage stays in
its state.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field

from elements.reading.rows import Audience, Identity, read_identities

# Elements of all storages together, at about a kilobyte each.
MOST_KEPT = 20_000
# Ways to write references in one state: a storage has one or two addresses, and views or reporting lead there.
MOST_WAYS = 8

Texts = dict[str, str]
"""By element. References that are written already."""


@dataclass(slots=True)
class Kept:
    """What is known in one state. Only ever added to, so that several may read and add at the same time."""

    found: dict[str, Identity | None] = field(default_factory=dict)
    """By element; None for what the audience does not get to see."""
    texts: dict[Hashable, Texts] = field(default_factory=dict)


_kept: OrderedDict[tuple[str, bool], Kept] = OrderedDict()
_lock = threading.Lock()


class Identities:
    """For one audience. Without a state nothing is kept: for those who change content while they read."""

    def __init__(self, audience: Audience, state: str = "") -> None:
        self.audience = audience
        self._kept = _kept_in(state, audience) if state else None

    def read(self, elements: Collection[str]) -> dict[str, Identity]:
        """By element id; what the audience does not get to see is missing."""
        if self._kept is None:
            return read_identities(self.audience, elements)
        known = self._kept.found
        missing = [each for each in elements if each not in known]
        if not missing:
            return {each: identity for each in elements if (identity := known[each]) is not None}
        found = read_identities(self.audience, missing)
        if len(known) + len(missing) <= MOST_KEPT:
            known.update({each: found.get(each) for each in missing})
        found.update({each: identity for each in elements if (identity := known.get(each)) is not None})
        return found

    def texts(self, way: Hashable) -> Texts:
        """Of references that are written in this way; who writes another one adds it, up to `MOST_KEPT`."""
        if self._kept is None:
            return {}
        texts = self._kept.texts
        if way not in texts and len(texts) >= MOST_WAYS:
            texts.clear()
        return texts.setdefault(way, {})


def _kept_in(state: str, audience: Audience) -> Kept:
    key = state, audience.sees_drafts
    with _lock:
        found = _kept.setdefault(key, Kept())
        _kept.move_to_end(key)
        # What was read longest ago goes first: most of those states have passed.
        while len(_kept) > 1 and sum(len(each.found) for each in _kept.values()) > MOST_KEPT:
            _kept.popitem(last=False)
    return found
