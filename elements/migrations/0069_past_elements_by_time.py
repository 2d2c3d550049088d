"""The same index of past elements."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("elements", "0068_elements_by_time")]
    operations = [
        AddIndexConcurrently(
            "pastelement", models.Index(fields=["storage_id", "since", "until"], name="past_element_by_time")
        ),
    ]
