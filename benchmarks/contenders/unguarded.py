"""The service under a role with BYPASSRLS, to measure the cost of row-level security.

A condition on each table replaces the policy that limits statements to one storage, as in a program without policies.
The same indexes find the same rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any

TABLE = re.compile(r"\b(FROM|JOIN) (elements_\w+|facets_\w+)(?: (?!WHERE|ON|JOIN|ORDER|LIMIT|GROUP)(\w+))?")


@cache
def limited(sql: str) -> str:
    storage = os.environ["BENCHMARK_STORAGE"]

    def limit(found: re.Match[str]) -> str:
        word, table, name = found.groups()
        return f"{word} (SELECT * FROM {table} WHERE storage_id = '{storage}') {name or table}"  # noqa: S608

    return TABLE.sub(limit, sql)


def application() -> Callable[..., Any]:
    from django.db.backends.utils import CursorWrapper

    from repository_site.core.database.base import DatabaseWrapper
    from repository_site.operations.server import worker_application

    # Not with Django's execute wrappers: they would make the connection send statements one by one.
    execute: Any = CursorWrapper.execute
    look_up_all: Any = DatabaseWrapper.look_up_all

    def execute_limited(self: Any, sql: Any, parameters: Any = None) -> Any:
        return execute(self, limited(str(sql)), parameters)

    def look_up_limited(self: Any, statements: Any, meanwhile: Any = None) -> Any:
        return look_up_all(self, [(limited(sql), parameters) for sql, parameters in statements], meanwhile)

    CursorWrapper.execute = execute_limited  # type: ignore[method-assign, assignment]
    DatabaseWrapper.look_up_all = look_up_limited  # type: ignore[method-assign]
    return worker_application()
