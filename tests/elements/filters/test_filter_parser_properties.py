"""Properties of the filter parser: round trips, garbage, linear time, and threads."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lark import Lark, Token
from lark.parsers.lalr_interactive_parser import InteractiveParser

from elements.filters import parsing
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
)
from repository_site.core.problems import Unreadable


def message(text: str) -> str:
    with pytest.raises(Unreadable) as caught:
        parse_filter(text)
    return caught.value.message


class FilterWriter:
    """Writes a random filter and builds the expected syntax tree with all positions."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.random = Random(draw(st.integers(0, 2**32)))
        self.text = ""

    def put(self, token: str, *, is_keyword: bool = False) -> int:
        """Append a token with random spaces before it, at least one between two words."""
        if is_keyword:
            token = self.random.choice([token, token.lower(), token.upper(), token.swapcase()])
        glues = bool(self.text) and is_word(self.text[-1]) and is_word(token[0])
        self.text += self.random.choice([" ", "\n", " \t "] if glues else ["", "", " ", "\u00a0\n"])
        self.text += token
        return len(self.text) - len(token)

    def expression(self, levels: int) -> Expression:
        kinds: list[Callable[[int], Expression]] = [self.predicate]
        if levels:
            kinds += [self.negation, self.conjunction, self.disjunction]
        return self.draw(st.sampled_from(kinds))(levels)  # type: ignore[no-any-return]

    def operand(self, levels: int, *plain: Callable[[int], Expression]) -> Expression:
        """Write an operand of NOT, AND or OR; in brackets unless it binds closer, and sometimes even then."""
        if self.draw(st.booleans()):
            return self.draw(st.sampled_from([self.predicate, *plain]))(levels)  # type: ignore[no-any-return]
        self.put("(")
        inner = self.expression(levels - 1)
        self.put(")")
        return inner

    def negation(self, levels: int) -> Expression:
        return Not(self.put("NOT", is_keyword=True), self.operand(levels, *[self.negation] * (levels > 1)))

    def conjunction(self, levels: int) -> Expression:
        operands = self.joined("AND", lambda: self.operand(levels, self.negation))
        return And(operands[0].position, operands)

    def disjunction(self, levels: int) -> Expression:
        operands = self.joined("OR", lambda: self.operand(levels, self.negation, self.conjunction))
        return Or(operands[0].position, operands)

    def joined(self, keyword: str, operand: Callable[[], Expression]) -> tuple[Expression, ...]:
        operands = [operand()]
        for _ in range(self.draw(st.integers(1, 2))):
            self.put(keyword, is_keyword=True)
            operands.append(operand())
        return tuple(operands)

    def predicate(self, levels: int) -> Expression:
        kind = self.draw(st.sampled_from(["comparison", "membership", "text", "null"]))
        if kind == "null":
            position = self.put("IsNull", is_keyword=True)
            self.put("(")
            operand = self.name()
            self.put(")")
            return NullTest(position, operand)
        if kind == "text":
            function = self.draw(st.sampled_from(list(TextFunction)))
            position = self.put(function, is_keyword=True)
            self.put("(")
            operand = self.name()
            self.put(",")
            literal = self.literal()
            self.put(")")
            return TextTest(position, function, operand, literal)
        operand = self.name()
        if kind == "comparison":
            operator = self.draw(st.sampled_from([each for each in Operator if each is not Operator.IN]))
            return Comparison(operand.position, operand, operator, self.operator(operator, operand), self.literal())
        operator_position = self.operator(Operator.IN, operand)
        self.put("(")
        literals = [self.literal()]
        for _ in range(self.draw(st.integers(0, 2))):
            self.put(",")
            literals.append(self.literal())
        self.put(")")
        return Membership(operand.position, operand, operator_position, tuple(literals))

    def operator(self, operator: Operator, operand: Operand) -> int:
        spellings = [operator.value]
        if operand.culture or operand.name.lower() != "not":
            spellings += [operator.value[1:], *["Equal"] * (operator is Operator.EQ)]
        return self.put(self.draw(st.sampled_from(spellings)), is_keyword=True)

    def name(self) -> Operand:
        name = self.draw(NAMES)
        position = self.put(name)
        if self.draw(st.booleans()):
            return Operand(position, name)
        self.put("[")
        lcid = self.draw(st.integers(0, 99_999))
        culture = CultureLiteral(self.put(str(lcid)), lcid)
        self.put("]")
        return Operand(position, name, culture)

    def literal(self) -> Literal:
        kind = self.draw(st.sampled_from(["text", "word", "number", "moment", "truth", "null"]))
        if kind == "text":
            value, quote = self.draw(TEXTS), self.draw(st.sampled_from("'\""))
            return TextLiteral(self.put(quote + value.replace(quote, quote * 2) + quote), value)
        if kind == "word":
            word = self.draw(WORDS)
            return WordLiteral(self.put(word), word)
        if kind == "number":
            number = self.draw(NUMBERS)
            return NumberLiteral(self.put(number), Decimal(number))
        if kind == "moment":
            moment = self.draw(st.datetimes())
            return MomentLiteral(self.put(moment.isoformat()), moment)
        if kind == "truth":
            truth = self.draw(st.booleans())
            return TruthLiteral(self.put(str(truth), is_keyword=True), truth)
        return NullLiteral(self.put("null", is_keyword=True))


