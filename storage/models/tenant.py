"""Base class of every tenant table. `tenancy/migration_operations.py` isolates the table in the database."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.db import models
from django.db.models import Func, Value
from django.db.models.functions import Cast

SCOPE_PARAMETER = "repository.storage"


def current_storage() -> Cast:
    """Return the expression for the storage of the scope; the database raises an error if no scope is open."""
    return Cast(
        Func(Value(SCOPE_PARAMETER), function="current_setting", output_field=models.TextField()),
        output_field=models.UUIDField(),
    )


class TenantModel(models.Model):
    """A row of one storage. The database fills `storage_id` from the scope; code never sets it.

    For Django `id` is the primary key; in the database it is (storage_id, id), so two storages can have the same id.
    Foreign keys between tenant models have `db_constraint=False`; a migration operation adds the composite constraint
    that keeps a reference inside its storage.

    `storage_through` names the reference of a part to its owner. The composite key puts both into the same storage, and
    the owner has the foreign key to the storage. Parts need none, which saves the database a third of its checks for
    the most numerous rows.

    `is_index` marks a table that triggers or an import fill, in the transaction that writes the indexed rows, whose
    foreign keys lead to the storage. It needs none either (D426). The removal of a storage empties it last.

    `concerns` names the columns with the elements that a row is about, such as `element_id`, or `version.element_id`
    for a row behind a foreign key. Callers who must not see one of these elements do not see the row (D491).

    `dated_by` names the column with the time from which a row has been as it is, for reads as of a time (D563). A table
    whose rows change has a table of past rows beside it, which `past_rows_of` declares.
    """

    storage_through: ClassVar[str | None] = None
    is_index: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ()
    dated_by: ClassVar[str] = ""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    storage_id = models.UUIDField(db_default=current_storage(), editable=False)

    class Meta:
        abstract = True


def tenant_link(to: str, related_name: str, **options: Any) -> models.ForeignKey[Any, Any]:
    """Return a foreign key inside the storage.

    The migration adds the composite constraint. Deletions do not cascade: domain functions delete, and they check what
    is in use. Indexes are composite as well; the model's Meta declares them.
    """
    return models.ForeignKey(
        to, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name=related_name, **options
    )
