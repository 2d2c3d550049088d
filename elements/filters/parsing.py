"""From the text of a filter to its syntax tree (D13), and what is said when there is none.

`grammar.lark` says what can be written; this module builds the tree while lark parses, without recursion, keeps the
limits, and puts the parser's view of a mistake into words for client developers.
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
# Neither can be stored in the database, and the latter cannot even be shown in an answer.
FORBIDDEN = re.compile(r"[\x00\ud800-\udfff]")
CULTURE = re.compile(r"[0-9]{1,6}")
WORD = re.compile(r"[\w.:+-]+")
# Each run of word characters is tried once, from its start and as a whole: otherwise time would grow with the square.
LAST_WORD = re.compile(r"(?<![\w.:+-])([\w.:+-]++)\s*\Z")
GLUED_OPERATOR = re.compile(r"(.+)(-(?:eq|ne|gt|ge|lt|le|in))", re.IGNORECASE | re.ASCII)
KEYWORDS = frozenset({"AND", "OR", "NOT"})
OPERATOR_WORDS = frozenset({"eq", "ne", "gt", "ge", "lt", "le", "in", "equal"})
SIGNS = frozenset({"LPAR", "RPAR", "LSQB", "RSQB", "COMMA"})
# A bracket after one of these holds arguments or values and is no nesting.
BEFORE_ARGUMENTS = frozenset({"CONTAINS", "STARTS_WITH", "ENDS_WITH", "IS_NULL", "IN", "DASH_IN"})

# What the parser can go on with, in words: the first line whose terminals it all accepts.
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
    """The syntax tree of a filter, or Unreadable saying what is wrong, where, and what is allowed there."""
    if len(text) > MAX_LENGTH:
        raise Unreadable(f"The filter has {len(text):,} characters; at most {MAX_LENGTH:,} are allowed.")
    if not text.strip():
        raise Unreadable("The filter is empty; leave $filter out to have no filter.")
    forbidden = FORBIDDEN.search(text)
    if forbidden:
        raise refusal(text, forbidden.start(), "a NUL character or half of a surrogate pair cannot stand in a filter")
    try:
        expression = _parse(text)
    except _Mistake as mistake:
        raise refusal(text, mistake.position, mistake.problem) from None
    beyond = next(islice(syntax.predicates(expression), MAX_PREDICATES, None), None)
    if beyond is not None:
        problem = f"a filter has at most {MAX_PREDICATES} conditions, and here one more begins"
        raise refusal(text, beyond.position, problem)
    return expression


class _Mistake(Exception):
    """What is wrong and where; `parse_filter` adds the text around it."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(problem)
        self.position = position
        self.problem = problem


@cache
def _parser() -> Lark:
    """Made once a process. Parsing keeps all its state in the call, so threads may share it."""
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
    """The terminals that the parser could take now."""
    accepts: Callable[[], Set[str]] = parser.accepts
    return accepts()


def _feed(parser: InteractiveParser, token: Token, text: str) -> Any:
    """Let the parser take a token; when it cannot, say what it could have taken.

    For that it must go back: before it fails, it closes rules that could have gone on, and forgets them.
    """
    state = parser.parser_state
    states, values = state.state_stack[:], state.value_stack[:]
    try:
        return parser.feed_token(token)
    except UnexpectedToken:
        state.state_stack[:], state.value_stack[:] = states, values
        raise _unexpected_token(text, token, _accepted(parser)) from None


def _check_nesting(parser: InteractiveParser, token: Token) -> None:
    """What is still open waits on the parser's stack, so its depth is known without a tree."""
    waiting = parser.parser_state.value_stack
    nesting = sum(isinstance(each, Token) and each.type in ("NOT", "LPAR") for each in waiting)
    if nesting > MAX_NESTING:
        raise _Mistake(_start(token), f"brackets and NOT are nested deeper than {MAX_NESTING} levels here")


@v_args(inline=True)
class _TreeBuilder(Transformer[Token, Expression]):
    """Called by lark with the parts of a rule, innermost rules first. Has no state of its own."""

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
            raise _Mistake(_start(token), f"{token} is no day of the calendar, or no time of the day")
        return syntax.MomentLiteral(_start(token), moment)

    def truth(self, token: Token) -> Literal:
        return syntax.TruthLiteral(_start(token), token.lower() == "true")

    def null(self, token: Token) -> Literal:
        return syntax.NullLiteral(_start(token))

    def word(self, token: Token) -> Literal:
        # Before a comma or a closing bracket the grammar takes `not` for a name.
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
        return _Mistake(position, f"the text that begins here does not end, a closing {character} is missing")
    word = WORD.match(text, position)
    problem = f"expected {_expected(accepted)}, not '{printable(word[0] if word else character, 40)}'"
    if not word and accepted & {"TEXT", "AND"}:
        problem += ", which can stand in a text in quotes only"
    return _Mistake(position, problem)


def _unexpected_token(text: str, token: Token, accepted: Set[str]) -> _Mistake:
    position = _start(token)
    if token.type == "$END":
        return _Mistake(position, f"the filter ends too early, expected {_expected(accepted)}")
    if "TEXT" in accepted and token.type in KEYWORDS:
        return _Mistake(position, _keyword_as_value(token))
    last = LAST_WORD.search(text, 0, position)
    if last and "DASH_COMPARE" in accepted and token.type == "LPAR" and last[1].lower() not in OPERATOR_WORDS:
        known = "functions are Contains, StartsWith, EndsWith and IsNull"
        return _Mistake(last.start(), f"there is no function {printable(last[1], 40)}; {known}")
    # A text in quotes has quotes already.
    shown = printable(token, 40) if token.type == "TEXT" else f"'{printable(token, 40)}'"
    hint = _hint(last[1], token, accepted) if last else ""
    before = text[max(0, position - 1) : position]
    if before in ("'", '"') and WORD.match(token):
        hint = f"; a quote inside a text is written twice: {before * 2}"
    return _Mistake(position, f"expected {_expected(accepted)}, not {shown}{hint}")


def _hint(last_word: str, token: Token, accepted: Set[str]) -> str:
    """The most likely cause, where two words follow each other."""
    glued = GLUED_OPERATOR.fullmatch(last_word)
    if "DASH_COMPARE" in accepted and glued:
        apart = f"{printable(glued[1], 40)} {glued[2]}"
        return f"; names may hold hyphens, so put a blank before the operator: {apart}"
    if "AND" in accepted and token.type not in SIGNS and last_word[0].isalpha():
        return "; a text of several words must stand in quotes"
    return ""


def _keyword_as_value(keyword: Token) -> str:
    return f"expected a value, not {keyword}; to compare with this very word, put it in quotes: '{keyword}'"
