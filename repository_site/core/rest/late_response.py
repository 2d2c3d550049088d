"""Response whose content takes time and needs no database: it is made after the transaction (D183)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.http import HttpResponse


class LateResponse(HttpResponse):
    def __init__(self, make: Callable[[], bytes], content_type: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(content_type=content_type, headers=headers)
        self._make = make

    def complete(self) -> None:
        self.content = self._make()
