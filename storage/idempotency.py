"""Idempotency keys (D15): a request that is sent twice is executed once, and both get the same response.

A request claims its key in its own transaction. A second request with the same key waits in the database for that
transaction: if it commits, the second gets its response; if it rolls back, the second is executed. So a response is
stored if and only if its change is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import connection

from repository_site.core.problems import Busy, Invalid

KEPT = timedelta(hours=24)
FORGOTTEN_AT_ONCE = 100
# Notes bytes that a storage gets, or loses if they are negative, for its quota.
NoteBytes = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    body: bytes
    headers: dict[str, str]


def request_digest(parts: Iterable[str], body: bytes) -> bytes:
    return hashlib.sha256(b"\0".join([*(part.encode() for part in parts), body])).digest()


def claim_key(note: NoteBytes, caller: str, key: str, digest: bytes, now: datetime) -> KeptAnswer | None:
    """Return the stored response to this request; or claim the key for it and return None.

    Runs inside the scope of the storage. A different request with the same key raises Invalid.
    """
    forget_expired(note, now)
    with connection.cursor() as cursor:
        # Take over a key that has expired but is not deleted yet.
        cursor.execute(
            "INSERT INTO storage_answeredrequest AS held (id, caller, key, digest, headers, body, created_on)"
            " VALUES (%s, %s, %s, %s, '{}', '', %s) ON CONFLICT (storage_id, caller, key) DO UPDATE"
            " SET digest = excluded.digest, headers = '{}', body = '', created_on = excluded.created_on"
            " WHERE held.created_on < %s",
            [uuid4(), caller, key, digest, now, now - KEPT],
        )
        if cursor.rowcount:
            return None
        cursor.execute(
            "SELECT digest, body, headers FROM storage_answeredrequest WHERE caller = %s AND key = %s", [caller, key]
        )
        held = cursor.fetchone()
    if held is None:
        raise Busy("The Idempotency-Key is about to expire. Send the request again.", retry_after=1)
    found, body, headers = held
    if bytes(found) != digest:
        raise Invalid("The Idempotency-Key was used for a different request. Use a new key for each request.")
    return KeptAnswer(bytes(body), json.loads(headers))


def forget_expired(note: NoteBytes, now: datetime) -> int:
    """Delete some expired keys of the storage of the scope, without waiting for others that do the same. Return how
    many; fewer than FORGOTTEN_AT_ONCE if none is left."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, pg_column_size(body) FROM storage_answeredrequest WHERE created_on < %s"
            " ORDER BY created_on LIMIT %s FOR UPDATE SKIP LOCKED",
            [now - KEPT, FORGOTTEN_AT_ONCE],
        )
        if expired := dict(cursor.fetchall()):
            cursor.execute("DELETE FROM storage_answeredrequest WHERE id = ANY(%s)", [list(expired)])
            # The stored size, as a measurement counts it; compressed bodies are smaller than what was noted for them.
            note(-sum(expired.values()))
    return len(expired)


def keep_answer(note: NoteBytes, caller: str, key: str, body: bytes, headers: dict[str, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE storage_answeredrequest SET body = %s, headers = %s WHERE caller = %s AND key = %s",
            [body, json.dumps(headers), caller, key],
        )
    note(len(body))
