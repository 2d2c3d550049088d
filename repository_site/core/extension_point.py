"""Extension points: a lower app declares one, and the apps above it register what they add (docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Extension = TypeVar("Extension")


class ExtensionPoint(Generic[Extension]):
    """The extensions of one app, in the order of INSTALLED_APPS.

    `AppConfig.ready` registers a function that makes the extension, so that commands that never use it need not import
    the code behind it.
    """

    def __init__(self) -> None:
        self._factories: list[Callable[[], Extension]] = []
        self._made: tuple[Extension, ...] | None = None

    def register(self, factory: Callable[[], Extension]) -> None:
        self._factories.append(factory)
        self._made = None

    def __iter__(self) -> Iterator[Extension]:
        if self._made is None:
            self._made = tuple(factory() for factory in self._factories)
        return iter(self._made)

    @contextmanager
    def extended_by(self, extension: Extension) -> Iterator[None]:
        """Register an extension for the length of a test."""
        before = list(self._factories)
        self.register(lambda: extension)
        try:
            yield
        finally:
            self._factories, self._made = before, None
