"""Versions by word (D380)."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)


class Migration(migrations.Migration):
    dependencies = [("elements", "0020_search_documents")]
    operations = [
        migrations.CreateModel(
            name="SearchPosting",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("word", models.TextField(db_collation="C")),
                ("in_name", models.BooleanField()),
                ("size", models.IntegerField(help_text="Number of versions.")),
                ("versions", ArrayField(base_field=models.UUIDField(), size=None)),
            ],
            options={"indexes": [models.Index(fields=["storage_id", "word", "in_name"], name="posting_by_word")]},
        ),
        IsolateTenantTable("searchposting"),
    ]
