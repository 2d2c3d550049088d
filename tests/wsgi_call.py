"""Calls a WSGI application as a server does, with the signals that end a request."""

from __future__ import annotations

import json
from typing import Any


def wsgi_call(application: Any, environ: dict[str, Any]) -> tuple[int, Any]:
    status: list[str] = []
    response = application(environ, lambda line, headers: status.append(line))
    try:
        body = b"".join(response)
    finally:
        response.close()
    return int(status[0].split()[0]), json.loads(body)
