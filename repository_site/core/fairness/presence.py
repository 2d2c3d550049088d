"""Recent activity and work of storages and callers, in memory that all worker processes share (D196).

Each worker has a gate of its own. Without this, a worker that only meets one storage would let it use every core while
the other workers serve other storages.
"""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Callable

from repository_site.core.fairness.origin import ELSEWHERE

# The last key with its time, and the last different key with its time.
RECORD = struct.Struct("=QdQd")
# The work of a storage: its key, its seconds, and the time at which these were counted.
WORK = struct.Struct("=Qdd")
# Seconds in which half of the work is forgotten, and after which all of it is.
HALF, FORGOTTEN = 5.0, 60.0
# Storages with less than this part of the work of the largest one do not take most, even if many others work even less.
LARGE = 0.25
# The time of the last request of an accepted caller of a storage.
ACCEPTED = struct.Struct("=d")
# Seconds for which the work of all storages is kept.
KEPT = 0.5
# Storages with the same work have an equal share, whatever the rounding.
ROUNDING = 0.99
# One record for all storages, then records for the callers of storages. Two storages may share one of these; both then
# believe that another caller is active.
SLOTS = 1024
# Work has as many records. A storage uses one of this many, so that a small one does not hide the work of a large one.
NEAR = 4
# Seconds for which a request counts as activity.
WINDOW = 3.0
# Seconds for which somebody who was active may come back soon.
MAY_COME_BACK = 60.0
# Seconds within which a further request of the same key is not written.
EXACT = 0.05
BITS = 2**64 - 1


class Presence:
    """Created before the workers are forked, which then share its memory.

    Processes write without a lock. A record that two of them write at once is wrong until the next request.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = mmap.mmap(-1, RECORD.size * (SLOTS + 1))
        self._work = mmap.mmap(-1, WORK.size * (SLOTS + NEAR))
        self._accepted = mmap.mmap(-1, ACCEPTED.size * SLOTS)
        self._clock = clock
        self._bar, self._looked = 0.0, float("-inf")

    def note(self, storage: str, caller: int, is_accepted: bool = True) -> None:
        now, key = self._clock(), hash(storage) & BITS
        # Anybody can ask for an address that does not exist; that makes no storage active.
        if storage != ELSEWHERE:
            self._write(0, key, now)
        self._write(_slot(key), (key ^ caller) & BITS, now)
        if is_accepted:
            ACCEPTED.pack_into(self._accepted, ACCEPTED.size * (key % SLOTS), now)

    def has_other_storages(self, storage: str, within: float = WINDOW) -> bool:
        return self._has_others(0, hash(storage) & BITS, within)

    def has_other_callers(self, storage: str, caller: int, within: float = WINDOW) -> bool:
        """Return whether another caller of the storage was active."""
        key = hash(storage) & BITS
        return self._has_others(_slot(key), (key ^ caller) & BITS, within)

    def has_accepted_callers(self, storage: str) -> bool:
        """Return whether a caller with an accepted credential was active, in this storage or one with its record."""
        [when] = ACCEPTED.unpack_from(self._accepted, ACCEPTED.size * ((hash(storage) & BITS) % SLOTS))
        return bool(when) and self._clock() - when < WINDOW

    def charge(self, storage: str, seconds: float) -> None:
        """Add work of a storage. Old work counts less. If no record is left for it, the larger work is kept."""
        key, now = hash(storage) & BITS, self._clock()
        offset, known, before = self._find_work(key, now)
        if known == key:
            WORK.pack_into(self._work, offset, key, before + seconds, now)
        elif seconds > before:
            WORK.pack_into(self._work, offset, key, seconds, now)

    def takes_most(self, storage: str) -> bool:
        """Return whether a storage has worked at least as much as an equal share of the work of all."""
        key, now = hash(storage) & BITS, self._clock()
        _, known, work = self._find_work(key, now)
        own = work if known == key else 0.0
        if now - self._looked > KEPT:
            found = [_faded(each, now - since) for _, each, since in WORK.iter_unpack(self._work)]
            working = [each for each in found if each]
            self._bar = max(sum(working) / len(working), LARGE * max(working)) if working else 0.0
            self._looked = now
        return own >= ROUNDING * _faded(self._bar, now - self._looked)

    def _find_work(self, key: int, now: float) -> tuple[int, int, float]:
        """Return the record of a key, or the one with the least work that it may replace: where it is, its key and its
        work."""
        least = 0, 0, float("inf")
        for offset in range(WORK.size * (key % SLOTS), WORK.size * (key % SLOTS + NEAR), WORK.size):
            known, work, when = WORK.unpack_from(self._work, offset)
            found = offset, known, _faded(work, now - when)
            if known == key:
                return found
            least = min(least, found, key=lambda each: each[2])
        return least

    def _has_others(self, offset: int, key: int, within: float) -> bool:
        last, when, _, earlier = RECORD.unpack_from(self._memory, offset)
        found: float = earlier if last == key else when
        return found > 0 and self._clock() - found < within

    def _write(self, offset: int, key: int, now: float) -> None:
        last, when, other, earlier = RECORD.unpack_from(self._memory, offset)
        if last != key:
            RECORD.pack_into(self._memory, offset, key, now, last, when)
        elif now - when > EXACT:
            RECORD.pack_into(self._memory, offset, key, now, other, earlier)


def _slot(key: int) -> int:
    return RECORD.size * (1 + key % SLOTS)


def _faded(work: float, seconds: float) -> float:
    return work * 0.5 ** (seconds / HALF) if seconds < FORGOTTEN else 0.0
