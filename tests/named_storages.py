"""A check of every statement of a test run: statements on tenant tables name their storage (D250).

It looks for conditions in the text that the driver gets, and knows nothing about how they are added.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from repository_site.core.database.base import watch_trips
from storage.tenancy.scope import tenant_models

TABLES = re.compile(
    r"""\b(?P<before>FROM|JOIN|UPDATE|USING|INTO|,)\s+(?:ONLY\s+)?"?(?P<table>[a-z_]+)"?(?![".\w])"""
    r"""(?:\s+AS)?(?:\s+(?P<alias>\w+))?""",
    re.IGNORECASE,
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
        return [
            match["table"]
            for match in TABLES.finditer(sql)
            if match["table"] in self.tables and STATEMENTS.match(sql) and not self._is_named(match, sql)
        ]

    def _is_named(self, match: re.Match[str], sql: str) -> bool:
        if match["before"].upper() == "INTO":
            # Values get the storage of the scope by default.
            return "VALUES" in sql[match.end() :] or "SELECT route.storage_id, given.*" in sql[match.end() :]
        names = (match["alias"], match["table"], f'"{match["table"]}"', f'"{match["alias"]}"')
        return any(f"{name}.storage_id = " in sql for name in names if name)
