"""Text of a filter and its syntax tree (D13): every construct, every mistake, and the limits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

import pytest

from elements.filters.parsing import parse_filter
from elements.filters.syntax import (
    And,
    Comparison,
    CultureLiteral,
    Expression,
    Literal,
    Membership,
    MomentLiteral,
    Not,
    NullLiteral,
    NullTest,
    NumberLiteral,
    Operand,
    Operator,
    Or,
    TextFunction,
    TextLiteral,
    TextTest,
    TruthLiteral,
    WordLiteral,
    predicates,
)
from repository_site.core.problems import Unreadable


def message(text: str) -> str:
    with pytest.raises(Unreadable) as caught:
        parse_filter(text)
    return caught.value.message


def eq(position: int, name: str, operator_position: int, literal: Literal) -> Comparison:
    return Comparison(position, Operand(position, name), Operator.EQ, operator_position, literal)


def one(position: int, name: str) -> Comparison:
    """`a eq 1`, with single spaces."""
    operator = position + len(name) + 1
    return eq(position, name, operator, NumberLiteral(operator + 3, Decimal(1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name -eq 'x'", eq(0, "name", 5, TextLiteral(9, "x"))),
        ("  name\n-eq\t'x' ", eq(2, "name", 7, TextLiteral(11, "x"))),
        ("name[1031]-eq'x'", Comparison(0, Operand(0, "name", CultureLiteral(5, 1031)), Operator.EQ, 10, TextLiteral(13, "x"))),
        ("name [ 127 ] eq x", Comparison(0, Operand(0, "name", CultureLiteral(7, 127)), Operator.EQ, 13, WordLiteral(16, "x"))),
        ("a -in ('x')", Membership(0, Operand(0, "a"), 2, (TextLiteral(7, "x"),))),
        ("a IN(x,2,null)", Membership(0, Operand(0, "a"), 2, (WordLiteral(5, "x"), NumberLiteral(7, Decimal(2)), NullLiteral(9)))),
        ("Contains(a, 'x')", TextTest(0, TextFunction.CONTAINS, Operand(9, "a"), TextLiteral(12, "x"))),
        ("STARTSWITH (a[1031],x)", TextTest(0, TextFunction.STARTS_WITH, Operand(12, "a", CultureLiteral(14, 1031)), WordLiteral(20, "x"))),
        ("endswith(a, 'x')", TextTest(0, TextFunction.ENDS_WITH, Operand(9, "a"), TextLiteral(12, "x"))),
        ("isNull( a )", NullTest(0, Operand(8, "a"))),
        ("not a eq 1", Not(0, one(4, "a"))),
        ("NOT(NOT a eq 1)", Not(0, Not(4, one(8, "a")))),
        ("((a eq 1))", one(2, "a")),
        ("a eq 1 and b eq 1 AND c eq 1", And(0, (one(0, "a"), one(11, "b"), one(22, "c")))),
        ("a eq 1 Or b eq 1", Or(0, (one(0, "a"), one(10, "b")))),
        ("a eq 1 OR (b eq 1 OR c eq 1)", Or(0, (one(0, "a"), Or(11, (one(11, "b"), one(21, "c")))))),
    ],
)  # fmt: skip
def test_constructs(text: str, expected: Expression) -> None:
    assert parse_filter(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a eq 1 OR b eq 1 AND c eq 1", Or(0, (one(0, "a"), And(10, (one(10, "b"), one(21, "c")))))),
        ("a eq 1 AND b eq 1 OR c eq 1", Or(0, (And(0, (one(0, "a"), one(11, "b"))), one(21, "c")))),
        ("(a eq 1 OR b eq 1) AND c eq 1", And(1, (Or(1, (one(1, "a"), one(11, "b"))), one(23, "c")))),
        ("NOT a eq 1 AND b eq 1", And(0, (Not(0, one(4, "a")), one(15, "b")))),
        ("NOT (a eq 1 AND b eq 1)", Not(0, And(5, (one(5, "a"), one(16, "b"))))),
    ],
)
def test_not_binds_closer_than_and_which_binds_closer_than_or(text: str, expected: Expression) -> None:
    assert parse_filter(text) == expected


@pytest.mark.parametrize("operator", list(Operator))
@pytest.mark.parametrize("spelling", [str, str.upper, str.title, lambda text: text[1:], lambda text: text[1:].upper()])
def test_operators_in_every_spelling(operator: Operator, spelling: Callable[[str], str]) -> None:
    written = spelling(operator.value)
    if operator is Operator.IN:
        literal = WordLiteral(4 + len(written), "x")
        assert parse_filter(f"a {written} (x)") == Membership(0, Operand(0, "a"), 2, (literal,))
    else:
        literal = WordLiteral(3 + len(written), "x")
        assert parse_filter(f"a {written} x") == Comparison(0, Operand(0, "a"), operator, 2, literal)


@pytest.mark.parametrize("written", ["Equal", "equal", "EQUAL"])
def test_equal_is_eq(written: str) -> None:
    assert parse_filter(f"a {written} x") == eq(0, "a", 2, WordLiteral(8, "x"))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("''", TextLiteral(5, "")),
        ("'it''s'", TextLiteral(5, "it's")),
        ("''''", TextLiteral(5, "'")),
        ("'\"'", TextLiteral(5, '"')),
        ('"it\'s"', TextLiteral(5, "it's")),
        ('"say ""hi"""', TextLiteral(5, 'say "hi"')),
        ("'Prüfung \U0001f600\n(a AND b)'", TextLiteral(5, "Prüfung \U0001f600\n(a AND b)")),
        ("0", NumberLiteral(5, Decimal(0))),
        ("-12", NumberLiteral(5, Decimal(-12))),
        ("2.50", NumberLiteral(5, Decimal("2.5"))),
        ("1e-3", NumberLiteral(5, Decimal("0.001"))),
        ("12345678901234567890.123456789012345678901", NumberLiteral(5, Decimal("12345678901234567890.123456789012345678901"))),
        ("true", TruthLiteral(5, True)),
        ("False", TruthLiteral(5, False)),
        ("NULL", NullLiteral(5)),
        ("2026-03-02", MomentLiteral(5, datetime(2026, 3, 2))),
        ("2026-03-02T09:15:20", MomentLiteral(5, datetime(2026, 3, 2, 9, 15, 20))),
        ("2026-03-02T09:15:20.25", MomentLiteral(5, datetime(2026, 3, 2, 9, 15, 20, 250_000))),
        ("2026-03-02T09:15:20.1234567", MomentLiteral(5, datetime(2026, 3, 2, 9, 15, 20, 123_456))),
        ("9999-12-31T00:00:00", MomentLiteral(5, datetime(9999, 12, 31))),
        ("released", WordLiteral(5, "released")),
        ("größe-2.b", WordLiteral(5, "größe-2.b")),
        ("0c770000-0000-4000-8000-00000000009a", WordLiteral(5, "0c770000-0000-4000-8000-00000000009a")),
        ("1.1.2", WordLiteral(5, "1.1.2")),
        ("5-3", WordLiteral(5, "5-3")),
        ("09:15", WordLiteral(5, "09:15")),
        ("2026-03-02T09:15:20Z", WordLiteral(5, "2026-03-02T09:15:20Z")),
        ("2026-03-02T09:15:20+01:00", WordLiteral(5, "2026-03-02T09:15:20+01:00")),
        ("1e1000", WordLiteral(5, "1e1000")),
        ("٣", WordLiteral(5, "٣")),
        ("eq", WordLiteral(5, "eq")),
        ("Contains", WordLiteral(5, "Contains")),
        ("truely", WordLiteral(5, "truely")),
    ],
)  # fmt: skip
def test_literals(written: str, expected: Literal) -> None:
    assert parse_filter(f"a eq {written}") == eq(0, "a", 2, expected)


