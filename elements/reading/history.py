"""Change history of an element in wire form."""

from __future__ import annotations

from typing import Any

from elements.reading.assembly.assembler import Reader
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import read_identities
from repository_site.core.database.statements import fetch
from repository_site.core.rest.datetimes import wire_datetime

SQL = """SELECT c.version_id::text, c.action, c.changed_on, c.caller_id::text, c.caller_label, c.request_id,
        c.before, c.after
    FROM elements_elementchange c WHERE c.element_id = %s::uuid
    ORDER BY c.changed_on DESC, c.id DESC LIMIT %s OFFSET %s"""


def count_changes(element: str) -> int:
    return int(fetch("SELECT count(*) FROM elements_elementchange WHERE element_id = %s::uuid", [element])[0][0])


def read_changes(reader: Reader, element: str, limit: int, offset: int) -> list[dict[str, Any]]:
    """Return changes, newest first. `changedBy` is the caller's element, if the caller had one that still exists."""
    rows = fetch(SQL, [element, limit, offset])
    callers = read_identities(reader.audience, {row[3] for row in rows if row[3]})
    found = []
    for version, action, changed_on, caller, label, request_id, before, after in rows:
        change: dict[str, Any] = {
            "versionId": version,
            "action": action,
            "changedOn": wire_datetime(changed_on, reader.zone),
            "caller": label,
            "requestId": request_id,
            "before": read_exactly(before),
            "after": read_exactly(after),
        }
        if caller in callers:
            change["changedBy"] = reader.reference(callers[caller])
        found.append(change)
    return found
