"""Tables that people import, with their previews (D467)."""

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
    dependencies = [("elements", "0046_elements_by_place")]
    operations = [
        migrations.CreateModel(
            name="TableImport",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("name", models.CharField(help_text="The name of the file.", max_length=200)),
                ("content", models.BinaryField(help_text="The file; empty after the import.")),
                (
                    "choices",
                    models.JSONField(help_text="Key attribute, type of new elements, and the columns by their places."),
                ),
                (
                    "progress",
                    models.CharField(
                        choices=[
                            ("previewing", "Previewing"),
                            ("previewed", "Previewed"),
                            ("importing", "Importing"),
                            ("imported", "Imported"),
                        ],
                        max_length=20,
                    ),
                ),
                ("report", models.JSONField(default=dict, help_text="The preview, or the result of the import.")),
                ("address", models.TextField(help_text="The address of the storage, which some cells contain.")),
                ("caller_label", models.CharField(max_length=200)),
                ("language", models.CharField(blank=True, help_text="The language of the report.", max_length=20)),
                ("request_id", models.CharField(max_length=128)),
                ("changed_on", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "caller_label"), name="table_import_of_a_caller_once")
                ],
            },
        ),
        IsolateTenantTable("tableimport"),
    ]