@pytest.mark.parametrize(
    "name",
    "a-b a.b a-eq a-- _ größe 名前 ın and AND or in eq Equal le true false null Contains IsNull endswith not".split(),
)
def test_names_may_contain_dots_and_hyphens_and_be_keywords(name: str) -> None:
    end = len(name)
    assert parse_filter(f"{name} -eq 1") == eq(0, name, end + 1, NumberLiteral(end + 5, Decimal(1)))
    assert parse_filter(f"NOT {name} -eq 1") == Not(0, eq(4, name, end + 5, NumberLiteral(end + 9, Decimal(1))))
    assert parse_filter(f"{name}[1031] -in (1)") == Membership(
        0, Operand(0, name, CultureLiteral(end + 1, 1031)), end + 7, (NumberLiteral(end + 12, Decimal(1)),)
    )
    assert parse_filter(f"IsNull({name})") == NullTest(0, Operand(7, name))
    assert parse_filter(f"Contains({name},x)") == TextTest(
        0, TextFunction.CONTAINS, Operand(9, name), WordLiteral(10 + end, "x")
    )


def test_an_attribute_called_not_needs_an_operator_with_a_dash() -> None:
    assert parse_filter("not in -eq 1") == Not(0, eq(4, "in", 7, NumberLiteral(11, Decimal(1))))
    assert message("not in (1)") == (
        "The filter is invalid at character 8 (not in >>>(1)): "
        "expected an operator: -eq, -ne, -gt, -ge, -lt, -le or -in, not '('."
    )


