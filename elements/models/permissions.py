from __future__ import annotations

from typing import ClassVar

from django.db import models

from storage.models import TenantModel


class InheritedSet(TenantModel):
    """The permission sets that apply to the element with the same id (D492). Elements without sets have no row.

    The rows of deleted elements stay, so that their history stays hidden.
    """

    narrows: ClassVar[bool] = True
    """The engine joins this table (D491)."""

    set_number = models.PositiveIntegerField(help_text="Number of the nearest set, of the element or above; or 0.")
    facet_number = models.PositiveIntegerField(help_text="Number of the set of its facet, or 0.")

    def __str__(self) -> str:
        return f"{self.id} {self.set_number} {self.facet_number}"
