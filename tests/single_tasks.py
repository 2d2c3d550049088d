"""A check of every statement of a test run on a Citus cluster: a statement of a storage is one task on one node (D252).

Citus reports each command that it sends to a node. A statement that it splits, or that it runs in steps with
intermediate results, sends several.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from typing import Any

from django.db.backends.signals import connection_created
from psycopg.errors import Diagnostic

from repository_site.core.database.base import watch_trips
from repository_site.core.database.statements import engine
from storage.tenancy.distribution import COPIED

REPORT = "SET citus.log_remote_commands = on; SET client_min_messages = notice"
# Without the commands that begin a transaction on a node.
REPORTED = re.compile(
    r"issuing\s+(?!.*assign_distributed_transaction_id)(SELECT|WITH|INSERT|UPDATE|DELETE|COPY)\b", re.DOTALL
)
STATEMENTS = re.compile(r"\s*\(?\s*(SELECT|WITH|INSERT|UPDATE|DELETE|EXPLAIN)\b", re.IGNORECASE)
# Commands and pages that manage storages write tables that every node has.
ADMINISTRATIVE = re.compile(
    rf"""\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+"?({"|".join(COPIED)})"?\b|\b({"|".join(COPIED)})\b.*\bFOR\b""",
    re.IGNORECASE | re.DOTALL,
)

FOLLOWED = "reports_its_commands"


class TaskWatch:
    """Collects statements with several tasks since `take` was called last."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._sent = threading.local()

    def begin(self) -> None:
        """Follow all connections that are made from now on."""
        connection_created.connect(self._follow)
        watch_trips(self)

    def take(self) -> list[str]:
        found, self._found = self._found, []
        return found

    def __call__(self, kind: str, statements: Sequence[Any], started: float, problem: BaseException | None, /) -> None:
        # Earlier commands belong to the rows that a cursor has fetched, or to the trip that entered the scope.
        commands = [command for sent, command in self._commands() if sent >= started]
        self._sent.commands = []
        texts = [sql for sql in statements if isinstance(sql, str) and STATEMENTS.match(sql)]
        is_split = problem is None and engine().tenant and len(commands) > len(texts) > 0
        if is_split and not any(ADMINISTRATIVE.search(sql) for sql in texts):
            self._found.append(f"{len(commands)} tasks: {texts} {commands}")

    def _follow(self, connection: Any, **ignored: Any) -> None:
        driver = connection.connection
        driver.execute(REPORT)
        # A pool hands out the same connection several times.
        if not hasattr(driver, FOLLOWED):
            driver.add_notice_handler(self._note)
            setattr(driver, FOLLOWED, True)

    def _note(self, notice: Diagnostic) -> None:
        if REPORTED.match(notice.message_primary or ""):
            self._commands().append((time.perf_counter(), f"{notice.message_primary} {notice.message_detail}"))

    def _commands(self) -> list[tuple[float, str]]:
        if not hasattr(self._sent, "commands"):
            self._sent.commands = []
        found: list[tuple[float, str]] = self._sent.commands
        return found
