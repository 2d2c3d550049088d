"""Calls the WSGI application as the server does, without Django's test client, which keeps requests and responses."""

from __future__ import annotations

import gc
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.wsgi import WSGIHandler


@dataclass(frozen=True, slots=True)
class BareResponse:
    status_code: int
    headers: Mapping[str, str]
    content: bytes

    def __getitem__(self, name: str) -> str:
        return self.headers[name]

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class BareClient:
    """Counts the objects that each request leaves in reference cycles, by the title of the request."""

    cookies: str = ""
    is_counting: bool = False
    left: dict[str, Counter[str]] = field(default_factory=dict)
    pieces: int = sys.maxsize
    """Pieces of a response that the client reads before it closes the connection."""
    application: Any = field(default_factory=WSGIHandler)

    def generic(
        self,
        method: str,
        path: str,
        data: str = "",
        content_type: str = "application/json",
        *,
        token: str = "",
        query_params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> BareResponse:
        address, _, query = path.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": address, "REMOTE_ADDR": "127.0.0.1",
            "QUERY_STRING": query or urlencode(query_params or {}), "SERVER_NAME": "testserver", "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.errors": sys.stderr, "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(data.encode()), "HTTP_HOST": "testserver", "HTTP_COOKIE": self.cookies,
        }  # fmt: skip
        environ |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in (headers or {}).items()}
        if data:
            environ |= {"CONTENT_LENGTH": str(len(data.encode())), "CONTENT_TYPE": content_type}
        if token:
            environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        if not self.is_counting:
            return self._send(environ)
        with self._counting(f"{method} {path}"):
            return self._send(environ)

    def count(self) -> None:
        """Begin to count, after the first requests, which fill caches and import modules."""
        self.is_counting = True
        gc.collect()
        # Each collection then looks only at new objects, which is much faster.
        gc.freeze()

    def _send(self, environ: dict[str, Any]) -> BareResponse:
        started: list[Any] = []
        response: Any = self.application(environ, lambda *given: started.extend(given))
        content = b"".join(piece for piece, _ in zip(response, range(self.pieces), strict=False))
        response.close()
        return BareResponse(int(started[0][:3]), dict(started[1]), content)

    @contextmanager
    def _counting(self, title: str) -> Iterator[None]:
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            yield
            gc.collect()
            found = Counter(map(_name, gc.garbage))
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        self.left[title] = found


def _name(found: object) -> str:
    named = found if isinstance(found, FunctionType) else type(found)
    return f"{named.__module__}.{named.__qualname__}"
