"""A request that is sent twice is done once (D15): the answer is kept under the key that the client chose.

The key is claimed in the transaction of the request itself. Whoever comes with the same key meanwhile waits in the
database for that transaction: when it succeeds they get its answer, when it fails they are the first. So an answer is
kept exactly when its change is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import connection

from repository_site.core.problems import Busy, Invalid

KEPT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    body: bytes
    headers: dict[str, str]


def request_digest(parts: Iterable[str], body: bytes) -> bytes:
    """What makes a request the same as another."""
    return hashlib.sha256(b"\0".join([*(part.encode() for part in parts), body])).digest()


def claim_key(caller: str, key: str, digest: bytes, now: datetime) -> KeptAnswer | None:
    """The answer that was given to this request before; None when it is the first, which then holds the key.

    Inside the scope of the storage. Another request under the same key is Invalid.
    """
    with connection.cursor() as cursor:
        # A few at a time, and none that somebody else is taking away: nobody waits for this.
        cursor.execute(
            "DELETE FROM storage_answeredrequest WHERE id IN (SELECT id FROM storage_answeredrequest"
            " WHERE created_on < %s ORDER BY created_on LIMIT 100 FOR UPDATE SKIP LOCKED)",
            [now - KEPT],
        )
        # A key whose time is over, and that is still there, is taken over.
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
        raise Busy("The Idempotency-Key is being released; send the request again.", retry_after=1)
    found, body, headers = held
    if bytes(found) != digest:
        raise Invalid("The Idempotency-Key was used for another request; choose a new one for each request.")
    return KeptAnswer(bytes(body), json.loads(headers))


def keep_answer(caller: str, key: str, body: bytes, headers: dict[str, str]) -> None:
    """For who holds the key, when the request has been done."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE storage_answeredrequest SET body = %s, headers = %s WHERE caller = %s AND key = %s",
            [body, json.dumps(headers), caller, key],
        )
