"""Identities of reference targets, the texts of references to them, their names, and the parents of elements.

Many elements share their targets and ancestors, so all are cached between requests: names for as long as nothing in the
storage changes, everything else for as long as the structure of the content does not change (D607).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from elements.reading.content_state import NO_STATE, ContentState
from elements.reading.rows import Audience, Identity, Parents, identities_of, parents_of
from repository_site.core.database.statements import Question, Reading, ask_for, read

# Cache limits over all storages: identities, texts, names and parents, at 100 to 500 bytes each, and number of states.
MOST_KEPT = 60_000
MOST_STATES = 1_000
# Forms of references in one state: a storage has one or two addresses, which lead to views or to reporting.
MOST_WAYS = 3

Texts = dict[str, str]
"""Texts of references, by element."""


@dataclass(slots=True)
class KnownTargets:
    """Cached targets of one state. Entries are only added, so that several threads may read and add at the same
    time."""

    found: dict[str, Identity | None] = field(default_factory=dict)
    """Identities by element; None for targets that the audience must not see."""
    texts: dict[Hashable, Texts] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    """Values of the attribute `name` by version; None for versions without one."""
    parents: Parents = field(default_factory=dict)
    weight: int = 0
    """Number of entries when last weighed."""


class IdentityCache:
    """Caches the targets of the states that were read last. It may exceed its limit by the entries of current
    requests."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, Audience], KnownTargets] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def take(self, key: tuple[str, Audience]) -> KnownTargets:
        with self._lock:
            # The state that was used last, and perhaps this one, have grown since they were weighed.
            last, found = next(reversed(self._known.values()), None), self._known.get(key)
            if last is not None:
                self._weigh(last)
            if found is None:
                found = self._known[key] = KnownTargets()
            elif found is not last:
                self._weigh(found)
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
        # A copy: meanwhile other threads may add texts of another form.
        weight = len(known.found) + len(known.names) + len(known.parents)
        weight += sum(len(each) for each in [*known.texts.values()])
        self._weight += weight - known.weight
        known.weight = weight


shelf = IdentityCache()


class Identities:
    """Identities for one audience. Without a state nothing is cached, for callers that change content while they
    read."""

    def __init__(self, audience: Audience, state: ContentState = NO_STATE, revision: str = "") -> None:
        self.audience = audience
        # A type of the past may have been removed without any change of the content (D565).
        self._key = f"{state.content} {revision}", audience
        self._known = shelf.take((f"{state.structure} {revision}", audience)) if state.structure else None

    def read(self, elements: Collection[str]) -> dict[str, Identity]:
        """Return identities by element id, without those that the audience must not see."""
        return read(self.reading(elements))

    def reading(self, elements: Collection[str]) -> Reading[dict[str, Identity]]:
        if self._known is None:
            return (yield from ask_for(identities_of(self.audience, elements)))
        known = self._known.found
        missing = [each for each in elements if each not in known]
        if not missing:
            return {each: identity for each in elements if (identity := known[each]) is not None}
        found = yield from ask_for(identities_of(self.audience, missing))
        if len(known) + len(missing) <= most_of_a_kind():
            known.update({each: found.get(each) for each in missing})
        found.update({each: identity for each in elements if (identity := known.get(each)) is not None})
        return found

    def parents_of(self, elements: Collection[str]) -> Question[Parents]:
        """Return the parents of elements and of all their ancestors, by element. If all are cached, the question needs
        no statement."""
        question = parents_of(elements)
        if self._known is None:
            return question
        known, path, waiting = self._known.parents, Parents(), [*elements]
        while waiting:
            element = waiting.pop()
            if element not in known:
                return replace(question, understand=lambda rows: self._keep_parents(question.understand(rows)))
            if element not in path:
                path[element] = parent = known[element]
                waiting += [parent] if parent else []
        return Question("", (), lambda rows: question.understand([*path.items()]))

    def _keep_parents(self, found: Parents) -> Parents:
        if self._known is not None and len(self._known.parents) + len(found) <= most_of_a_kind():
            self._known.parents.update(found)
        return found

    @property
    def names(self) -> Mapping[str, Any]:
        """The cached names by version."""
        return {} if self._known is None else shelf.take(self._key).names

    def keep_names(self, names: Mapping[str, Any]) -> None:
        if self._known is not None:
            known = shelf.take(self._key).names
            if len(known) + len(names) <= most_of_a_kind():
                known.update(names)

    def texts(self, way: Hashable) -> Texts:
        """Return the texts of references of this form. Callers add new ones, up to `most_of_a_kind`."""
        if self._known is None:
            return {}
        texts = self._known.texts
        if way not in texts and len(texts) >= MOST_WAYS:
            texts.clear()
        return texts.setdefault(way, {})


def most_of_a_kind() -> int:
    """Limit the entries of each kind (identities, names, parents, and texts of each form), so that one state alone
    cannot exceed the limit."""
    return MOST_KEPT // (3 + MOST_WAYS)
