"""Past rows of tenant tables (D563): each former state of a row, with the time from which and until which it was there.

A trigger writes them (`KeepPast` of `tenancy/migration_operations.py`). Only reads as of a time read them
(`repository_site/core/database/past.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.models.fields import NOT_PROVIDED

from storage.models.tenant import TenantModel

OWN = {"id", "storage_id", "since"}


class DatedModel(TenantModel):
    """A tenant table whose past rows are kept. The database dates each row with the start of the transaction that wrote
    it."""

    dated_by = "since"

    since = models.DateTimeField(db_default=TransactionNow(), editable=False)

    class Meta:
        abstract = True


class PastRow(TenantModel):
    """A former state of a row, which had the id `row_id`. Elements and versions that it names may be gone."""

    is_index = True
    past_of: ClassVar[type[DatedModel]]

    row_id = models.UUIDField()
    since = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        abstract = True


def past_rows_of(model: type[DatedModel], **indexes: tuple[str, ...]) -> type[PastRow]:
    """Return the model for the past rows of a table: its columns without keys and constraints, with `indexes` by name.

    `keep_past` of `tenancy/past_operations.py` is the migration for it.
    """
    meta = type("Meta", (), {"indexes": past_indexes(indexes)})
    columns = past_columns({field.name: field for field in model._meta.local_concrete_fields})
    body = {**columns, "past_of": model, "Meta": meta, "__module__": model.__module__}
    return type(past_name(model.__name__), (PastRow,), body)


def past_name(model_name: str) -> str:
    return f"Past{model_name}"


def past_indexes(indexes: Mapping[str, tuple[str, ...]]) -> list[models.Index]:
    """Return indexes that begin with the storage and end with the times, so that rows of other times are skipped
    within the index."""
    return [
        models.Index(fields=["storage_id", *fields, "since", "until"], name=name) for name, fields in indexes.items()
    ]


def past_columns(fields: Mapping[str, models.Field[Any, Any]]) -> dict[str, models.Field[Any, Any]]:
    """Return the columns that past rows have in common with the rows, by name: without foreign keys."""
    return {
        f"{name}_id" if field.is_relation else name: _column(field) for name, field in fields.items() if name not in OWN
    }


def _column(field: models.Field[Any, Any]) -> Any:
    """Return a column without default, since its values are only copied."""
    if field.is_relation:
        return models.UUIDField(null=field.null)
    copied: Any = field.clone()
    copied.help_text, copied.default, copied.db_default = "", NOT_PROVIDED, NOT_PROVIDED
    copied.choices = None
    return copied