CONDITION = "a condition such as name -eq 'text', or one of NOT, Contains(, StartsWith(, EndsWith(, IsNull( and ("
VALUE = "a value: a 'text', a number, a date-time, true, false, null or a bare word"
OPERATOR = "an operator: -eq, -ne, -gt, -ge, -lt, -le or -in"
KNOWN_FUNCTIONS = "functions are Contains, StartsWith, EndsWith and IsNull"
END = "AND, OR or the end of the filter"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        # conditions
        ("-eq 5", "1 (>>>-eq 5)", f"expected {CONDITION}, not '-eq'"),
        ("'a' -eq 5", "1 (>>>'a' -eq 5)", f"expected {CONDITION}, not 'a'"),
        ("5 -eq 'a'", "1 (>>>5 -eq 'a')", f"expected {CONDITION}, not '5'"),
        ("a:b -eq 5", "1 (>>>a:b -eq 5)", f"expected {CONDITION}, not 'a:b'"),
        ("()", "2 ((>>>))", f"expected {CONDITION}, not ')'"),
        ("NOT", "4 (NOT>>>)", f"the filter ends too early; expected {CONDITION}"),
        ("a eq 1 AND", "11 (a eq 1 AND>>>)", f"the filter ends too early; expected {CONDITION}"),
        ("a eq 1 &&", "8 (a eq 1 >>>&&)", f"expected {END}, not '&'; this character is allowed only in quotes"),
        # operators
        ("name", "5 (name>>>)", f"the filter ends too early; expected {OPERATOR}"),
        ("name like 'x'", "6 (name >>>like 'x')", f"expected {OPERATOR}, not 'like'"),
        ("name -like 'x'", "6 (name >>>-like 'x')", f"expected {OPERATOR}, not '-like'"),
        ("name ın (1)", "6 (name >>>ın (1))", f"expected {OPERATOR}, not 'ın'"),
        ("name = 'x'", "6 (name >>>= 'x')", f"expected {OPERATOR}, not '='"),
        ("name 'x'", "6 (name >>>'x')", f"expected {OPERATOR}, not 'x'"),
        ("name-eq 'x'", "9 (name-eq >>>'x')", f"expected {OPERATOR}, not 'x'; names may contain hyphens, so put a space before the operator: name -eq"),
        ("name -eq-5", "6 (name >>>-eq-5)", f"expected {OPERATOR}, not '-eq-5'"),
        ("a AND b eq 1", "3 (a >>>AND b eq 1)", f"expected {OPERATOR}, not 'AND'"),
        # functions
        ("Foo(a, 'x')", "1 (>>>Foo(a, 'x'))", f"there is no function Foo; {KNOWN_FUNCTIONS}"),
        ("a eq 1 AND Lower(a) eq 'x'", "12 (a eq 1 AND >>>Lower(a) eq 'x')", f"there is no function Lower; {KNOWN_FUNCTIONS}"),
        ("Contains('x', a)", "10 (Contains(>>>'x', a))", "expected the name of an attribute, a field or a related context, not 'x'"),
        ("Contains(a)", "11 (Contains(a>>>))", "expected a comma and then a text, not ')'"),
        ("Contains(a, 'x'", "16 (Contains(a, 'x'>>>)", "the filter ends too early; expected a closing )"),
        ("Contains(a, 'x', 'y')", "16 (Contains(a, 'x'>>>, 'y'))", "expected a closing ), not ','"),
        ("IsNull(a, 'x')", "9 (IsNull(a>>>, 'x'))", "expected a closing ), not ','"),
        ("IsNull()", "8 (IsNull(>>>))", "expected the name of an attribute, a field or a related context, not ')'"),
        # cultures
        ("a[] eq 1", "3 (a[>>>] eq 1)", "expected a culture id such as 1031, not ']'"),
        ("a[de] eq 1", "3 (a[>>>de] eq 1)", "expected a culture id such as 1031, not 'de'"),
        ("a[-1] eq 1", "3 (a[>>>-1] eq 1)", "expected a culture id such as 1031, not -1"),
        ("a[1.5] eq 1", "3 (a[>>>1.5] eq 1)", "expected a culture id such as 1031, not 1.5"),
        ("a[1031 eq 1", "8 (a[1031 >>>eq 1)", "expected a closing ], not 'eq'"),
        # values
        ("a eq", "5 (a eq>>>)", f"the filter ends too early; expected {VALUE}"),
        ("a eq AND b eq 1", "6 (a eq >>>AND b eq 1)", "expected a value, not AND; to compare with this word, put it in quotes: 'AND'"),
        ("(a eq not)", "7 ((a eq >>>not))", "expected a value, not not; to compare with this word, put it in quotes: 'not'"),
        ("a eq (1)", "6 (a eq >>>(1))", f"expected {VALUE}, not '('"),
        ("a eq -x", "6 (a eq >>>-x)", f"expected {VALUE}, not '-x'"),
        ("a eq @x", "6 (a eq >>>@x)", f"expected {VALUE}, not '@'; this character is allowed only in quotes"),
        ("a eq x@y.z", "7 (a eq x>>>@y.z)", f"expected {END}, not '@'; this character is allowed only in quotes"),
        ("a eq two words", "10 (a eq two >>>words)", f"expected {END}, not 'words'; put text of several words in quotes"),
        ("a eq 1 b eq 2", "8 (a eq 1 >>>b eq 2)", f"expected {END}, not 'b'"),
        ("a eq 'x' 'y'", "10 (a eq 'x' >>>'y')", f"expected {END}, not 'y'"),
        ("a eq 'x", "6 (a eq >>>'x)", "the text that begins here has no closing '"),
        ("a eq 'x''", "6 (a eq >>>'x'')", "the text that begins here has no closing '"),
        ("a eq 'it's'", "10 (a eq 'it'>>>s')", f"expected {END}, not 's'; a quote inside a text is written twice: ''"),
        ('a eq "x\'', "6 (a eq >>>\"x')", 'the text that begins here has no closing "'),
        ("a eq 2026-02-30", "6 (a eq >>>2026-02-30)", "2026-02-30 is not a valid date or time"),
        ("a eq 2026-02-01T24:00:00", "6 (a eq >>>2026-02-01T24:00:00)", "2026-02-01T24:00:00 is not a valid date or time"),
        ("a eq 0000-01-01", "6 (a eq >>>0000-01-01)", "0000-01-01 is not a valid date or time"),
        # lists and brackets
        ("a in x", "6 (a in >>>x)", "expected a list in brackets such as ('a', 'b'), not 'x'"),
        ("a in ()", "7 (a in (>>>))", f"expected {VALUE}, not ')'"),
        ("a in (1 2)", "9 (a in (1 >>>2))", "expected a comma or a closing ), not '2'"),
        ("a in (1,)", "9 (a in (1,>>>))", f"expected {VALUE}, not ')'"),
        ("a in (1", "8 (a in (1>>>)", "the filter ends too early; expected a comma or a closing )"),
        ("(a eq 1", "8 ((a eq 1>>>)", "the filter ends too early; expected AND, OR or a closing )"),
        ("(a eq 1 b", "9 ((a eq 1 >>>b)", "expected AND, OR or a closing ), not 'b'"),
        ("a eq 1)", "7 (a eq 1>>>))", f"expected {END}, not ')'"),
        # characters that cannot be shown as they are
        ("a eq\n\x01", "6 (a eq >>> )", f"expected {VALUE}, not ' '; this character is allowed only in quotes"),
        ("a eq 'x\x00'", "8 (a eq 'x>>> ')", "a filter cannot contain a NUL character or half of a surrogate pair"),
        ("a eq \ud800", "6 (a eq >>> )", "a filter cannot contain a NUL character or half of a surrogate pair"),
        ("a " + "b" * 50, "3 (a >>>" + "b" * 30 + "…)", f"expected {OPERATOR}, not '{'b' * 40}…'"),
        ("a eq 1 AND a eq 1 AND a eq 1 AND b 'x'", "36 (…1 AND a eq 1 AND a eq 1 AND b >>>'x')", f"expected {OPERATOR}, not 'x'"),
    ],
)  # fmt: skip
def test_mistakes(text: str, place: str, problem: str) -> None:
    assert message(text) == f"The filter is invalid at character {place}: {problem}."


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_filter(text: str) -> None:
    assert message(text) == "The filter is empty; omit $filter to read without a filter."


