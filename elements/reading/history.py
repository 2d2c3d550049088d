"""Change history of an element in wire form."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from elements.permission_sets.callers import without_hidden
from elements.reading.assembly.assembler import Reader
from elements.reading.assembly.attributes import read_exactly
from elements.reading.bounds import TooHeavy, most_text
from elements.reading.rows import read_identities
from facets.clearance import scope_limits
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import fetch
from repository_site.core.rest.datetimes import wire_datetime

# The texts are computed once; too long ones stay in the database.
SQL = """WITH page AS MATERIALIZED (SELECT c.* FROM elements_elementchange c WHERE c.element_id = %s::uuid
        ORDER BY c.changed_on DESC, c.id DESC LIMIT %s OFFSET %s)
    SELECT p.version_id::text, p.action, p.changed_on, p.caller_id::text, p.caller_label, p.request_id,
        CASE WHEN t.size <= %s THEN t.before END, CASE WHEN t.size <= %s THEN t.after END, t.size
    FROM page p CROSS JOIN LATERAL (SELECT x.before, x.after, octet_length(x.before) + octet_length(x.after) AS size
        FROM (SELECT p.before::text AS before, p.after::text AS after OFFSET 0) x OFFSET 0) t
    ORDER BY p.changed_on DESC, p.id DESC"""
POSITION = "position"
OLDEST_FIRST = SQL.replace(" DESC", "")


def count_changes(element: str) -> int:
    return int(fetch("SELECT count(*) FROM elements_elementchange WHERE element_id = %s::uuid", [element])[0][0])


def _read_rows(element: str, limit: int, offset: int, *, leave_out: bool, newest_first: bool) -> list[Row]:
    # Nothing is smaller than one change, which may have the values of an element before and after.
    most: int = settings.RESPONSE_BYTES if limit == 1 else most_text(limit)
    sql = SQL if newest_first else OLDEST_FIRST
    rows = fetch(sql, [element, limit, offset, most // limit, most // limit])
    if any(row[-2] is None for row in rows):
        if sum(row[-1] for row in rows) > most:
            if leave_out:
                return rows
            raise TooHeavy
        rows = fetch(sql, [element, limit, offset, most, most])
    return rows


def read_changes(
    reader: Reader,
    element: str,
    limit: int,
    offset: int,
    *,
    leave_out: bool = False,
    newest_first: bool = True,
) -> list[dict[str, Any]]:
    """Return changes ordered by time. `changedBy` is the caller's element, if the caller had one that still exists.

    If several changes have too many bytes together, raise TooHeavy, or `leave_out` the values of the largest: their
    `before` and `after` are None.
    """
    rows = _read_rows(element, limit, offset, leave_out=leave_out, newest_first=newest_first)
    callers = read_identities(reader.audience, {row[3] for row in rows if row[3]})
    found = []
    values = without_hidden([None if text is None else read_exactly(text) for row in rows for text in row[6:8]])
    if (limits := scope_limits()) and limits.hidden:
        # Numbers among siblings would tell how many are hidden.
        values = [each and {name: value for name, value in each.items() if name != POSITION} for each in values]
    for number, (version, action, changed_on, caller, label, request_id, *_values) in enumerate(rows):
        before, after = values[2 * number : 2 * number + 2]
        change: dict[str, Any] = {
            "versionId": version,
            "action": action,
            "changedOn": wire_datetime(changed_on, reader.zone),
            "caller": label,
            "requestId": request_id,
            "before": before,
            "after": after,
        }
        if caller in callers:
            change["changedBy"] = reader.reference(callers[caller])
        found.append(change)
    return found
