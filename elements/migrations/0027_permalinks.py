"""Permalinks (D413)."""

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
    dependencies = [("elements", "0026_fill_markup_in_search_index")]
    operations = [
        migrations.CreateModel(
            name="Permalink",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("key", models.CharField(help_text="The last part of the address.", max_length=20)),
                (
                    "link_type",
                    models.CharField(
                        choices=[
                            ("ofElement", "Of Element"),
                            ("ofVersion", "Of Version"),
                            ("ofSelection", "Of Selection"),
                            ("ofOverview", "Of Overview"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "target_id",
                    models.UUIDField(help_text="The element or version, which may have been deleted.", null=True),
                ),
                ("facet", models.CharField(blank=True, max_length=100)),
                ("view", models.CharField(blank=True, max_length=100)),
                ("filter", models.TextField(blank=True)),
                (
                    "culture",
                    models.IntegerField(help_text="Empty for the culture that the visitor prefers.", null=True),
                ),
                (
                    "digest",
                    models.CharField(
                        help_text="Digest of the target: the same target has one permalink.", max_length=64
                    ),
                ),
                ("created_on", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "key"), name="permalink_key_once"),
                    models.UniqueConstraint(fields=("storage_id", "digest"), name="permalink_target_once"),
                ],
                "indexes": [
                    models.Index(fields=["storage_id", "created_on", "id"], name="permalink_by_creation"),
                    models.Index(fields=["storage_id", "target_id"], name="permalink_by_target"),
                ],
            },
        ),
        IsolateTenantTable("permalink"),
    ]
