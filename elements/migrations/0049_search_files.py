"""Searched words of the texts of files (D447)."""

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
    dependencies = [("elements", "0048_table_imports"), ("storage", "0032_file_texts")]
    operations = [
        migrations.CreateModel(
            name="SearchFile",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("words", models.TextField(help_text="Folded words of the text, in the same lines.")),
            ],
            options={"abstract": False},
        ),
        IsolateTenantTable("searchfile"),
    ]
