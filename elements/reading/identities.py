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

# Identities and texts of all storages together, at 300 to 500 bytes each; and in how many states.
MOST_KEPT = 40_000
MOST_STATES = 1_000
# Ways to write references in one state: a storage has one or two addresses, and views or reporting lead there.
MOST_WAYS = 3

Texts = dict[str, str]
"""By element. References that are written already."""


@dataclass(slots=True)
class KnownTargets:
    """What is known in one state. Only ever added to, so that several may read and add at the same time."""

    found: dict[str, Identity | None] = field(default_factory=dict)
    """By element; None for what the audience does not get to see."""
    texts: dict[Hashable, Texts] = field(default_factory=dict)
    weight: int = 0
    """How much there was when it was weighed last."""


class IdentityCache:
    """What is known in the states that were read last. It may hold more than allowed by what requests add just now."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, bool], KnownTargets] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def take(self, key: tuple[str, bool]) -> KnownTargets:
        with self._lock:
            # The one that was taken last has been added to since, and the one that is wanted perhaps, too.
            for each in {next(reversed(self._known), key), key} & self._known.keys():
                self._weigh(self._known[each])
            found = self._known.setdefault(key, KnownTargets())
            self._known.move_to_end(key)
            while len(self._known) > 1 and (self._weight > MOST_KEPT or len(self._known) > MOST_STATES):
                self._weight -= self._known.popitem(last=False)[1].weight
        return found

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self._weight = 0

    @property
    def states(self) -> list[KnownTargets]:
        return list(self._known.values())

    def _weigh(self, known: KnownTargets) -> None:
        weight = len(known.found) + sum(len(each) for each in known.texts.values())
        self._weight += weight - known.weight
        known.weight = weight


shelf = IdentityCache()


class Identities:
    """For one audience. Without a state nothing is kept: for those who change content while they read."""

    def __init__(self, audience: Audience, state: str = "") -> None:
        self.audience = audience
        self._known = shelf.take((state, audience.sees_drafts)) if state else None

    def read(self, elements: Collection[str]) -> dict[str, Identity]:
        """By element id; what the audience does not get to see is missing."""
        if self._known is None:
            return read_identities(self.audience, elements)
        known = self._known.found
        missing = [each for each in elements if each not in known]
        if not missing:
            return {each: identity for each in elements if (identity := known[each]) is not None}
        found = read_identities(self.audience, missing)
        if len(known) + len(missing) <= most_of_a_kind():
            known.update({each: found.get(each) for each in missing})
        found.update({each: identity for each in elements if (identity := known.get(each)) is not None})
        return found

    def texts(self, way: Hashable) -> Texts:
        """Of references that are written in this way; who writes another one adds it, up to `most_of_a_kind`."""
        if self._known is None:
            return {}
        texts = self._known.texts
        if way not in texts and len(texts) >= MOST_WAYS:
            texts.clear()
        return texts.setdefault(way, {})


def most_of_a_kind() -> int:
    """So that one state alone does not exceed what is allowed: identities, and texts for each way."""
    return MOST_KEPT // (1 + MOST_WAYS)
