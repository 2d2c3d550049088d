"""Indexes that deleting lanes and shapes needs (D270)."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("elements", "0013_drawn_shapes")]
    operations = [
        AddIndexConcurrently(
            "shape",
            models.Index(
                fields=["storage_id", name], condition=models.Q((f"{name}__isnull", False)), name=f"shape_by_{name}"
            ),
        )
        for name in ("lane", "container", "host")
    ]
