from __future__ import annotations

from uuid import UUID

from django.db import models

from storage.models import TenantModel

ONLY_MAPPING = UUID(int=1)
"""The id of the only row of a storage: the primary key contains the storage."""


class TableMapping(TenantModel):
    """Columns that people chose for the headers of tables that they imported (D466)."""

    columns = models.JSONField(default=dict, help_text="Header of a column by header in a file, in lower case.")

    def __str__(self) -> str:
        return str(self.id)
