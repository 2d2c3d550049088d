from __future__ import annotations

from django.db import models

from storage.models.past import DatedModel, past_rows_of
from storage.models.tenant import tenant_link


class Reference(DatedModel):
    """Reference from a version to an element, in a related context. The reader's audience decides about the version of
    the target (D6)."""

    storage_through = "version"
    concerns = ("target_id",)

    version = tenant_link("elements.ElementVersion", "references")
    context = models.CharField(max_length=100)
    position = models.PositiveIntegerField()
    target = tenant_link("elements.Element", "referenced_by")

    class Meta:
        constraints = [
            # Also serves reading the references of a version in order.
            models.UniqueConstraint(
                fields=["storage_id", "version", "context", "position"], name="reference_position_once"
            )
        ]
        indexes = [models.Index(fields=["storage_id", "target"], name="reference_by_target")]

    def __str__(self) -> str:
        return f"{self.context} {self.target_id}"


PastReference = past_rows_of(
    Reference,
    past_reference_by_version=("version_id", "context", "position"),
    past_reference_by_target=("target_id",),
)
