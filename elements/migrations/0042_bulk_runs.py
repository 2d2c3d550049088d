"""Bulk changes and their reports (D471)."""

import uuid

import django.contrib.postgres.fields
from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)


class Migration(migrations.Migration):
    dependencies = [("elements", "0040_table_mapping")]
    operations = [
        migrations.CreateModel(
            name="BulkRun",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("facet", models.CharField(max_length=100)),
                ("view", models.CharField(max_length=100)),
                (
                    "filter",
                    models.TextField(blank=True, help_text="The filter that selected the elements; empty for ids."),
                ),
                ("operations", models.JSONField(help_text="The operations as they were requested.")),
                (
                    "elements",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None),
                ),
                ("is_dry_run", models.BooleanField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("stopped", "Stopped"),
                        ],
                        max_length=20,
                    ),
                ),
                ("total", models.IntegerField()),
                (
                    "processed",
                    models.IntegerField(default=0, help_text="The place from which the next batch continues."),
                ),
                ("changed", models.IntegerField(default=0)),
                ("unchanged", models.IntegerField(default=0)),
                ("refused", models.IntegerField(default=0)),
                ("reason", models.TextField(blank=True, help_text="The reason why the run was stopped.")),
                ("caller_id", models.UUIDField(help_text="The caller's element.", null=True)),
                ("caller_label", models.CharField(max_length=200)),
                (
                    "language",
                    models.CharField(blank=True, help_text="The language of the reasons.", max_length=20),
                ),
                ("request_id", models.CharField(max_length=128)),
                ("created_on", models.DateTimeField()),
                ("changed_on", models.DateTimeField()),
                ("finished_on", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["storage_id", "created_on", "id"], name="bulk_run_by_creation")],
            },
        ),
        IsolateTenantTable("bulkrun"),
    ]
