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
XML_TYPE = "application/xml"
# UTF-8 is the default of this media type (RFC 7111).
CSV_TYPE = "text/csv"
# Bytes of a piece of a streamed list.
PIECE = 512 * 1024


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


def counted_parts(name: str, parts: list[bytes]) -> bytes:
    """Return the same envelope around values that are already JSON, with as few copies as possible."""
    if not parts:
        return to_json(counted(name, []))
    parts[0] = _beginning(name, len(parts)) + parts[0]
    parts[-1] += b"]}"
    return b",".join(parts)


def _beginning(name: str, count: int) -> bytes:
    return b'{"count":%d,"%s":[' % (count, name.encode())


def stream_counted(name: str, values: Iterable[tuple[int, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield the envelope in pieces, for lists that are too long for memory; each value is JSON in pieces, and comes
    with the total."""
    piece, separator = bytearray(), b""
    for total, parts in values:
        piece += separator or _beginning(name, total)
        separator = b","
        for part in parts:
            piece += part
            # Large pieces need fewer system calls; small ones need less memory while a client is slow.
            if len(piece) >= PIECE:
                yield bytes(piece)
                piece.clear()
    yield bytes(piece) + b"]}" if separator else to_json(counted(name, []))
