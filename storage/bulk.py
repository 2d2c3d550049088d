"""Many rows in one statement: bulk_create composes an expression for each value, this sends one array a column.

COPY would be faster still, but PostgreSQL refuses it on tables with row-level security.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from django.db import connection, models

from storage.models import TenantModel

M = TypeVar("M", bound=TenantModel)


def insert_rows(model: type[M], rows: Sequence[M]) -> None:
    """Insert into the storage of the scope; the database fills in the storage."""
    if not rows:
        return
    fields = [field for field in model._meta.concrete_fields if field.name != "storage_id"]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    arrays = ", ".join(f"%s::{_array_type(field)}[]" for field in fields)
    values = [[_value(field, getattr(row, field.attname)) for row in rows] for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(f'INSERT INTO "{model._meta.db_table}" ({columns}) SELECT * FROM unnest({arrays})', values)  # noqa: S608


def _array_type(field: models.Field[Any, Any]) -> str:
    """Texts without their length: a cast to varchar(n) would cut a text that is too long, storing it raises."""
    kind = field.db_type(connection) or ""
    return "text" if kind.startswith("varchar") else kind


def _value(field: models.Field[Any, Any], value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(field, models.JSONField) else value
