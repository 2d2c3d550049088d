"""SQL tests of a single value: whether it passes a test, or whether it exists at all.

Each method takes an SQL expression for one kind of value, without parameters and not from a request. Values of other
kinds do not pass. So one pass over the values of an element serves every predicate.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from elements.filters.binding import Compare, OneOf, Test, TextMatch, ValueKind
from elements.filters.clues import Way, best_ways, clues_of
from elements.filters.conditions import ALWAYS, NEVER, Condition, all_of, any_of, exists
from elements.filters.local_time import SMALLEST, Span, instants_of, spans_before, spans_from
from elements.filters.syntax import BLANKS, MOMENT, Operator, TextFunction, fold_case
from elements.naming import FOLDED_LENGTH

SQL_OPERATORS = {Operator.EQ: "=", Operator.GT: ">", Operator.GE: ">=", Operator.LT: "<", Operator.LE: "<="}
# Date-times on the wire, cut to microseconds and written in full, compare as texts in the order of time.
MIDNIGHT = "0000-00-00T00:00:00.000000"
MAX_REPLACED = 16
STARTS, ENDS = TextFunction.STARTS_WITH, TextFunction.ENDS_WITH
LIKE_SIGNS = re.compile(r"[%_\\]")

ORDERS: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: operator.eq,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
}
TEXT_FUNCTIONS: Mapping[TextFunction, Callable[[str, str], bool]] = {
    TextFunction.CONTAINS: lambda value, text: text in value,
    TextFunction.STARTS_WITH: lambda value, text: value.startswith(text),
    TextFunction.ENDS_WITH: lambda value, text: value.endswith(text),
}


class Probe(Protocol):
    def constant(self, value: str) -> bool:
        """Test a text that is known without reading the row."""

    def text(self, sql: str) -> Condition: ...
    def number(self, sql: str) -> Condition: ...
    def truth(self, condition: Condition) -> Condition: ...
    def instant(self, sql: str) -> Condition: ...
    def id(self, sql: str) -> Condition: ...
    def json(self, sql: str) -> Condition:
        """Test a stored value of any data type."""

    def within(self, sql: str) -> Condition:
        """Return a necessary condition on the text of a JSON document that contains such a value; quick to rule out."""

    def folded(self, sql: str) -> Condition:
        """Return a necessary condition on such a value, folded and cut as in `VersionName`; an index can serve it."""

    def ways(self, *, in_name: bool) -> tuple[Way, ...]:
        """Return ways of the search index to such values (D406)."""


class Filled:
    """Accepts values that exist and are not a blank text or an empty list (IsNull is the negation)."""

    def constant(self, value: str) -> bool:
        return bool(value.strip(BLANKS))

    def text(self, sql: str) -> Condition:
        return Condition(f"btrim({sql}, %s) <> ''", (BLANKS,))

    def number(self, sql: str) -> Condition:
        return Condition(f"{sql} IS NOT NULL", ())

    def truth(self, condition: Condition) -> Condition:
        return Condition(f"({condition.sql}) IS NOT NULL", condition.parameters)

    instant = id = number

    def json(self, sql: str) -> Condition:
        cases = (
            "WHEN 'string' THEN btrim({0} #>> '{{}}', %s) <> '' WHEN 'array' THEN {0} <> '[]' WHEN 'null' THEN FALSE"
        )
        return Condition(f"CASE jsonb_typeof({sql}) {cases.format(sql)} ELSE {sql} IS NOT NULL END", (BLANKS,))

    def within(self, sql: str) -> Condition:
        return ALWAYS

    folded = within

    def ways(self, *, in_name: bool) -> tuple[Way, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Passes:
    """Accepts values that pass a test. Local times are those of the zone."""

    kind: ValueKind
    test: Test
    zone: ZoneInfo

    def constant(self, value: str) -> bool:
        return self.kind in (ValueKind.TEXT, ValueKind.KEYS) and passes(self.test, value)

    def text(self, sql: str) -> Condition:
        return _text(sql, self.test) if self.kind in (ValueKind.TEXT, ValueKind.KEYS) else NEVER

    def number(self, sql: str) -> Condition:
        return _compared(sql, self.test, "numeric") if self.kind is ValueKind.NUMBER else NEVER

    def truth(self, condition: Condition) -> Condition:
        passing = [each for each in (True, False) if self.kind is ValueKind.TRUTH and passes(self.test, each)]
        if len(passing) == 1:
            return condition if passing[0] else Condition(f"NOT ({condition.sql})", condition.parameters)
        return Condition(f"({condition.sql}) IS NOT NULL", condition.parameters) if passing else NEVER

    def instant(self, sql: str) -> Condition:
        return _instant(sql, self.test, self.zone) if self.kind is ValueKind.MOMENT else NEVER

    def id(self, sql: str) -> Condition:
        return _compared(sql, self.test, "uuid") if self.kind is ValueKind.ID else NEVER

    def json(self, sql: str) -> Condition:
        """Check the type of the stored value first: a cast that fails would fail the whole query."""
        match self.kind:
            case ValueKind.TEXT:
                return _text(_json_text(sql), self.test)
            case ValueKind.KEYS:
                return exists(f"{_json_items(sql)} AS k(item)", where=_text(_json_text("k.item"), self.test))
            case ValueKind.FILES:
                texts = "LATERAL (VALUES (k.item -> 'title'), (k.item -> 'address')) AS f(text)"
                return exists(f"{_json_items(sql)} AS k(item), {texts}", where=_text(_json_text("f.text"), self.test))
            case ValueKind.NUMBER:
                return self.number(f"(CASE jsonb_typeof({sql}) WHEN 'number' THEN {sql}::numeric END)")
            case ValueKind.TRUTH:
                return self.truth(Condition(f"CASE jsonb_typeof({sql}) WHEN 'boolean' THEN {sql}::boolean END", ()))
            case ValueKind.MOMENT:
                return _moment(_json_text(sql), self.test)
            case ValueKind.ID:
                return NEVER

    def within(self, sql: str) -> Condition:
        match self.test:
            case TextMatch(text=text) if _is_plain(text):
                return _text_match(sql, TextMatch(TextFunction.CONTAINS, text))
            case Compare(operator=Operator.EQ, value=str() as text) if _is_plain(text):
                return Condition(f"strpos({sql}, %s) > 0", (text,))
        return ALWAYS

    def folded(self, sql: str) -> Condition:
        match self.kind, self.test:
            case ValueKind.TEXT, Compare(operator=Operator.EQ, value=str() as text):
                return Condition(f"{sql} = %s::text", (_cut(text),))
            case ValueKind.TEXT, OneOf(values=values):
                return Condition(f"{sql} = ANY(%s::text[])", ([_cut(str(each)) for each in values],))
            case ValueKind.TEXT, TextMatch(text=text) if text:
                return _cut_match(sql, self.test)
        return ALWAYS

    def ways(self, *, in_name: bool) -> tuple[Way, ...]:
        match self.kind, self.test:
            # Names have a better index for StartsWith.
            case ValueKind.TEXT, TextMatch(function=function, text=text) if not (in_name and function is STARTS):
                found = clues_of(text, begins=function is STARTS, ends=function is ENDS, in_name=in_name)
                return best_ways(frozenset({each}) for each in found)
        return ()


def passes(test: Test, value: Any) -> bool:
    match test:
        case Compare():
            return ORDERS[test.operator](value, test.value)
        case OneOf():
            return value in test.values
        case TextMatch():
            return TEXT_FUNCTIONS[test.function](fold_case(value), test.text)


def _cut(text: str) -> str:
    return fold_case(text[:FOLDED_LENGTH])


def _cut_match(sql: str, test: TextMatch) -> Condition:
    """Only the beginning of a text that was cut is known.

    LIKE helps the planner: it expects fewer matches the longer a pattern is. For other functions it expects a third of
    all rows, and would rather test the attributes of every version than start with the names.
    """
    if test.function is TextFunction.STARTS_WITH:
        return Condition(f"starts_with({sql}, %s::text)", (test.text[:FOLDED_LENGTH],))
    pattern = "%" + LIKE_SIGNS.sub(r"\\\g<0>", test.text) + ("%" if test.function is TextFunction.CONTAINS else "")
    return Condition(f"{sql} LIKE %s::text OR length({sql}) = {FOLDED_LENGTH}", (pattern,))


def _is_plain(text: str) -> bool:
    """Whether a text appears unescaped in JSON."""
    return json.dumps(text, ensure_ascii=False) == f'"{text}"'


def _json_text(sql: str) -> str:
    return f"(CASE jsonb_typeof({sql}) WHEN 'string' THEN {sql} #>> '{{}}' END)"


def _json_items(sql: str) -> str:
    """Also works for a value that is not a list."""
    items = f"CASE jsonb_typeof({sql}) WHEN 'array' THEN {sql} ELSE jsonb_build_array({sql}) END"
    return f"jsonb_array_elements({items})"


def _compared(sql: str, test: Test, type: str, convert: Callable[[Any], Any] = lambda value: value) -> Condition:
    match test:
        case Compare():
            return Condition(f"{sql} {SQL_OPERATORS[test.operator]} %s::{type}", (convert(test.value),))
        case OneOf():
            return Condition(f"{sql} = ANY(%s::{type}[])", ([convert(each) for each in test.values],))
        case TextMatch():
            return NEVER


def _text(sql: str, test: Test) -> Condition:
    return _text_match(sql, test) if isinstance(test, TextMatch) else _compared(_by_code_point(sql), test, "text")


def moment_of(sql: str) -> str:
    """Return an expression for a date-time in wire form that sorts by time, NULL for another text."""
    whole = f"overlay('{MIDNIGHT}' PLACING left({sql}, {len(MIDNIGHT)}) FROM 1)"
    return _by_code_point(f"(CASE WHEN {sql} ~ '^({MOMENT.pattern})$' THEN {whole} END)")


def _moment(sql: str, test: Test) -> Condition:
    return _compared(moment_of(sql), test, "text", lambda value: value.isoformat(timespec="microseconds"))


def _by_code_point(sql: str) -> str:
    return f'{sql} COLLATE "C"'


def _text_match(sql: str, test: TextMatch) -> Condition:
    """Compare folded texts. Folding keeps the number of characters, so the compared part is as long as the text."""
    length = len(test.text)
    if not length:
        return Condition(f"{sql} IS NOT NULL", ())
    part = {TextFunction.STARTS_WITH: f"left({sql}, {length})", TextFunction.ENDS_WITH: f"right({sql}, {length})"}
    folded, parameters = _folded(part.get(test.function, sql), test.text)
    if test.function is TextFunction.CONTAINS:
        return Condition(f"strpos({folded}, %s) > 0", (*parameters, test.text))
    return Condition(f"{folded} = %s", (*parameters, test.text))


def _folded(sql: str, text: str) -> tuple[str, tuple[str, ...]]:
    """Return an expression folded as far as a search for a text needs, and its parameters.

    `lower` with the collation C folds ASCII only. Of the other letters, only those matter that fold to a letter of the
    text, and these are replaced one by one: exact, regardless of the database's Unicode version. `replace` is many
    times faster than `translate`, but needs one nested call for each letter.
    """
    lower = f"lower({_by_code_point(sql)})"
    capitals = {letter: low for low in text for letter in _capitals().get(low, ())}
    if len(capitals) > MAX_REPLACED:
        return f"translate({lower}, %s, %s)", ("".join(capitals), "".join(capitals.values()))
    changes = tuple(letter for pair in capitals.items() for letter in pair)
    return "replace(" * len(capitals) + lower + ", %s, %s)" * len(capitals), changes


@cache
def _capitals() -> Mapping[str, list[str]]:
    """Return the letters beyond ASCII that fold to another character, by that character. Further planes have no letter
    case."""
    found: dict[str, list[str]] = {}
    for letter in map(chr, range(0x80, 0x20000)):
        if letter.lower() != letter:
            found.setdefault(fold_case(letter), []).append(letter)
    return found


def _instant(sql: str, test: Test, zone: ZoneInfo) -> Condition:
    match test:
        case Compare(operator=Operator.EQ, value=datetime() as local):
            return _at(sql, instants_of(zone, local))
        case Compare(operator=(Operator.GE | Operator.LT) as order, value=datetime() as local):
            return _within(sql, (spans_from if order is Operator.GE else spans_before)(zone, local))
        case Compare(operator=(Operator.GT | Operator.LE) as order, value=datetime() as local):
            if local == datetime.max:
                return Condition(f"{sql} IS NOT NULL", ()) if order is Operator.LE else NEVER
            return _within(sql, (spans_from if order is Operator.GT else spans_before)(zone, local + SMALLEST))
        case OneOf():
            moments = [each for each in test.values if isinstance(each, datetime)]
            return _at(sql, [instant for local in moments for instant in instants_of(zone, local)])
    return NEVER


def _at(sql: str, instants: list[datetime]) -> Condition:
    return Condition(f"{sql} = ANY(%s::timestamptz[])", (instants,)) if instants else NEVER


def _within(sql: str, spans: list[Span]) -> Condition:
    """Plain comparisons, which can use an index on the column."""
    return any_of(
        all_of(
            Condition(f"{sql} {sign} %s::timestamptz", (bound,))
            for sign, bound in ((">=", start), ("<", end))
            if bound is not None
        )
        for start, end in spans
    )
