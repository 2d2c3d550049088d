"""Index that deleting an element needs (D270)."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("elements", "0014_links_of_shapes")]
    operations = [
        AddIndexConcurrently("lane", models.Index(fields=["storage_id", "element"], name="lane_by_element")),
    ]
