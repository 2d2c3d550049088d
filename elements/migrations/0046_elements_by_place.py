"""Index for children in their order (D480). It replaces the one without the rank."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("elements", "0045_rank_of_siblings")]
    operations = [
        AddIndexConcurrently(
            "element",
            models.Index(fields=["storage_id", "parent", "position", "rank", "id"], name="element_by_place"),
        ),
        RemoveIndexConcurrently("element", "element_by_parent"),
    ]
