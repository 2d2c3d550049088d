"""Writes JSON with orjson, and the envelopes of the API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from decimal import Decimal
from typing import Any

import orjson
from django.http import HttpResponse

JSON_TYPE = "application/json"
SVG_TYPE = "image/svg+xml"
HTML_TYPE = "text/html"


def to_json(payload: Any) -> bytes:
    try:
        # Almost all keys are strings; supporting others takes 50 percent longer.
        return orjson.dumps(payload, default=_exactly)
    except orjson.JSONEncodeError:
        return orjson.dumps(payload, default=_exactly, option=orjson.OPT_NON_STR_KEYS)


def canonical_json(payload: Any) -> bytes:
    """Return the same bytes for the same JSON, whatever the order of keys; 1 and 1.0 differ."""
    return orjson.dumps(payload, default=_exactly, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS)


def _exactly(value: Any) -> Any:
    """Write decimals with all digits (D16); floats would lose some."""
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def answer(payload: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(to_json(payload), status=status, content_type=JSON_TYPE, headers=headers)


def counted(name: str, values: Sized) -> dict[str, Any]:
    """Return the envelope of a list: the number of values, then the values under their name."""
    return {"count": len(values), name: values}


def stream_counted(name: str, batches: Iterable[tuple[int, Iterable[Any]]]) -> Iterator[bytes]:
    """Yield the envelope in pieces, for lists that are too long for memory; each batch comes with the total."""
    separator = b""
    for total, values in batches:
        if not separator:
            yield b'{"count":%d,"%s":[' % (total, name.encode())
        # One piece per batch: fewer system calls, and a slow client holds back few pieces.
        yield separator + b",".join(map(to_json, values))
        separator = b","
    yield b"]}" if separator else to_json(counted(name, []))
