"""Literals of every kind, and the comparisons that each data type supports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from elements.filters.syntax import Operator, TextFunction
from facets.blueprint.data_types import DataType

ANNA = "e2a10000-0000-4000-8000-000000000007"
BEN = "e2a10000-0000-4000-8000-000000000008"
LITERALS = {
    "text": "'abc'", "word": "abc", "number": "12.5", "truth": "true", "moment": "2026-03-02", "moment in quotes": "'2026-03-02T09:15:20'",
}  # fmt: skip
TEXTS = {"text", "word", "moment in quotes"}
ALL = set(Operator) | set(TextFunction)
EQUALITY = {Operator.EQ, Operator.NE, Operator.IN}
# Operators and literals of each data type.
FITTING: Mapping[DataType, tuple[set[Any], set[str]]] = {
    DataType.SINGLE_LINE_TEXT: (ALL, TEXTS),
    DataType.MULTI_LINE_TEXT: (ALL, TEXTS),
    DataType.HTML: (ALL, TEXTS),
    DataType.SELECTION_VALUE: (ALL, TEXTS),
    DataType.MULTI_SELECTION_VALUE: (ALL, TEXTS),
    DataType.URL: (ALL, TEXTS),
    DataType.BOOLEAN: (EQUALITY, {"truth"}),
    DataType.INTEGER: (set(Operator), {"number"}),
    DataType.DECIMAL: (set(Operator), {"number"}),
    DataType.DATE: (set(Operator), {"moment", "moment in quotes"}),
    DataType.DATE_TIME: (set(Operator), {"moment", "moment in quotes"}),
    DataType.FILES: (set(TextFunction), TEXTS),
}


def comparisons(name: str) -> Iterator[tuple[Operator | TextFunction, str, str]]:
    for kind, literal in LITERALS.items():
        for operator in Operator:
            value = f"({literal})" if operator is Operator.IN else literal
            yield operator, kind, f"{name} {operator} {value}"
        for function in TextFunction:
            yield function, kind, f"{function}({name}, {literal})"
