"""Response that is written while the client reads it, in the transaction of its request (D216)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol

from django.http import StreamingHttpResponse

from repository_site.core.rest.rendering import JSON_TYPE


class HeldStream(Protocol):
    """Pieces of a response. The stream closes its scope after its last piece."""

    scope: ExitStack
    database: Callable[[], AbstractContextManager[None]]
    """Makes the database of the scope the one of the thread, for each piece."""

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes: ...


class StreamedResponse(StreamingHttpResponse):
    def __init__(self, stream: HeldStream) -> None:
        super().__init__(stream, content_type=JSON_TYPE)
        self._stream = stream

    def keep_open(self, scope: ExitStack) -> None:
        """Let the stream end the scope of the request, which its further pieces need."""
        self._stream.scope = scope

    def read_from(self, database: Callable[[], AbstractContextManager[None]]) -> None:
        """Let the stream read its further pieces from a replica."""
        self._stream.database = database
