"""Tables of the site's back office with a row for each storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from storage.models import Storage


@dataclass(frozen=True, slots=True)
class StorageRow:
    storage: Storage
    cells: Sequence[str]

    @property
    def link(self) -> str:
        return reverse("admin:storage_storage_change", args=[self.storage.pk])


@dataclass(frozen=True, slots=True)
class StorageTable:
    """Titles of the columns after the storage, and the rows. The columns after the first `texts` contain numbers."""

    columns: Sequence[str]
    rows: Sequence[StorageRow]
    texts: int = 0
