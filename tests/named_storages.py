"""A check of every statement of a test run: statements on tenant tables name their storage (D250).

It looks for conditions in the text that the driver gets, and knows nothing about how they are added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from repository_site.core.database.base import watch_trips
from storage.tenancy.scope import tenant_models

TEXTS = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
# Table, the word or sign before it, and the word after it, which may be its alias.
TABLES = re.compile(
    r"""(?P<before>[A-Za-z]+|[^\s\w])?\s*(?<!\w)(?P<quote>"?)(?P<table>[a-z_]+)(?P=quote)(?!["\w]|\s*\.)"""
    r"""(?:(?:\s+AS)?\s+(?P<alias>\w+))?"""
)
# A column, a type, and a table that the statement names elsewhere.
ELSEWHERE = {".", ":", "AS", "OF"}
# A table with its past rows beside it (D564): the condition on both is that on the sub-select.
WITH_PAST = re.compile(
    r"""\(SELECT [\w, :']+ FROM ("?)([a-z_]+)\1 UNION ALL SELECT [\w, ]+ FROM [a-z_]*_past[a-z]+\)"""
)
STATEMENTS = re.compile(r"\s*\(?\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)


class StorageWatch:
    """Collects statements without a storage since `take` was called last."""

    def __init__(self) -> None:
        self.tables = {model._meta.db_table for model in tenant_models()}
        self._seen: set[str] = set()
        self._found: list[str] = []
        watch_trips(self)

    def __call__(self, kind: str, statements: Sequence[Any], started: float, problem: BaseException | None, /) -> None:
        # Without a scope the database refuses the statement.
        if problem is None:
            for sql in statements:
                if isinstance(sql, str) and sql not in self._seen:
                    self._seen.add(sql)
                    self._found += [f"{name}: {sql}" for name in self.unnamed(sql)]

    def take(self) -> list[str]:
        found, self._found = self._found, []
        return found

    def unnamed(self, sql: str) -> list[str]:
        """Return the tenant tables of a statement without a condition on their storage."""
        if not STATEMENTS.match(sql):
            return []
        text = WITH_PAST.sub(r"\2", TEXTS.sub("''", sql))
        conditions = Counter(re.findall(r"""([\w"]+)\.storage_id = """, text))
        found = [match for match in TABLES.finditer(text) if match["table"] in self.tables]
        return [match["table"] for match in found if not self._is_named(match, text, conditions)]

    def _is_named(self, match: re.Match[str], text: str, conditions: Counter[str]) -> bool:
        before = (match["before"] or "").upper()
        if before in ELSEWHERE:
            return True
        if before == "INTO":
            # Values get the storage of the scope by default.
            return "VALUES" in text[match.end() :] or "SELECT route.storage_id, given.*" in text[match.end() :]
        names = (match["alias"], match["table"], f'"{match["table"]}"', f'"{match["alias"]}"')
        name = next((name for name in names if name and conditions[name]), "")
        # A table that a statement reads twice has two conditions.
        conditions[name] -= 1
        return bool(name)