def test_the_length_is_limited() -> None:
    assert isinstance(parse_filter(f"a eq '{'x' * 3_993}'"), Comparison)
    assert message(f"a eq '{'x' * 3_994}'") == "The filter has 4,001 characters; at most 4,000 are allowed."


def test_the_number_of_conditions_is_limited() -> None:
    assert len(list(predicates(parse_filter(" or ".join(["a eq 1"] * 100))))) == 100
    assert message(" or ".join(["a eq 1"] * 101)) == (
        "The filter is invalid at character 1001 (…a eq 1 or a eq 1 or a eq 1 or >>>a eq 1): "
        "a filter can have at most 100 conditions."
    )


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("NOT ", ""), ("NOT (", ")")])
@pytest.mark.parametrize("inner", ["a eq 1", "Contains(a, x)", "a in (1)", "a eq 1 and b eq 1 or c eq 1"])
def test_nesting_is_limited(opening: str, closing: str, inner: str) -> None:
    levels = 32 // (opening.count("(") + opening.count("NOT"))
    parse_filter(opening * levels + inner + closing * levels)
    refused = message(opening * (levels + 1) + inner + closing * (levels + 1))
    assert refused.endswith("brackets and NOT are nested deeper than 32 levels.")


def test_siblings_do_not_nest() -> None:
    parse_filter(" and ".join(["NOT (NOT (a eq 1))"] * 100))
