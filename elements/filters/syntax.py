"""Syntax trees of filters (D13): the values that the parser builds and the binder reads, each with its position.

Also reads single values from text, and formats messages about mistakes. Pure: knows neither configuration nor elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from repository_site.core.problems import Unreadable
from repository_site.core.wording import GUID, printable

EXCERPT = 30
# Characters of blank texts: those of str.isspace, listed so that the database can use the same ones.
BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,7}))?)?")


class Operator(StrEnum):
    EQ = "-eq"
    NE = "-ne"
    GT = "-gt"
    GE = "-ge"
    LT = "-lt"
    LE = "-le"
    IN = "-in"


class TextFunction(StrEnum):
    CONTAINS = "Contains"
    STARTS_WITH = "StartsWith"
    ENDS_WITH = "EndsWith"


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    position: int
    """Index of the first character in the filter, from 0, ignoring brackets around it."""


@dataclass(frozen=True, slots=True)
class TextLiteral(SyntaxNode):
    value: str


@dataclass(frozen=True, slots=True)
class WordLiteral(SyntaxNode):
    value: str


@dataclass(frozen=True, slots=True)
class NumberLiteral(SyntaxNode):
    value: Decimal


@dataclass(frozen=True, slots=True)
class TruthLiteral(SyntaxNode):
    value: bool


@dataclass(frozen=True, slots=True)
class MomentLiteral(SyntaxNode):
    """A date-time without zone; a date alone means its midnight."""

    value: datetime


@dataclass(frozen=True, slots=True)
class NullLiteral(SyntaxNode):
    pass


Literal = TextLiteral | WordLiteral | NumberLiteral | TruthLiteral | MomentLiteral | NullLiteral


@dataclass(frozen=True, slots=True)
class CultureLiteral(SyntaxNode):
    lcid: int


@dataclass(frozen=True, slots=True)
class Operand(SyntaxNode):
    name: str
    culture: CultureLiteral | None = None


@dataclass(frozen=True, slots=True)
class Comparison(SyntaxNode):
    """`operator` is any except -in."""

    operand: Operand
    operator: Operator
    operator_position: int
    literal: Literal


@dataclass(frozen=True, slots=True)
class Membership(SyntaxNode):
    """`name -in ('a', 'b')`, with at least one literal."""

    operand: Operand
    operator_position: int
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class TextTest(SyntaxNode):
    """`Contains(name, 'a')`; the literal may still have the wrong kind."""

    function: TextFunction
    operand: Operand
    literal: Literal


@dataclass(frozen=True, slots=True)
class NullTest(SyntaxNode):
    operand: Operand


@dataclass(frozen=True, slots=True)
class Not(SyntaxNode):
    operand: Expression


@dataclass(frozen=True, slots=True)
class And(SyntaxNode):
    """At least two operands; `a AND b AND c` is one node."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(SyntaxNode):
    operands: tuple[Expression, ...]


Predicate = Comparison | Membership | TextTest | NullTest
Expression = Predicate | Not | And | Or


def predicates(expression: Expression) -> Iterator[Predicate]:
    match expression:
        case And() | Or():
            for operand in expression.operands:
                yield from predicates(operand)
        case Not():
            yield from predicates(expression.operand)
        case _:
            yield expression


def read_moment(text: str) -> datetime | None:
    """Return a date-time in wire form (D16), cut to microseconds, or None."""
    found = MOMENT.fullmatch(text)
    if found is None:
        return None
    day, time, fraction = found.groups()
    try:
        return datetime.fromisoformat(f"{day}T{time or '00:00:00'}.{(fraction or '')[:6]:0<6}")
    except ValueError:
        return None


def read_id(text: str) -> UUID | None:
    """Return a GUID of any letter case; None for anything else, including other forms that UUID accepts."""
    return UUID(text) if GUID.fullmatch(text) else None


def fold_case(text: str) -> str:
    """Fold each character to lower case separately, regardless of its neighbours, for text functions."""
    return text.lower() if text.isascii() else "".join(each.lower()[0] for each in text)


def refusal(source: str, position: int, problem: str) -> Unreadable:
    """Return the problem of a mistake in a filter: its place, the text around it, and the explanation."""
    return Unreadable(f"The filter is invalid at character {position + 1} ({excerpt(source, position)}): {problem}.")


def excerpt(source: str, position: int) -> str:
    """Return the text around a position in one line, with a marker before it."""
    before = source[max(0, position - EXCERPT) : position]
    after = source[position : position + EXCERPT]
    start = "…" if position > EXCERPT else ""
    end = "…" if position + EXCERPT < len(source) else ""
    return f"{start}{printable(before)}>>>{printable(after)}{end}"


def shown(literal: Literal) -> str:
    match literal:
        case TextLiteral() | WordLiteral():
            return f"'{printable(literal.value, 40)}'"
        case NumberLiteral():
            return "a number"
        case TruthLiteral():
            return "true" if literal.value else "false"
        case MomentLiteral():
            return "a date-time"
        case NullLiteral():
            return "null"
