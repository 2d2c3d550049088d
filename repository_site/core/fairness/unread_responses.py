"""Memory of large responses that clients have not read yet (D220).

A response leaves its place as soon as it is written, but it stays in memory until the client has read it. Clients that
read slowly could fill the memory of a worker with few requests.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable

from repository_site.core.fairness.gate import PATIENCE, Who

# Smaller responses are not counted: those of all connections of a worker fit into its memory.
LARGE = 256 * 1024
UNREAD = (
    "Too many large responses of this storage or caller are not read yet; read them, or ask for less at once, and try"
    " again in {wait}."
)


class UnreadResponses:
    """Bytes of large responses, by storage and caller. A storage gets room for one more while it holds fewer bytes than
    are free, and a caller while it holds fewer than three eighths of what is free for it."""

    def __init__(self, total: int, patience: float = PATIENCE) -> None:
        self.total = total
        self.patience = patience
        self.taken = 0
        self._held: Counter[Hashable] = Counter()
        self._changed = threading.Condition()

    def has_room_for_caller(self, who: Who) -> bool:
        held = self._held[who]
        return 8 * held < 3 * (self.total - self.taken + held)

    def take(self, who: Who, size: int) -> bool:
        """Take room for a response. Wait for it if there is none, because most clients read fast."""
        end = time.monotonic() + self.patience
        with self._changed:
            while not self._has_room(who):
                if not self._changed.wait(end - time.monotonic()):
                    return False
            self._add(who, size)
            return True

    def take_anyway(self, who: Who, size: int) -> None:
        with self._changed:
            self._add(who, size)

    def give_back(self, who: Who, size: int) -> None:
        with self._changed:
            self._add(who, -size)
            self._changed.notify_all()

    def _has_room(self, who: Who) -> bool:
        return self._held[who[0]] < self.total - self.taken and self.has_room_for_caller(who)

    def _add(self, who: Who, size: int) -> None:
        self.taken += size
        for key in (who, who[0]):
            self._held[key] += size
            if not self._held[key]:
                del self._held[key]
