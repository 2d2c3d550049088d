"""Columns that people chose for the headers of tables (D466)."""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)


class Migration(migrations.Migration):
    dependencies = [("elements", "0038_version_files")]
    operations = [
        migrations.CreateModel(
            name="TableMapping",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                (
                    "columns",
                    models.JSONField(
                        default=dict, help_text="Header of a column by header in a file, in lower case."
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        IsolateTenantTable("tablemapping"),
    ]
