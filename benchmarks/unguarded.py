"""The service under a role that row-level security does not bind, to measure what it costs.

The policy is what limits each statement to one storage. Here each table is limited by a condition instead, which is
what somebody would write who has no policies; so the same rows are found by the same indexes.
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
    """What the server calls in each worker process."""
    from django.db.backends.signals import connection_created

    from repository_site.server import worker_application

    def statement(execute: Any, sql: Any, parameters: Any, many: Any, context: Any) -> Any:
        return execute(limited(str(sql)), parameters, many, context)

    def add(connection: Any, **options: Any) -> None:
        if statement not in connection.execute_wrappers:
            connection.execute_wrappers.append(statement)

    connection_created.connect(add, weak=False)
    return worker_application()
