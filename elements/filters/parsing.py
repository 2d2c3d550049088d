"""Parsing of a filter into its syntax tree (D13), and messages about mistakes.

`grammar.lark` defines the syntax. This module builds the tree while lark parses, without recursion, enforces the
limits, and explains mistakes to client developers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken, v_args
from lark.parsers.lalr_interactive_parser import InteractiveParser
from lark.parsers.lalr_parser_state import ParserState

from elements.filters import syntax
from elements.filters.syntax import Expression, Literal, Operand, Operator, TextFunction, refusal
from repository_site.core.problems import Unreadable
from repository_site.core.wording import printable

MAX_LENGTH = 4_000
MAX_PREDICATES = 100
MAX_NESTING = 32

FUNCTIONS = {each.lower(): each for each in TextFunction}
# The database cannot store either of them, and JSON cannot contain the latter.
FORBIDDEN = re.compile(r"[\x00\ud800-\udfff]")
CULTURE = re.compile(r"[0-9]{1,6}")
WORD = re.compile(r"[\w.:+-]+")
# Each run of word characters is tried once, from its start and as a whole; otherwise time would be quadratic.
LAST_WORD = re.compile(r"(?<![\w.:+-])([\w.:+-]++)\s*\Z")
GLUED_OPERATOR = re.compile(r"(.+)(-(?:eq|ne|gt|ge|lt|le|in))", re.IGNORECASE | re.ASCII)
KEYWORDS = frozenset({"AND", "OR", "NOT"})
OPERATOR_WORDS = frozenset({"eq", "ne", "gt", "ge", "lt", "le", "in", "equal"})
SIGNS = frozenset({"LPAR", "RPAR", "LSQB", "RSQB", "COMMA"})
# A bracket after one of these contains arguments or values and does not count as nesting.
BEFORE_ARGUMENTS = frozenset({"CONTAINS", "STARTS_WITH", "ENDS_WITH", "IS_NULL", "IN", "DASH_IN"})

# Tokens that the parser can continue with, in words: the first entry whose terminals it all accepts.
EXPECTATIONS = (
    (
        {"NOT", "NAME"},
        "a condition such as name -eq 'text', or one of NOT, Contains(, StartsWith(, EndsWith(, IsNull( and (",
    ),
    ({"TEXT"}, "a value: a 'text', a number, a date-time, true, false, null or a bare word"),
    ({"NAME"}, "the name of an attribute, a field or a related context"),
    ({"DASH_COMPARE"}, "an operator: -eq, -ne, -gt, -ge, -lt, -le or -in"),
    ({"NUMBER"}, "a culture id such as 1031"),
    ({"RSQB"}, "a closing ]"),
    ({"AND", "RPAR"}, "AND, OR or a closing )"),
    ({"AND"}, "AND, OR or the end of the filter"),
    ({"COMMA", "RPAR"}, "a comma or a closing )"),
    ({"COMMA"}, "a comma and then a text"),
    ({"RPAR"}, "a closing )"),
    ({"LPAR"}, "a list in brackets such as ('a', 'b')"),
)


def parse_filter(text: str) -> Expression:
    """Return the syntax tree of a filter. Raise Unreadable with the mistake, its place, and what is allowed there."""
    if len(text) > MAX_LENGTH:
        raise Unreadable(f"The filter has {len(text):,} characters; at most {MAX_LENGTH:,} are allowed.")
    if not text.strip():
        raise Unreadable("The filter is empty; omit $filter to read without a filter.")
    forbidden = FORBIDDEN.search(text)
    if forbidden:
        raise refusal(text, forbidden.start(), "a filter cannot contain a NUL character or half of a surrogate pair")
    try:
        expression = _parse(text)
    except _Mistake as mistake:
        raise refusal(text, mistake.position, mistake.problem) from None
    beyond = next(islice(syntax.predicates(expression), MAX_PREDICATES, None), None)
    if beyond is not None:
        problem = f"a filter can have at most {MAX_PREDICATES} conditions"
        raise refusal(text, beyond.position, problem)
    return expression


class _Mistake(Exception):
    """A mistake and its place; `parse_filter` adds the text around it."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(problem)
        self.position = position
        self.problem = problem