def is_word(character: str) -> bool:
    return character.isalnum() or character in "_.:+-"


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


NAMES = st.one_of(
    st.sampled_from("name a-b größe and OR in eq equal true null Contains isnull not".split()),
    st.from_regex(r"[^\W\d][\w.-]{0,9}", fullmatch=True),
)


WORDS = st.one_of(
    st.sampled_from("released in EQ StartsWith 1.1.2 5-3 a:b 0c770000-0000-4000-8000-00000000009a".split()),
    st.from_regex(r"[^\W\d][\w.-]{0,9}", fullmatch=True).filter(
        lambda word: word.lower() not in ("and", "or", "not", "true", "false", "null")
    ),
)


NUMBERS = st.one_of(
    st.integers().map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda number: format(number, "f")),
    st.sampled_from(["1e5", "-2.5E-3", "1E+400", "-0", "007"]),
)


@st.composite
def written_filters(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[str, Expression]:
    writer = FilterWriter(draw)
    expression = writer.expression(levels=3)
    return writer.text, expression


@settings(max_examples=200, deadline=None)
@given(written_filters())
@pytest.mark.long
def test_written_filters_parse_to_the_same_tree(written: tuple[str, Expression]) -> None:
    text, expression = written
    assert parse_filter(text) == expression


TOKENS = "a name -eq eq in -in Contains( IsNull( NOT AND OR ( ) [ ] , 'x' ' \" 5 -5 2026-03-02 true null 1031 . - : @ \0 é \ud800".split(" ")  # fmt: skip


@pytest.mark.long
@settings(max_examples=500, deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(st.sampled_from(TOKENS), max_size=60).map(" ".join),
        st.lists(st.sampled_from(TOKENS), max_size=60).map("".join),
        st.binary(max_size=200).map(lambda content: content.decode("utf-8", "surrogateescape")),
        st.binary(max_size=200).map(lambda content: content.decode("latin-1")),
    )
)
@example("𝓷𝓸𝓽 a eq 1")
def test_garbage_is_unreadable(text: str) -> None:
    said = ""
    try:
        parse_filter(text)
    except Unreadable as refused:
        said = refused.message
    assert said.isprintable()
    assert len(said) < 400


LONG = {
    "brackets": "(" * 4_000,
    "closed brackets": "(" * 1_990 + "a eq 1" + ")" * 1_990,
    "nots": "NOT " * 1_000,
    "nots and brackets": "NOT (" * 800,
    "functions": "Contains(" * 440,
    "quotes": "'" * 3_999,
    "double quotes": '"' * 3_999,
    "one word": "a" * 4_000,
    "words": "a " * 2_000,
    "a long word and a text": "a" * 3_900 + " eq 'x' 'y'",
    "blanks": "a" + " " * 3_998 + "b",
    "words and blanks": ("not" + " " * 97) * 40,
    "hyphens": "-" * 4_000,
    "dots": "1." * 2_000,
    "digits": "a eq " + "1" * 3_990,
    "values": "a in (" + ",".join("1" * 1_990) + ")",
    "values without end": "a in (" + "a," * 1_990,
    "conditions": "a eq 1 or " * 390 + "a eq 1",
    "astral": "\U0001f600" * 4_000,
}


@pytest.mark.long
@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_work_is_linear_in_the_length(text: str) -> None:
    """Counts function calls, which are the same on every machine."""
    parse_filter("a eq 1")
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        parse_filter(text)
    except Unreadable:
        pass
    finally:
        sys.setprofile(None)
    assert calls < 100 * len(text) + 5_000


def test_nesting_that_is_too_deep_stops_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[str] = []
    feed = parsing._feed

    def count(parser: InteractiveParser, token: Token, text: str) -> Any:
        fed.append(token)
        return feed(parser, token, text)

    monkeypatch.setattr(parsing, "_feed", count)
    message("(" * 4_000)
    assert len(fed) == 33


@pytest.mark.long
def test_threads_share_the_parser() -> None:
    texts = [f"a{number} eq {number} or NOT (b eq 'x' and c in (1, 2))" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(parse_filter, texts)) == [parse_filter(text) for text in texts]


def test_the_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    """lark resolves conflicts silently, unless it is asked to log them."""
    grammar = Path(parsing.__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    with caplog.at_level(logging.DEBUG, logger="lark"):
        Lark(grammar, parser="lalr", lexer="basic", debug=True)
    assert [record.message for record in caplog.records if "conflict" in record.message.lower()] == []
