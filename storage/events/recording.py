"""Record events of tokens and of the configuration, and announce all events after the commit (D325)."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import structlog
from django.db import transaction
from django.utils import timezone

from repository_site.core.database.statements import engine, look_up
from repository_site.core.rest.rendering import to_json
from storage.events.waking import announce
from storage.models import ApiToken, EventType, Storage
from storage.tenancy.scope import tenant_scope

# The time of an event is later than that of every earlier event of its subject (D325). `place` counts the events of the
# transaction, `rank` those of the subject in the statement. The object of the earlier times is made once; looking for
# them in each row would read all events of the storage each time if the planner takes the table for empty.
TIME = """greatest(t.now + n.place * interval '1 microsecond', ((SELECT
    jsonb_object_agg(o.subject_id, o.time ORDER BY o.time) FROM storage_event o WHERE o.subject_id = ANY(%s::uuid[])
    AND o.time >= %s::timestamptz) ->> n.subject::text)::timestamptz + (n.rank + 1) * interval '1 microsecond')"""
_SQL = f"""INSERT INTO storage_event (id, type, time, subject_id, facet, element_type, state, caller_label, request_id,
        is_public, data)
    SELECT n.id, %s::text, {TIME}, n.subject, '', '', '', %s::text, %s::text, false, %s::jsonb
    FROM (SELECT %s::timestamptz AS now) t, (SELECT %s::uuid AS id, %s::uuid AS subject, 0 AS place, 0 AS rank) n"""  # noqa: S608  a constant

# Jobs and threads find these.
WITHOUT_CALLER = (EventType.TOKEN_EXPIRING, EventType.TOKEN_NEW_ADDRESS)


def announce_after_commit() -> None:
    """Wake the readers of the storage of the scope once its new events are committed."""
    storage = engine().tenant
    # Robust: the change is committed, whatever happens to the announcement.
    transaction.on_commit(lambda: announce([storage]), robust=True)


def record_token(token: ApiToken, type: EventType, **more: Any) -> None:
    """Record that a token of a storage was issued or revoked, that its values (D342) or limits (D509) have changed,
    that it ends soon (D486), or that it was used from a new address (D487)."""
    if token.storage is None:
        return
    data: dict[str, Any] = {"tokenId": str(token.id), "name": token.name, "roles": [*token.roles]}
    data |= {"validUntil": token.valid_until, **more}
    if type is EventType.TOKEN_ROTATED and token.old_digest is not None:
        data["oldValidUntil"] = token.old_valid_until
    with tenant_scope(token.storage.id):
        _record(type, token.id, {name: value for name, value in data.items() if value is not None})


def record_configuration(storage: Storage, changes: list[str]) -> None:
    """Record that the configuration has changed. `changes` are the places, such as `types.process`."""
    _record(EventType.CONFIGURATION_CHANGED, storage.id, {"changes": changes})


def _record(type: EventType, subject: UUID, data: dict[str, Any]) -> None:
    """Insert an event. Functions that change tokens and the configuration do not know their caller; the log does."""
    known = {} if type in WITHOUT_CALLER else structlog.contextvars.get_contextvars()
    caller = known.get("caller", ""), known.get("request_id", "")
    now = timezone.now()
    look_up(_SQL, [type.value, [subject], now, *caller, to_json(data).decode(), now, uuid4(), subject])
    announce_after_commit()
