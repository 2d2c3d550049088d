from __future__ import annotations

from uuid import UUID

from django.db import models

from storage.models import TenantModel

ONLY = UUID(int=1)
"""The id of the only row of a storage: the primary key contains the storage."""


class Appearance(TenantModel):
    """The look of the reader pages of a storage, which its administrators choose (D421)."""

    titles = models.JSONField(default=dict, help_text="Text by culture.")
    intros = models.JSONField(default=dict, help_text="Text by culture.")
    color = models.CharField(max_length=7, blank=True, help_text="Such as #0b5c8f; empty for the usual colours.")
    logo = models.BinaryField(null=True)
    logo_type = models.CharField(max_length=20, blank=True, help_text="Media type; empty without a logo.")
    logo_digest = models.CharField(max_length=16, blank=True, help_text="Part of the address of the logo.")
    menu = models.JSONField(default=list, help_text="Names of facets in their order; others follow.")
    hidden = models.JSONField(default=list, help_text="Names of facets that the menu does not show.")
    changed_on = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.id)
