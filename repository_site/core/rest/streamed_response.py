"""Response that is written while the client reads it, in the transaction of its request (D216)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol

from django.http import StreamingHttpResponse

from repository_site.core.rest.rendering import JSON_TYPE


class HeldScope(Protocol):
    """The scope and the connection that a stream keeps until its last piece."""

    scope: ExitStack
    database: Callable[[], AbstractContextManager[None]]
    """Makes the database of the scope the one of the thread, for each piece."""


class HeldStream(Protocol):
    """Pieces of a response."""

    @property
    def held(self) -> HeldScope: ...

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes: ...


class StreamedResponse(StreamingHttpResponse):
    def __init__(self, stream: HeldStream, content_type: str = JSON_TYPE) -> None:
        super().__init__(stream, content_type=content_type)
        self._stream = stream

    def keep_open(self, scope: ExitStack, database: Callable[[], AbstractContextManager[None]]) -> None:
        """Let the stream end the scope of the request, which its further pieces need, and the connection of it."""
        self._stream.held.scope, self._stream.held.database = scope, database
