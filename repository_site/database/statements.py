"""Statements that are written out, past the ORM, where every request pays for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from django.db import connection

from repository_site.database.base import DatabaseWrapper, Parameters, Row


def fetch(sql: str, parameters: Parameters = ()) -> list[Row]:
    """For statements that are planned for their values: lists, and whatever a filter has part in."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def look_up(sql: str, parameters: Parameters = ()) -> list[Row]:
    """For statements of a fixed text that find rows by their keys: planned once, whatever the keys and their number.

    Planned for their values, they would be read off the whole table when a storage has no statistics yet, or when
    there are many keys.
    """
    return cast("DatabaseWrapper", connection).look_up(sql, parameters)


def id_array(ids: Iterable[str]) -> str:
    """Ids as one value for `%s::uuid[]`; the driver takes a hundred times as long to write a list of a hundred."""
    return "{" + ",".join(ids) + "}"
