"""JSON in (D16): UTF-8, no NaN or Infinity, no key twice, no NUL or lone surrogate, nesting to 64, exact numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import orjson

from repository_site.core.problems import Unreadable

MAX_NESTING = 64
# Beyond this a number is no figure of any business, and turning it into digits could fill the memory.
MAX_EXPONENT = 400
MAX_DIGITS = 1_000
FRACTION = re.compile(rb"[0-9][.eE]")
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
INNERMOST = re.compile(rb"\[\]|\{\}")
# Only a text written with one of these escapes can hold a NUL or a lone surrogate; all others need no second look.
SUSPICIOUS_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


def parse_json(content: bytes, noun: str = "The body") -> Any:
    """The value, or Unreadable saying what is wrong with `noun` and where."""
    try:
        return _parse(content)
    except UnicodeDecodeError as problem:
        raise Unreadable(f"{noun} is not UTF-8: byte {problem.start + 1} is wrong.") from None
    except json.JSONDecodeError as problem:
        text = problem.msg.lower().removesuffix(" at")
        raise Unreadable(f"{noun} is not JSON: {text} at line {problem.lineno}, column {problem.colno}.") from None
    except RecursionError:
        raise Unreadable(f"{noun} is nested deeper than {MAX_NESTING} levels.") from None
    except _Refused as problem:
        raise Unreadable(f"{noun} {problem}.") from None


class _Refused(Exception):
    """JSON that is well-formed and still not taken; the text goes on after the noun."""


def _parse(content: bytes) -> Any:
    value = _parse_compact(content.strip(b" \t\r\n"))
    if value is None:
        value = _parse_any(content)
    _check_nesting(content)
    return value


def _parse_compact(content: bytes) -> Any:
    """Several times faster, for objects and lists written without white space, as our own transfer files are.

    When writing the value again gives the same bytes, reading has lost nothing: no key stood twice, no number was
    rounded. What is left is what this parser does not mind and we do: NUL, and fractions, which it reads as floats.
    None when it is not certain.
    """
    if b"\\u0000" in content:
        return None
    try:
        value = orjson.loads(content)
        if orjson.dumps(value) != content:
            return None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    return None if FRACTION.search(_outside_texts(content)) else value


def _parse_any(content: bytes) -> Any:
    value = json.loads(
        content.decode("utf-8"),
        object_pairs_hook=_object,
        parse_constant=_constant,
        parse_float=_decimal,
        parse_int=_integer,
    )
    if SUSPICIOUS_ESCAPE.search(content):
        _check_texts(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise _Refused(f"is ambiguous: the key {twice[:100]!r} stands twice in one object")
    return result


def _constant(name: str) -> Any:
    raise _Refused(f"is not JSON: {name} is no JSON number")


def _decimal(digits: str) -> Decimal:
    exponent = re.split("[eE]", digits)[1] if "e" in digits.lower() else "0"
    if len(digits) > MAX_DIGITS or len(exponent) > 6 or abs(int(exponent)) > MAX_EXPONENT:
        raise _Refused(f"holds a number out of all bounds: {digits[:40]}")
    return Decimal(digits)


def _integer(digits: str) -> int | Decimal:
    """What has more than 64 bits is a decimal: JSON is written from integers of up to 64."""
    if len(digits) > MAX_DIGITS:
        raise _Refused(f"holds a number out of all bounds: {digits[:40]}")
    number = int(digits)
    return number if -(2**63) <= number < 2**64 else Decimal(digits)


def _outside_texts(content: bytes) -> bytes:
    """Of well-formed JSON what does not stand in quotes: numbers, words, brackets and what is between them."""
    return b"".join(content.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])


def _check_nesting(content: bytes) -> None:
    """Of well-formed JSON only the brackets are left; each round takes the innermost pairs away."""
    if content.count(b"[") + content.count(b"{") <= MAX_NESTING:
        return
    brackets = _outside_texts(content).translate(None, NO_BRACKETS)
    for _ in range(MAX_NESTING):
        if not brackets:
            return
        brackets = INNERMOST.sub(b"", brackets)
    if brackets:
        raise RecursionError


def _check_texts(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Refused("holds half of a surrogate pair, which is no character") from None
    # dumps writes a NUL as an escape; a backslash before it would make it the text of an escape instead.
    if re.search(r"(?<!\\)(?:\\\\)*\\u0000", text):
        raise _Refused("holds a NUL character")
