from __future__ import annotations

from django.db import models

from storage.models import TenantModel
from storage.models.tenant import tenant_link


class Shape(TenantModel):
    """An element drawn in the diagram of a version; its id is the shapeId of the API."""

    storage_through = "version"

    version = tenant_link("elements.ElementVersion", "shapes")
    element = tenant_link("elements.Element", "shapes")
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "version", "position"], name="shape_position_once")
        ]
        indexes = [models.Index(fields=["storage_id", "element"], name="shape_by_element")]

    def __str__(self) -> str:
        return str(self.id)


class ShapeFlow(TenantModel):
    """An arrow of a diagram: `predecessor` comes before `shape`. Both are of the same version."""

    storage_through = "shape"

    shape = tenant_link("elements.Shape", "predecessors")
    predecessor = tenant_link("elements.Shape", "successors")
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "shape", "predecessor"], name="flow_once"),
        ]
        indexes = [models.Index(fields=["storage_id", "predecessor"], name="flow_by_predecessor")]

    def __str__(self) -> str:
        return f"{self.predecessor_id} -> {self.shape_id}"
