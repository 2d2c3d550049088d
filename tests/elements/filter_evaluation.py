"""Evaluation of a bound filter on the wire form of an element (D13): the rules in plain Python.

Tests compare the SQL compiler with this reference, so it is written to be obviously right instead of fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from elements.filters import binding
from elements.filters.binding import BoundExpression, Value, ValueKind, Values
from elements.filters.probes import passes
from elements.filters.syntax import BLANKS, read_id, read_moment

# An element or a reference in wire form.
WireElement = Mapping[str, Any]


def matches(expression: BoundExpression, element: WireElement) -> bool:
    match expression:
        case binding.BoundOr():
            return any(matches(each, element) for each in expression.operands)
        case binding.BoundAnd():
            return all(matches(each, element) for each in expression.operands)
        case binding.BoundNot():
            return not matches(expression.operand, element)
        case binding.IsNull():
            return all(_is_empty(each) for each in _stored(expression.values, element))
        case binding.ValueTest():
            known = _typed(expression.values, element)
            return any(passes(expression.test, each) for each in _comparable(known, expression.kind))


def _stored(values: Values, element: WireElement) -> Iterator[Any]:
    match values:
        case binding.FieldValue():
            yield element.get(values.field.value)
        case binding.TargetIds():
            for reference in element.get("related", {}).get(values.context, []):
                yield reference.get("id")
        case binding.AttributeValues():
            by_culture = element.get("attributes", {}).get(values.name, {})
            found = [by_culture.get(str(lcid)) for lcid in values.cultures]
            yield from [each for each in found if not _is_empty(each)][:1] if values.first_only else found
        case binding.AnyAttributeValues():
            for each in values.attributes:
                yield from _stored(each, element)


def _typed(values: Values, element: WireElement) -> Iterator[Any]:
    """Return the values of the element if its type gives the name the meaning that the test is about."""
    match values:
        case binding.AnyAttributeValues():
            for each in values.attributes:
                yield from _typed(each, element)
        case binding.AttributeValues() | binding.TargetIds():
            if element.get("type") in values.types:
                yield from _stored(values, element)
        case binding.FieldValue():
            yield from _stored(values, element)


def _is_empty(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip(BLANKS))


def _comparable(values: Iterable[Any], kind: ValueKind) -> Iterator[Value]:
    """Return the values of a kind. Missing values and values of other kinds are not compared."""
    for value in values:
        for each in value if kind in (ValueKind.KEYS, ValueKind.FILES) and isinstance(value, list) else [value]:
            if kind is ValueKind.FILES and isinstance(each, Mapping):
                yield from (text for text in (each.get("title"), each.get("address")) if isinstance(text, str))
            elif (converted := _as_kind(each, kind)) is not None:
                yield converted


def _as_kind(value: Any, kind: ValueKind) -> Value | None:
    match kind, value:
        case ValueKind.TRUTH, bool():
            return value
        case ValueKind.NUMBER, bool():
            return None
        case ValueKind.NUMBER, int() | float() | Decimal():
            return Decimal(str(value))
        case ((ValueKind.TEXT | ValueKind.KEYS), str()):
            return value
        case ValueKind.MOMENT, str():
            return read_moment(value)
        case ValueKind.ID, str():
            return read_id(value)
    return None
