"""A check that requests write no table that a distributed database copies to every node (D261).

Such a write needs all nodes, so a lost worker would stop the storages of all others.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.test import Client

from repository_site.core.database.base import watch_trips
from storage.tenancy.distribution import COPIED

# The pages of the installation and the API of a collection (D582) manage storages, and one page of a storage manages its
# cultures (D483).
MANAGING = re.compile(r"/admin/|/[^/]+/_admin/_api/v1/storages|/[^/]+/[^/]+/admin/cultures/")
NAMES = "|".join(COPIED)
WRITE = re.compile(
    rf"""\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+"?({NAMES})"?\b | \b({NAMES})\b.*\bFOR\s+((NO\s+)?KEY\s+)?(UPDATE|SHARE)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


@cache
def _writes(sql: str) -> bool:
    """Return whether a statement writes or locks a copied table. Requests repeat few texts, because values are apart."""
    return bool(WRITE.search(sql))


@contextmanager
def copied_tables_are_not_written() -> Iterator[None]:
    """Fail if a statement of this thread inside writes or locks rows of a copied table."""
    found: list[str] = []
    own = threading.get_ident()

    def note(kind: str, statements: Sequence[Any], started: float, problem: BaseException | None, /) -> None:
        if threading.get_ident() == own:
            found.extend(sql for sql in statements if isinstance(sql, str) and _writes(sql))

    end = watch_trips(note)
    try:
        yield
    finally:
        end()
    assert not found, f"written, though every node has a copy: {found}"


def watch_requests() -> None:
    """Check every request of the tests: API, back offices of storages, reader pages, sign-ins."""
    send = Client.request

    def request(client: Client, **environ: Any) -> Any:
        if MANAGING.match(str(environ.get("PATH_INFO", ""))):
            return send(client, **environ)
        with copied_tables_are_not_written():
            return send(client, **environ)

    Client.request = request  # type: ignore[method-assign, assignment]
