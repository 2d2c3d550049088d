"""JSON in (D16): UTF-8, no NaN or Infinity, no duplicate keys, no lone surrogates, nesting to 64, exact numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any

from rest_framework.parsers import BaseParser

from repository_site.problems import Unreadable
from repository_site.rest.rendering import JSON_TYPE

MAX_NESTING = 64
# Only a text written with a \uD800..\uDFFF escape can hold a lone surrogate; all others need no second look.
SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class StrictJSONParser(BaseParser):
    media_type = JSON_TYPE

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return parse_json(stream.read())


def parse_json(body: bytes) -> Any:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise Unreadable(f"The body is not UTF-8: byte {problem.start + 1} is wrong.") from None
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=Decimal, parse_int=_integer
        )
    except json.JSONDecodeError as problem:
        raise Unreadable(
            f"The body is not JSON: {problem.msg.lower().removesuffix(' at')} at line {problem.lineno},"
            f" column {problem.colno}."
        ) from None
    except RecursionError:
        raise Unreadable(_TOO_DEEP) from None
    _check_nesting(value)
    if SURROGATE_ESCAPE.search(body):
        _check_surrogates(value)
    return value


_TOO_DEEP = f"The body is nested deeper than {MAX_NESTING} levels."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise Unreadable(f"The body is ambiguous: the key {twice[:100]!r} stands twice in one object.")
    return result


def _constant(name: str) -> Any:
    raise Unreadable(f"The body is not JSON: {name} is no JSON number.")


def _integer(digits: str) -> int | Decimal:
    """Python refuses to read absurdly long integers; as a decimal they reach the check of the value's range."""
    return int(digits) if len(digits) <= 40 else Decimal(digits)


def _check_nesting(value: Any) -> None:
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise Unreadable(_TOO_DEEP)


def _check_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError:
        raise Unreadable("The body holds half of a surrogate pair, which is no character.") from None
