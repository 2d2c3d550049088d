"""An index of elements by the time from which they have been as they are, for comparing a storage (D570)."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("elements", "0067_begin_of_record")]
    operations = [
        AddIndexConcurrently("element", models.Index(fields=["storage_id", "since"], name="element_by_time")),
    ]
