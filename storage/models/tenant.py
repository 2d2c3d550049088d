"""Base of every tenant table. The database isolates it: see `tenancy/migration_operations.py`."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.db import models
from django.db.models import Func, Value
from django.db.models.functions import Cast

SCOPE_PARAMETER = "repository.storage"


def current_storage() -> Cast:
    """The storage of the scope, as the database knows it; fails there when no scope is open."""
    return Cast(
        Func(Value(SCOPE_PARAMETER), function="current_setting", output_field=models.TextField()),
        output_field=models.UUIDField(),
    )


class TenantModel(models.Model):
    """Rows of one storage. The column is filled by the database from the scope, never by code.

    For Django `id` is the primary key; in the database it is (storage_id, id), so the same id may live in two
    storages. Foreign keys between tenant models carry `db_constraint=False`; the migration operation writes the
    composite constraint that keeps a reference inside its storage.

    `storage_through` is for parts of something: the name of the reference to it. That row is in the same storage, by
    the composite key, and has been checked to be in one that exists. So the parts need no foreign key to the storage of
    their own, which would be a third of what the database checks for each of very many rows.
    """

    storage_through: ClassVar[str | None] = None

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    storage_id = models.UUIDField(db_default=current_storage(), editable=False)

    class Meta:
        abstract = True


def tenant_link(to: str, related_name: str, **options: Any) -> models.ForeignKey[Any, Any]:
    """A foreign key inside the storage.

    The composite constraint is written by the migration. Nothing cascades: deleting goes through domain functions that
    know what is in use. Indexes are composite, too, and stand in the model's Meta.
    """
    return models.ForeignKey(
        to, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name=related_name, **options
    )
