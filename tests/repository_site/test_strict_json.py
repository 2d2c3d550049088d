"""Strict JSON (D16): exact values, and errors with their place."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repository_site.core.problems import Unreadable
from repository_site.core.rest.strict_json import MAX_NESTING, _parse_any, _parse_compact, parse_json


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (
            b'{"a": [1, -2, 1.10, 1e3, true, null, "x"]}',
            {"a": [1, -2, Decimal("1.10"), Decimal("1e3"), True, None, "x"]},
        ),
        (b"9223372036854775807", 9223372036854775807),
        (b"18446744073709551616", Decimal("18446744073709551616")),
        (b"-9223372036854775808", -9223372036854775808),
        (b"123456789012345678901234567890", Decimal("123456789012345678901234567890")),
        (b"9" * 1000, Decimal("9" * 1000)),
        (b"1.5e-400", Decimal("1.5e-400")),
        (rb'"\\u0000 \\ud800"', r"\u0000 \ud800"),
        ('"ä\\n\\u00e4\\ud83d\\ude00"'.encode(), "ä\nä😀"),
        (b"[" * MAX_NESTING + b"]" * MAX_NESTING, None),
        (b'{"a": [' * 32 + b"]}" * 32, None),
        (b'["[[[[' + b"[" * 100 + b'\\"]", "}", []]', None),
        (b' \n{"a": {"b": 1}, "c": {"b": 2}}', {"a": {"b": 1}, "c": {"b": 2}}),
    ],
)
def test_values_are_kept_exactly(body: bytes, value: Any) -> None:
    parsed = parse_json(body)
    if value is not None:
        assert parsed == value
        assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The body is not JSON: expecting value at line 1, column 1."),
        (b'{"a": 1,}', "The body is not JSON: "),
        (b'{\n "a" 1}', "The body is not JSON: expecting ':' delimiter at line 2, column 6."),
        (b"{} {}", "The body is not JSON: extra data at line 1, column 4."),
        (b'"\xff"', "The body is not UTF-8: byte 2 is invalid."),
        ('"x"'.encode("utf-16"), "The body is not UTF-8: byte 1 is invalid."),
        (b'\xef\xbb\xbf{"a": 1}', "The body is not JSON: "),
        (b"[NaN]", "The body is not JSON: NaN is not a JSON number."),
        (b"[-Infinity]", "The body is not JSON: -Infinity is not a JSON number."),
        (b'{"a": {"b": 1, "b": 1}}', "The body is ambiguous: the key 'b' occurs twice in one object."),
        (b'{"a": 1, "\\u0061": 2}', "The body is ambiguous: the key 'a' occurs twice in one object."),
        (b'["\\ud800"]', "The body contains half of a surrogate pair, which is not a character."),
        (b'{"\\udc00": 1}', "The body contains half of a surrogate pair, which is not a character."),
        (rb'["\u0000"]', "The body contains a NUL character."),
        (rb'{"\\\u0000": 1}', "The body contains a NUL character."),
        (b"1e9999999999999999999", "The body contains a number that is too long: 1e9999999999999999999."),
        (b"[1E-99999999]", "The body contains a number that is too long: 1E-99999999."),
        (b"1e401", "The body contains a number that is too long: 1e401."),
        (b"9" * 1001, "The body contains a number that is too long: 9999"),
        (b"1." + b"9" * 1001, "The body contains a number that is too long: 1.9999"),
        (b'"a\nb"', "The body is not JSON: invalid control character at line 1, column 3."),
        (b"[" * (MAX_NESTING + 1) + b"]" * (MAX_NESTING + 1), "The body is nested deeper than 64 levels."),
        (b'{"a": [' * 32 + b"[1]" + b"]}" * 32, "The body is nested deeper than 64 levels."),
        (b'[{"a": ' * 32 + b"[[], {}]" + b"}]" * 32, "The body is nested deeper than 64 levels."),
        (b"[" * 100_000, "The body is nested deeper than 64 levels."),
        (b'{"a":' * 100_000, "The body is nested deeper than 64 levels."),
    ],
)
def test_what_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse_json(body)
    assert caught.value.message.startswith(message)


def test_a_long_key_twice_is_shortened_in_the_message() -> None:
    key = "k" * 10_000
    with pytest.raises(Unreadable) as caught:
        parse_json(f'{{"{key}": 1, "{key}": 2}}'.encode())
    assert len(caught.value.message) < 300


@pytest.mark.long
@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\u0dD8 19-+eE.tfn', max_size=60).map(str.encode))
def test_garbage_is_read_or_refused_and_never_anything_else(body: bytes) -> None:
    with suppress(Unreadable):
        parse_json(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.long
@given(JSON.map(lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))), st.data())
def test_the_fast_way_reads_the_same_as_the_careful_one(text: str, data: st.DataObject) -> None:
    """Also for JSON with a repeated piece, which may be a key."""
    if data.draw(st.booleans()):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        text = text[:end] + text[start:end] + text[end:]
    body = text.encode("utf-8", "surrogatepass")
    fast = _parse_compact(body)
    if fast is not None:
        careful = _parse_any(body)
        assert repr(fast) == repr(careful)
        assert parse_json(body) == careful