@cache
def _parser() -> Lark:
    """Created once for each process. Parsing keeps its state in the call, so threads may share the parser."""
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", transformer=_TreeBuilder(), maybe_placeholders=False)


def _parse(text: str) -> Expression:
    parser = _parser().parse_interactive(text)
    previous = ""
    try:
        for token in _tokens(parser):
            _feed(parser, token, text)
            if token.type == "NOT" or (token.type == "LPAR" and previous not in BEFORE_ARGUMENTS):
                _check_nesting(parser, token)
            previous = token.type
    except UnexpectedCharacters as unexpected:
        position = cast("int", unexpected.pos_in_stream)
        raise _unknown_character(text, position, _accepted(parser)) from None
    return cast("Expression", _feed(parser, Token("$END", "", start_pos=len(text)), text))


def _tokens(parser: InteractiveParser) -> Iterator[Token]:
    lex: Callable[[ParserState[Any]], Iterator[Token]] = parser.lexer_thread.lex
    return lex(parser.parser_state)


def _accepted(parser: InteractiveParser) -> Set[str]:
    accepts: Callable[[], Set[str]] = parser.accepts
    return accepts()


def _feed(parser: InteractiveParser, token: Token, text: str) -> Any:
    """Feed a token to the parser; if it fails, report the tokens that it would have accepted.

    This needs a copy from before: when the parser fails, it has already closed rules that could have continued.
    """
    state = parser.parser_state
    states, values = state.state_stack[:], state.value_stack[:]
    try:
        return parser.feed_token(token)
    except UnexpectedToken:
        state.state_stack[:], state.value_stack[:] = states, values
        raise _unexpected_token(text, token, _accepted(parser)) from None


def _check_nesting(parser: InteractiveParser, token: Token) -> None:
    """Open rules are on the parser's stack, so the depth is known without a tree."""
    waiting = parser.parser_state.value_stack
    nesting = sum(isinstance(each, Token) and each.type in ("NOT", "LPAR") for each in waiting)
    if nesting > MAX_NESTING:
        raise _Mistake(_start(token), f"brackets and NOT are nested deeper than {MAX_NESTING} levels")


@v_args(inline=True)
class _TreeBuilder(Transformer[Token, Expression]):
    """Lark calls this with the parts of a rule, innermost rules first. It has no state."""

    def disjunction(self, *parts: Expression | Token) -> Expression:
        operands = tuple(part for part in parts if not isinstance(part, Token))
        return syntax.Or(operands[0].position, operands)

    def conjunction_of(self, *parts: Expression | Token) -> Expression:
        operands = tuple(part for part in parts if not isinstance(part, Token))
        return syntax.And(operands[0].position, operands)

    def negation(self, keyword: Token, operand: Expression) -> Expression:
        return syntax.Not(_start(keyword), operand)

    def group(self, _opening: Token, expression: Expression, _closing: Token) -> Expression:
        return expression

    def comparison(self, operand: Operand, token: Token, literal: Literal) -> Expression:
        word = token.lower().removeprefix("-")
        operator = Operator.EQ if word == "equal" else Operator(f"-{word}")
        return syntax.Comparison(operand.position, operand, operator, _start(token), literal)

    def membership(self, operand: Operand, token: Token, *parts: Literal | Token) -> Expression:
        literals = tuple(part for part in parts if not isinstance(part, Token))
        return syntax.Membership(operand.position, operand, _start(token), literals)

    def text_test(
        self, name: Token, _opening: Token, operand: Operand, _comma: Token, literal: Literal, _closing: Token
    ) -> Expression:
        return syntax.TextTest(_start(name), FUNCTIONS[name.lower()], operand, literal)

    def null_test(self, name: Token, _opening: Token, operand: Operand, _closing: Token) -> Expression:
        return syntax.NullTest(_start(name), operand)

    def operand(self, name: Token, *culture: Token) -> Operand:
        if not culture:
            return Operand(_start(name), str(name))
        lcid = culture[1]
        if not CULTURE.fullmatch(lcid):
            raise _Mistake(_start(lcid), f"expected a culture id such as 1031, not {printable(lcid, 40)}")
        return Operand(_start(name), str(name), syntax.CultureLiteral(_start(lcid), int(lcid)))

    def text(self, token: Token) -> Literal:
        quote = token[0]
        return syntax.TextLiteral(_start(token), token[1:-1].replace(quote * 2, quote))

    def number(self, token: Token) -> Literal:
        return syntax.NumberLiteral(_start(token), Decimal(token))

    def moment(self, token: Token) -> Literal:
        moment = syntax.read_moment(token)
        if moment is None:
            raise _Mistake(_start(token), f"{token} is not a valid date or time")
        return syntax.MomentLiteral(_start(token), moment)

    def truth(self, token: Token) -> Literal:
        return syntax.TruthLiteral(_start(token), token.lower() == "true")

    def null(self, token: Token) -> Literal:
        return syntax.NullLiteral(_start(token))

    def word(self, token: Token) -> Literal:
        # Before a comma or a closing bracket, the grammar takes `not` for a name.
        if token.upper() in KEYWORDS:
            raise _Mistake(_start(token), _keyword_as_value(token))
        return syntax.WordLiteral(_start(token), str(token))


