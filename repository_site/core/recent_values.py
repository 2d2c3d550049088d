"""Values that a process remembers, up to a number of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class RecentValues(Generic[T]):
    """Keeps the `most` values that were used last. All threads share it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._found: OrderedDict[bytes, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> T | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def keep(self, key: bytes, value: T) -> T:
        with self._lock:
            self._found[key] = value
            self._found.move_to_end(key)
            if len(self._found) > self.most:
                self._found.popitem(last=False)
        return value
