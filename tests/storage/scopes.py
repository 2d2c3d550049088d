"""The tenant scope as the database sees it."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from storage.models.tenant import SCOPE_PARAMETER


def current_scope() -> UUID | None:
    """Return the id of the storage whose scope is open, or None."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nullif(current_setting(%s, true), '')", [SCOPE_PARAMETER])
        row = cursor.fetchone()
    return UUID(row[0]) if row and row[0] else None
