"""JSON out: orjson writes every answer, and the envelopes of the API stand here once."""

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
        # Almost all keys are texts; to be ready for others takes half as long again.
        return orjson.dumps(payload, default=_exactly)
    except orjson.JSONEncodeError:
        return orjson.dumps(payload, default=_exactly, option=orjson.OPT_NON_STR_KEYS)


def canonical_json(payload: Any) -> bytes:
    """Equal for values that are the same JSON, whatever the order of their keys; 1 and 1.0 are not the same."""
    return orjson.dumps(payload, default=_exactly, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS)


def _exactly(value: Any) -> Any:
    """Decimals keep every digit (D16); as floats they would lose some."""
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def answer(payload: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(to_json(payload), status=status, content_type=JSON_TYPE, headers=headers)


def counted(name: str, values: Sized) -> dict[str, Any]:
    """The envelope of every success: the number of values, then the values under their name."""
    return {"count": len(values), name: values}


def stream_counted(name: str, batches: Iterable[tuple[int, Iterable[Any]]]) -> Iterator[bytes]:
    """The same envelope in pieces, for lists that are not held in memory; each batch comes with the total."""
    separator = b""
    for total, values in batches:
        if not separator:
            yield b'{"count":%d,"%s":[' % (total, name.encode())
        # One piece a batch: a client that reads slowly makes few of them, one that reads fast waits for few.
        yield separator + b",".join(map(to_json, values))
        separator = b","
    yield b"]}" if separator else to_json(counted(name, []))
