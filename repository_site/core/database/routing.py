"""Adds the storage of the scope to every statement on a tenant table (D250).

Row-level security already limits a statement to its storage. The policy alone does not tell a distributed database
where the rows are, so each table in FROM, JOIN, USING, UPDATE and DELETE also gets a condition on its `storage_id`.
Rows that an INSERT selects are joined with the revision of the storage, which tells where they belong.
This happens here, below the ORM and below hand-written SQL, so that no statement can lack it. For the same reason, the
conditions of a narrowed scope are added here (D491), and those of a scope as of a time (D564).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple

from django.apps import apps

from repository_site.core.database.narrowing import HIDDEN, hiding, only_reads
from repository_site.core.database.past import AS_OF, STORAGE, past_beside, there_then

TOKENS = re.compile(
    r"""(?P<comment>--[^\n]* | /\*.*?\*/)
      | (?P<text>'(?:[^']|'')*' | [eE]'(?:[^'\\]|\\.|'')*' | (?P<dollars>\$\w*\$).*?(?P=dollars))
      | (?P<name>"[^"]+" | [A-Za-z_][A-Za-z_0-9]*)
      | (?P<mark>[(),;.*])""",
    re.VERBOSE | re.DOTALL,
)
PLACEHOLDERS = re.compile(r"%%|%s")
FIRST_WORDS = {"SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "EXPLAIN"}
# Words before a table of a statement.
BEFORE_TABLES = {"FROM", "JOIN", "USING", "UPDATE", "ONLY"}
JOINS = {"JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "NATURAL"}
# A condition in WHERE would drop the rows that these add for a table before them, and a condition in ON would not limit
# the rows of the table after them.
OUTER_JOINS = {"RIGHT", "FULL"}
# Words that end a WHERE or ON condition, or come after the place of a missing WHERE.
ENDS = {
    "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR", "WINDOW", "UNION", "INTERSECT", "EXCEPT",
}  # fmt: skip
NOT_ALIASES = {
    *ENDS,
    *JOINS,
    "RETURNING",
    "WHERE",
    "ON",
    "SET",
    "USING",
    "FROM",
    "SELECT",
    "VALUES",
    "DEFAULT",
    "OVERRIDING",
}
# Statements with filters have many texts; longer ones than this are not kept.
LONGEST_KEPT = 8_000
KEPT = 2_000
CUTS = re.compile(f"({STORAGE}|{HIDDEN}|{AS_OF})")
# Text around the SELECT of an INSERT. A distributed database can then run the whole statement where the rows belong.
BEFORE_SELECTED = "SELECT route.storage_id, given.* FROM storage_storagerevision route, ("
AFTER_SELECTED = f") given WHERE route.storage_id = {STORAGE}::uuid "


NOTHING = ("", "")
ELEMENTS, VERSIONS = "elements_element", "elements_elementversion"
# A join with this condition alone, and the columns of an element and of its own version.
JOINED_ON = re.compile(
    r"\s*(\w+)\.(\w+) = (\w+)\.(\w+)\s*(?=[);]|$|(?:WHERE|JOIN|LEFT|CROSS|ORDER|LIMIT|GROUP|UNION)\b)"
)
OWN_VERSION = {("newest_id", "id"), ("published_id", "id"), ("id", "element_id")}


@dataclass(slots=True, frozen=True)
class Routed:
    """A statement, cut where the storage and the hidden sets belong."""

    pieces: tuple[str, ...]
    sql: str
    """With a placeholder at each cut."""
    places: tuple[int, ...]
    """Numbers of parameters before each cut."""
    names: tuple[str, ...]
    """Kind of value of each cut."""


class StatementToken(NamedTuple):
    kind: str
    word: str
    """In capital letters if it is a name without quotes."""
    start: int
    end: int


@dataclass(slots=True)
class StatementLevel:
    """State of a statement, or of anything else in parentheses, up to the token that is being read."""

    tables: list[tuple[str, str]] = field(default_factory=list)
    """Names and tables that still need a condition in WHERE."""
    joined: tuple[str, str] = NOTHING
    """Name and table that need a condition in the next ON."""
    settled: set[str] = field(default_factory=set)
    """Names of elements whose versions are checked for what is hidden, so that they need no check themselves."""
    is_outer: bool = False
    """Whether that is a LEFT JOIN."""
    lists_tables: bool = False
    """Whether a comma is followed by a further table."""
    is_open: bool = False
    """Whether a parenthesis was added before the condition that is being read."""
    inserts: bool = False
    """Whether the next SELECT is that of an INSERT."""
    is_surrounded: bool = False
    """Whether the SELECT that is being read is that of an INSERT."""


def with_storage(sql: str, parameters: Any, storage: str, hidden: str = "", as_of: str = "") -> tuple[str, Any]:
    """Return a statement and its parameters, with the storage as a condition on each tenant table, and with conditions
    that leave out what concerns hidden elements, and what was not there at a time."""
    is_kept = len(sql) < LONGEST_KEPT
    found = _kept(sql, bool(hidden), bool(as_of)) if is_kept else route(sql, bool(hidden), bool(as_of))
    if not found.places:
        return sql, parameters
    values = {STORAGE: storage}
    if hidden or as_of:
        values = {name: value for name, value in ((STORAGE, storage), (HIDDEN, hidden), (AS_OF, as_of)) if value}
    if parameters is None:
        return _joined(found, {name: f"'{value}'" for name, value in values.items()}), None
    # Most parameters are lists, and checking for a mapping takes longer.
    if not isinstance(parameters, list) and isinstance(parameters, Mapping):
        return _joined(found, {name: f"%({name})s" for name in values}), {**parameters, **values}
    merged = [*parameters]
    for place, name in zip(reversed(found.places), reversed(found.names), strict=True):
        merged.insert(place, values[name])
    return found.sql, merged


def is_limited(sql: str) -> bool:
    """Return whether the rows of a statement depend on what is hidden from the caller (D491)."""
    return HIDDEN in _kept(sql, True, False).names


def _joined(found: Routed, values: Mapping[str, str]) -> str:
    texts = [piece + values[name] for piece, name in zip(found.pieces, found.names, strict=False)]
    return "".join(texts) + found.pieces[-1]


@cache
def tenant_tables() -> frozenset[str]:
    """Return the tables whose rows belong to a storage."""
    return frozenset(model._meta.db_table for model in apps.get_models() if hasattr(model, "storage_through"))


def route(sql: str, is_narrowed: bool = False, is_past: bool = False) -> Routed:
    """Return the statement with its cuts. Statements that define tables or copy rows have none."""
    tokens = [*_tokens(sql)]
    first = next((token.word for token in tokens if token.word != "("), "")
    reads = (is_narrowed or is_past) and only_reads([token.word for token in tokens])
    reader = _StatementReader(sql, tokens, is_narrowed and reads, is_past and reads)
    added = [*reader.read()] if first in FIRST_WORDS else []
    placeholders = [found.start() for found in PLACEHOLDERS.finditer(sql) if found.group() == "%s"]
    pieces, places, names, piece, end = [], [], [], "", 0
    for position, text in added:
        piece += sql[end:position]
        end = position
        head, *others = CUTS.split(text)
        piece += head
        for name, other in zip(others[::2], others[1::2], strict=True):
            places.append(bisect_left(placeholders, position))
            names.append(name)
            pieces.append(piece)
            piece = other
    pieces.append(piece + sql[end:])
    return Routed(tuple(pieces), "%s".join(pieces), tuple(places), tuple(names))


_kept = lru_cache(KEPT)(route)


def _tokens(sql: str) -> Iterator[StatementToken]:
    for found in TOKENS.finditer(sql):
        name, mark = found["name"], found["mark"]
        if name or mark:
            word = mark or (name if name[0] == '"' else name.upper())
            yield StatementToken("name" if name else "mark", word, found.start(), found.end())


def _end_of(sql: str) -> int:
    """Return the place after a statement, before comments at its end."""
    end = len(sql.rstrip())
    for found in reversed([*TOKENS.finditer(sql)] if "--" in sql or "*/" in sql else []):
        if not found["comment"] or found.end() < end:
            return end
        end = len(sql[: found.start()].rstrip())
    return end


class _StatementReader:
    """Reads a statement once, and yields what to add to it and where."""

    def __init__(self, sql: str, tokens: list[StatementToken], is_narrowed: bool, is_past: bool) -> None:
        self.sql = sql
        self.tokens = tokens
        self.is_narrowed = is_narrowed
        self.is_past = is_past
        self.tenant = tenant_tables()

    def read(self) -> Iterator[tuple[int, str]]:
        levels = [StatementLevel()]
        for number, token in enumerate(self.tokens):
            level, word = levels[-1], token.word
            if word == "(":
                if self._word(number - 1) in {"FROM", "JOIN"} and self._alias(number + 1):
                    raise self._refusal(number + 1, "leave out the parentheses of the join")
                levels.append(StatementLevel())
            elif word == ")" and len(levels) > 1:
                yield from self._end_statement(levels.pop(), token.start)
            elif word == ";":
                yield from self._end_statement(level, token.start)
                levels = [StatementLevel()]
            elif word == "." or self._word(number - 1) == ".":
                continue
            elif word == "," or token.kind == "name":
                yield from self._next(level, number)
        yield from self._end_statement(levels[0], _end_of(self.sql))

    def _next(self, level: StatementLevel, number: int) -> Iterator[tuple[int, str]]:
        token = self.tokens[number]
        word, following = token.word, self._word(number + 1)
        if word in OUTER_JOINS and following in {"JOIN", "OUTER"} and level.tables:
            raise ValueError(
                f"{word} JOIN after {level.tables[0][0]}: write a LEFT JOIN, which keeps its meaning (D250)."
            )
        if word == "USING" and level.joined[0]:
            raise ValueError(f"JOIN {level.joined[0]} USING: write ON, which can also name the storage (D250).")
        if word in JOINS and (word == "JOIN" or following != "("):
            yield from self._close(level, token.start)
        if word == "INTO":
            yield from self._begin_insert(level, number)
        elif word == "SELECT" and level.inserts:
            level.inserts, level.is_surrounded = False, True
            yield token.start, BEFORE_SELECTED
        elif word == "WHERE":
            yield from self._close(level, token.start)
            if level.tables:
                yield token.end, f" {self._conditions(level)} AND ("
                level.is_open = True
            level.lists_tables = False
        elif word == "ON" and level.joined[0]:
            self._settle(level, token.end)
            yield token.end, f" {self._condition(level, *level.joined)} AND ("
            level.joined, level.is_open = NOTHING, True
        elif word == "RETURNING" or (word == "ON" and following == "CONFLICT"):
            yield from self._end_statement(level, token.start)
        elif word in ENDS:
            yield from self._end(level, token.start)
        elif word in BEFORE_TABLES or (word == "," and level.lists_tables):
            if word == ",":
                yield from self._close(level, token.start)
            level.lists_tables = level.lists_tables or word in {"FROM", "USING"}
            self._note_table(level, number)
            if self.is_past:
                yield from self._add_past(number + 1)

    def _begin_insert(self, level: StatementLevel, number: int) -> Iterator[tuple[int, str]]:
        """Add the storage to the columns of an INSERT that selects its rows; otherwise the database fills it."""
        if not self._alias(number + 1):
            return
        numbers = range(number, len(self.tokens))
        first = next((each for each in numbers if self._word(each) in {"(", "SELECT", "VALUES", "DEFAULT"}), number)
        last = next((each for each in numbers if each > first and self._word(each) == ")"), number)
        source = self._word(last + 1 if self._word(first) == "(" else first)
        if self._word(first) == "(" and source == "SELECT":
            yield self.tokens[first].end, "storage_id, "
            level.inserts = True
        elif source not in {"VALUES", "DEFAULT", "OVERRIDING"}:
            raise self._refusal(number + 1, "write INSERT INTO table (columns) SELECT")

    def _note_table(self, level: StatementLevel, number: int) -> None:
        name = self._alias(number + 1)
        if name and self._word(number) == "JOIN" and self._word(number - 1) != "CROSS":
            if {self._word(number - 1), self._word(number - 2)} & {*OUTER_JOINS, "NATURAL"}:
                raise self._refusal(number + 1, "write a LEFT JOIN with ON")
            level.joined = name, self._table(number + 1)
            level.is_outer = bool({self._word(number - 1), self._word(number - 2)} & {"LEFT", "OUTER"})
        elif name:
            level.tables.append((name, self._table(number + 1)))

    def _add_past(self, number: int) -> Iterator[tuple[int, str]]:
        """Put the past rows of a table beside its rows, under the name by which the statement calls it."""
        name = self._alias(number)
        past = past_beside(self._table(number)) if name else None
        if past is not None:
            token = self.tokens[number]
            yield token.start, past.before
            yield token.end, past.after + (f" {name}" if name == self.sql[token.start : token.end] else "")

    def _alias(self, number: int) -> str:
        """Return the name by which the statement calls a tenant table; empty if there is another table."""
        token = self.tokens[number] if number < len(self.tokens) else None
        if token is None or token.kind != "name":
            return ""
        if self._word(number + 1) == ".":
            if self._word(number + 3) != "." and self._alias(number + 2):
                raise self._refusal(number + 2, "leave out the schema")
            return ""
        name = self.sql[token.start : token.end]
        if name.strip('"') not in self.tenant:
            return ""
        number += 2 if self._word(number + 1) == "AS" else 1
        alias = self.tokens[number] if number < len(self.tokens) else None
        if alias is None or alias.kind != "name" or alias.word in NOT_ALIASES:
            return name
        return self.sql[alias.start : alias.end]

    def _table(self, number: int) -> str:
        token = self.tokens[number]
        return self.sql[token.start : token.end].strip('"')

    def _refusal(self, number: int, advice: str) -> ValueError:
        """Return the error of a statement whose table would lack its storage."""
        return ValueError(f"{self._word(number).lower()}: {advice}, so that the statement names its storage (D250).")

    def _word(self, number: int) -> str:
        return self.tokens[number].word if 0 <= number < len(self.tokens) else ""

    def _close(self, level: StatementLevel, position: int) -> Iterator[tuple[int, str]]:
        """End the condition that is being read."""
        if level.is_open:
            level.is_open = False
            yield position, ") "

    def _end(self, level: StatementLevel, position: int) -> Iterator[tuple[int, str]]:
        yield from self._close(level, position)
        if level.tables:
            yield position, f" WHERE {self._conditions(level)} "
        level.joined, level.lists_tables = NOTHING, False
        level.settled.clear()

    def _end_statement(self, level: StatementLevel, position: int) -> Iterator[tuple[int, str]]:
        yield from self._end(level, position)
        if level.is_surrounded:
            level.is_surrounded = False
            yield position, AFTER_SELECTED

    def _conditions(self, level: StatementLevel) -> str:
        names, level.tables = level.tables, []
        return " AND ".join(self._condition(level, *each) for each in names)

    def _condition(self, level: StatementLevel, name: str, table: str) -> str:
        then = there_then(table, name) if self.is_past else ""
        is_checked = self.is_narrowed and name not in level.settled
        hidden = hiding(table, name, is_past=self.is_past) if is_checked else ""
        return f"{name}.storage_id = {STORAGE}::uuid{then}{hidden}"

    def _settle(self, level: StatementLevel, position: int) -> None:
        """Note that an inner join puts an element beside its own version: one check is enough for both (D608)."""
        found = JOINED_ON.match(self.sql, position)
        if found is None or level.is_outer:
            return
        tables = dict([*level.tables, level.joined])
        one, other = (found[1], found[2]), (found[3], found[4])
        for (element, column), (version, key) in ((one, other), (other, one)):
            is_own = (column, key) in OWN_VERSION
            if is_own and (tables.get(element), tables.get(version)) == (ELEMENTS, VERSIONS):
                level.settled.add(element)
