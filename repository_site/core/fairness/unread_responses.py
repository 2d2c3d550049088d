"""Memory of large responses that clients have not read yet (D220).

A response leaves its place as soon as it is written, but it stays in memory until the client has read it. Clients that
read slowly could fill the memory of a worker with few requests.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable

from repository_site.core.fairness.gate import PATIENCE, UNKNOWN, Who

# Smaller responses are not counted: those of all connections of a worker fit into its memory.
LARGE = 256 * 1024
# Larger ones up to this size are sent at once, as long as few of them may be unread in this worker.
MEDIUM = 1024 * 1024
MEDIUM_UNREAD = 32 * 1024 * 1024
UNREAD = (
    "Too many large responses of this storage or caller are not read yet; read them, or ask for less at once, and try"
    " again in {wait}."
)


class UnreadResponses:
    """Bytes of large responses, by storage and caller. A storage gets room for one more while it holds fewer bytes than
    are free, and a caller while it holds fewer than three eighths of what is free for it. All callers of a storage
    without an accepted credential also count as one caller (D217)."""

    def __init__(self, total: int, patience: float = PATIENCE) -> None:
        self.total = total
        self.patience = patience
        self.taken = 0
        self._held: Counter[Hashable] = Counter()
        self._waiting: Counter[str] = Counter()
        self._changed = threading.Condition()

    def has_room_for_caller(self, who: Who) -> bool:
        return self._has_room_for_part(who)

    def take(self, who: Who, size: int, is_accepted: bool = True) -> bool:
        """Take room for a response. Wait for it if there is none, because most clients read fast.

        Responses that wait are in memory, too, so there is room for some of them only.
        """
        with self._changed:
            if not self._has_room(who, is_accepted) and not self._wait(who, size, is_accepted):
                return False
            self._add(who, size, is_accepted)
            return True

    def _wait(self, who: Who, size: int, is_accepted: bool) -> bool:
        if self._waiting[who[0]] >= self.total // 2 - self._waiting.total():
            return False
        self._waiting[who[0]] += size
        try:
            return self._changed.wait_for(lambda: self._has_room(who, is_accepted), self.patience)
        finally:
            self._waiting[who[0]] -= size
            if not self._waiting[who[0]]:
                del self._waiting[who[0]]

    def take_anyway(self, who: Who, size: int, is_accepted: bool = True) -> None:
        with self._changed:
            self._add(who, size, is_accepted)

    def give_back(self, who: Who, size: int, is_accepted: bool = True) -> None:
        with self._changed:
            self._add(who, -size, is_accepted)
            self._changed.notify_all()

    def _has_room(self, who: Who, is_accepted: bool) -> bool:
        has_storage = self._held[who[0]] < self.total - self.taken
        return has_storage and all(self._has_room_for_part(part) for part in _parts(who, is_accepted))

    def _has_room_for_part(self, part: Hashable) -> bool:
        held = self._held[part]
        return 8 * held < 3 * (self.total - self.taken + held)

    def _add(self, who: Who, size: int, is_accepted: bool) -> None:
        self.taken += size
        for key in (who[0], *_parts(who, is_accepted)):
            self._held[key] += size
            if not self._held[key]:
                del self._held[key]


def _parts(who: Who, is_accepted: bool) -> tuple[Hashable, ...]:
    return (who,) if is_accepted else (who, (who[0], UNKNOWN))


class MediumResponses:
    """Responses that were sent at once, by connection. A client that sends its next request has read the one before.
    Others count for `seconds`: until then, the client has read it, or its connection is closed (D198)."""

    def __init__(self, seconds: float, total: int = MEDIUM_UNREAD) -> None:
        self.seconds, self.total = seconds, total
        self.unread = 0
        self._sent: dict[Hashable, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def note_request(self, connection: Hashable) -> None:
        # Without the lock for all others: only the thread of the connection adds it.
        if connection in self._sent:
            with self._lock:
                self._forget(connection)

    def take(self, connection: Hashable, size: int) -> bool:
        """Return whether a response may be sent at once, and count it. Clients of a socket file have no address."""
        if size > MEDIUM or connection is None:
            return False
        now = time.monotonic()
        with self._lock:
            while self._sent and self._sent[oldest := next(iter(self._sent))][0] < now - self.seconds:
                self._forget(oldest)
            if connection in self._sent or self.unread + size > self.total:
                return False
            self._sent[connection] = (now, size)
            self.unread += size
            return True

    def _forget(self, connection: Hashable) -> None:
        self.unread -= self._sent.pop(connection, (0.0, 0))[1]
