"""Parses JSON strictly (D16): UTF-8, no NaN, duplicate keys, NUL or lone surrogates, 64 levels, exact numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from itertools import accumulate
from typing import Any

import orjson

from repository_site.core.problems import TooLarge, Unreadable

MAX_NESTING = 64
# Larger numbers have no business meaning, and their digits could fill the memory.
MAX_EXPONENT = 400
MAX_DIGITS = 1_000
FRACTION = re.compile(rb"[0-9][.eE]")
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
# The change of depth at each bracket.
STEPS = {ord(bracket): 1 if bracket in "[{" else -1 for bracket in "[]{}"}
# A whole string. The groups are possessive: there is nothing to try again in a string that never ends.
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
# From this length on, the parts between the quotes could take too much memory.
LONG = 1024 * 1024
# Only texts with one of these escapes can contain a NUL or a lone surrogate.
SUSPICIOUS_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


def parse_json(content: bytes, noun: str = "The body", most_values: int | None = None) -> Any:
    """Return the value, or raise Unreadable with the problem and its place in `noun`.

    Raise TooLarge for more than `most_values` values, before any of them takes memory.
    """
    if most_values is not None and has_more_values(content, most_values):
        raise TooLarge(f"{noun} has more than {most_values} values. Send less at once.")
    try:
        return _parse(content)
    except UnicodeDecodeError as problem:
        raise Unreadable(f"{noun} is not UTF-8: byte {problem.start + 1} is invalid.") from None
    except json.JSONDecodeError as problem:
        text = problem.msg.lower().removesuffix(" at")
        raise Unreadable(f"{noun} is not JSON: {text} at line {problem.lineno}, column {problem.colno}.") from None
    except RecursionError:
        raise Unreadable(f"{noun} is nested deeper than {MAX_NESTING} levels.") from None
    except _Refused as problem:
        raise Unreadable(f"{noun} {problem}.") from None


def has_more_values(content: bytes, most: int) -> bool:
    """Return whether JSON has more values than this. A list or an object with items has one value more than commas."""
    # A value takes a byte, and most bodies are shorter than the limit.
    if len(content) <= most or _separators(content) < most:
        return False
    return _separators(TEXT.sub(b"", content)) >= most


def _separators(content: bytes) -> int:
    return content.count(b",") + content.count(b"[") + content.count(b"{")


class _Refused(Exception):
    """Well-formed JSON that violates our rules. The text continues a sentence after the noun."""


def _parse(content: bytes) -> Any:
    value = _parse_compact(content.strip(b" \t\r\n"))
    if value is None:
        value = _parse_any(content)
    _check_nesting(content)
    return value


def _parse_compact(content: bytes) -> Any:
    """Parse objects and lists without white space, such as our own transfer files, several times faster.

    If writing the value again yields the same bytes, parsing has lost nothing: no duplicate key, no rounded number. NUL
    and fractions, which orjson reads as floats, need the other parser. None means that the other parser must decide.
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
        raise _Refused(f"is ambiguous: the key {twice[:100]!r} occurs twice in one object")
    return result


def _constant(name: str) -> Any:
    raise _Refused(f"is not JSON: {name} is not a JSON number")


def _decimal(digits: str) -> Decimal:
    exponent = re.split("[eE]", digits)[1] if "e" in digits.lower() else "0"
    if len(digits) > MAX_DIGITS or len(exponent) > 6 or abs(int(exponent)) > MAX_EXPONENT:
        raise _Refused(f"contains a number that is too long: {digits[:40]}")
    return Decimal(digits)


def _integer(digits: str) -> int | Decimal:
    """Return an integer, or a decimal beyond 64 bits, since orjson writes integers of at most 64 bits."""
    if len(digits) > MAX_DIGITS:
        raise _Refused(f"contains a number that is too long: {digits[:40]}")
    number = int(digits)
    return number if -(2**63) <= number < 2**64 else Decimal(digits)


def _outside_texts(content: bytes) -> bytes:
    """Return well-formed JSON without its strings: numbers, literals, brackets and separators."""
    if len(content) > LONG:
        return TEXT.sub(b"", content)
    return b"".join(content.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])


def _check_nesting(content: bytes) -> None:
    """Reduce well-formed JSON to its brackets, and follow their depth."""
    if content.count(b"[") + content.count(b"{") <= MAX_NESTING:
        return
    brackets = _outside_texts(content).translate(None, NO_BRACKETS)
    if max(accumulate(map(STEPS.__getitem__, brackets))) > MAX_NESTING:
        raise RecursionError


def _check_texts(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Refused("contains half of a surrogate pair, which is not a character") from None
    # dumps writes a NUL as an escape. After a backslash it is only the text of an escape.
    if re.search(r"(?<!\\)(?:\\\\)*\\u0000", text):
        raise _Refused("contains a NUL character")
