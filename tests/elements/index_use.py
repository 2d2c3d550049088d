"""A check of captured statements: each of them can use an index for the rows of elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connection

from storage.models import Storage
from storage.tenancy.scope import tenant_scope


def assert_every_statement_uses_an_index(storage: Storage, sent: Mapping[str, Sequence[str]], at_least: int) -> None:
    """Under row-level security, a condition that is not leakproof cannot use an index and would read the rows of all
    tenants. `sent` has the statements of each operation or page.

    Reading a small table as a whole is quicker; with sequential scans disabled, the planner does it only if it must.
    """
    looked_at = 0
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        for name, sql in ((name, sql) for name, texts in sent.items() for sql in texts if "elements_" in sql):
            cursor.execute(f"EXPLAIN {sql}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan on elements_" not in plan, (name, sql, plan)
            looked_at += 1
    assert looked_at > at_least
