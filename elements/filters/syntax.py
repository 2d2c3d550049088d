"""Filters as they are written (D13): the values that the parser builds and the binder reads, each with its place.

Also how single values are read from text, and how a mistake is shown to the person who made it. Pure: knows neither
configuration nor elements.
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
# A text of nothing but these is blank: what str.isspace says, written out so that the database can use the same list.
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
    """Index of its first character in the filter, from 0. A bracket around it does not count."""


@dataclass(frozen=True, slots=True)
class TextLiteral(SyntaxNode):
    """In quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class WordLiteral(SyntaxNode):
    """A bare word."""

    value: str


@dataclass(frozen=True, slots=True)
class NumberLiteral(SyntaxNode):
    value: Decimal


@dataclass(frozen=True, slots=True)
class TruthLiteral(SyntaxNode):
    value: bool


@dataclass(frozen=True, slots=True)
class MomentLiteral(SyntaxNode):
    """A date-time without zone; a date alone is its midnight."""

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
    """`operator` is any but -in."""

    operand: Operand
    operator: Operator
    operator_position: int
    literal: Literal


@dataclass(frozen=True, slots=True)
class Membership(SyntaxNode):
    """`name -in ('a', 'b')`, with one literal at least."""

    operand: Operand
    operator_position: int
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class TextTest(SyntaxNode):
    """`Contains(name, 'a')`; the literal may still be of the wrong kind."""

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
    """Two operands at least; `a AND b AND c` is one node."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(SyntaxNode):
    operands: tuple[Expression, ...]


Predicate = Comparison | Membership | TextTest | NullTest
Expression = Predicate | Not | And | Or


def predicates(expression: Expression) -> Iterator[Predicate]:
    """From left to right."""
    match expression:
        case And() | Or():
            for operand in expression.operands:
                yield from predicates(operand)
        case Not():
            yield from predicates(expression.operand)
        case _:
            yield expression


def read_moment(text: str) -> datetime | None:
    """A date-time as it stands on the wire (D16), kept to microseconds; None when it is none."""
    found = MOMENT.fullmatch(text)
    if found is None:
        return None
    day, time, fraction = found.groups()
    try:
        return datetime.fromisoformat(f"{day}T{time or '00:00:00'}.{(fraction or '')[:6]:0<6}")
    except ValueError:
        return None


def read_id(text: str) -> UUID | None:
    """A GUID in any letter case; None for anything else, also for the other forms that UUID would take."""
    return UUID(text) if GUID.fullmatch(text) else None


def fold_case(text: str) -> str:
    """For text functions: each character to lower case by itself, so that its neighbours do not matter."""
    return text.lower() if text.isascii() else "".join(each.lower()[0] for each in text)


def refusal(source: str, position: int, problem: str) -> Unreadable:
    """The answer to a mistake in a filter: where, with the text around it, and what is wrong."""
    return Unreadable(f"The filter is wrong at character {position + 1} ({excerpt(source, position)}): {problem}.")


def excerpt(source: str, position: int) -> str:
    """The text around a place in one line, with a marker before it."""
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
