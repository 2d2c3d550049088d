"""Requests as the server gets them from granian."""

from __future__ import annotations

from typing import Any


def scope(*headers: tuple[bytes, bytes], **changes: Any) -> dict[str, Any]:
    return {
        "http_version": "1.1", "server": ("127.0.0.1", 8000), "client": ("192.0.2.1", 4711), "scheme": "http",
        "method": "GET", "raw_path": b"/a%20b/%C3%BC", "query_string": b"x=%20", "headers": list(headers), **changes,
    }  # fmt: skip
