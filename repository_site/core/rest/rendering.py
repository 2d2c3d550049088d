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
# Name of a list in the envelope of `_api/v2`: an object `data` with `values`, without their number (D581).
DATA = "data"
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
    beginning, end = _around(name, len(parts))
    if not parts:
        return beginning + end
    parts[0] = beginning + parts[0]
    parts[-1] += end
    return b",".join(parts)


def _around(name: str, count: int) -> tuple[bytes, bytes]:
    """Return the JSON before and after the values of a list."""
    if name == DATA:
        return b'{"data":{"values":[', b"]}}"
    return b'{"count":%d,"%s":[' % (count, name.encode()), b"]}"


def stream_counted(name: str, values: Iterable[tuple[int, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield the envelope in pieces, for lists that are too long for memory; each value is JSON in pieces, and comes
    with the total."""
    piece, separator, end = bytearray(), b"", _around(name, 0)[1]
    for total, parts in values:
        piece += separator or _around(name, total)[0]
        separator = b","
        for part in parts:
            piece += part
            # Large pieces need fewer system calls; small ones need less memory while a client is slow.
            if len(piece) >= PIECE:
                yield bytes(piece)
                piece.clear()
    yield bytes(piece) + end if separator else counted_parts(name, [])
