from __future__ import annotations

from django.db import models

from storage.models import TenantModel


class Shelf(TenantModel):
    name = models.CharField(max_length=50)
    above = models.ForeignKey("self", on_delete=models.DO_NOTHING, null=True, db_constraint=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage_id", "name"], name="shelf_name_once")]

    def __str__(self) -> str:
        return self.name


class Book(TenantModel):
    shelf = models.ForeignKey(Shelf, on_delete=models.DO_NOTHING, db_constraint=False, related_name="books")
    title = models.CharField(max_length=50)

    def __str__(self) -> str:
        return self.title