def _start(token: Token) -> int:
    return cast("int", token.start_pos)


def _expected(accepted: Set[str]) -> str:
    return next(words for terminals, words in EXPECTATIONS if terminals <= accepted)


def _unknown_character(text: str, position: int, accepted: Set[str]) -> _Mistake:
    character = text[position]
    if character in "'\"":
        return _Mistake(position, f"the text that begins here has no closing {character}")
    word = WORD.match(text, position)
    problem = f"expected {_expected(accepted)}, not '{printable(word[0] if word else character, 40)}'"
    if not word and accepted & {"TEXT", "AND"}:
        problem += "; this character is allowed only in quotes"
    return _Mistake(position, problem)


def _unexpected_token(text: str, token: Token, accepted: Set[str]) -> _Mistake:
    position = _start(token)
    if token.type == "$END":
        return _Mistake(position, f"the filter ends too early; expected {_expected(accepted)}")
    if "TEXT" in accepted and token.type in KEYWORDS:
        return _Mistake(position, _keyword_as_value(token))
    last = LAST_WORD.search(text, 0, position)
    if last and "DASH_COMPARE" in accepted and token.type == "LPAR" and last[1].lower() not in OPERATOR_WORDS:
        known = "functions are Contains, StartsWith, EndsWith and IsNull"
        return _Mistake(last.start(), f"there is no function {printable(last[1], 40)}; {known}")
    # A text literal already has quotes.
    shown = printable(token, 40) if token.type == "TEXT" else f"'{printable(token, 40)}'"
    hint = _hint(last[1], token, accepted) if last else ""
    before = text[max(0, position - 1) : position]
    if before in ("'", '"') and WORD.match(token):
        hint = f"; a quote inside a text is written twice: {before * 2}"
    return _Mistake(position, f"expected {_expected(accepted)}, not {shown}{hint}")


def _hint(last_word: str, token: Token, accepted: Set[str]) -> str:
    """Return the most likely cause if two words follow each other."""
    glued = GLUED_OPERATOR.fullmatch(last_word)
    if "DASH_COMPARE" in accepted and glued:
        apart = f"{printable(glued[1], 40)} {glued[2]}"
        return f"; names may contain hyphens, so put a space before the operator: {apart}"
    if "AND" in accepted and token.type not in SIGNS and last_word[0].isalpha():
        return "; put text of several words in quotes"
    return ""


def _keyword_as_value(keyword: Token) -> str:
    return f"expected a value, not {keyword}; to compare with this word, put it in quotes: '{keyword}'"
