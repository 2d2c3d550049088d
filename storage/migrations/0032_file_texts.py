"""Texts of files for the search (D446). The next nightly job notes those of existing files."""

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
    dependencies = [("storage", "0031_unused_files")]
    operations = [
        migrations.AlterModelOptions("storedfile", {"verbose_name": "file", "verbose_name_plural": "files"}),
        migrations.CreateModel(
            name="FileText",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("digest", models.CharField(help_text="SHA-256 of the content.", max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Not read yet"),
                            ("read", "Searchable"),
                            ("cut", "Beginning is searchable"),
                            ("empty", "No text"),
                            ("unreadable", "Text cannot be read"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                (
                    "text",
                    models.TextField(db_default="", default="", help_text="Pages or paragraphs, one in a line."),
                ),
                ("read_on", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("storage_id", "digest"), name="file_text_once")],
                "indexes": [
                    models.Index(condition=models.Q(state="waiting"), fields=["storage_id"], name="file_text_waiting")
                ],
            },
        ),
        IsolateTenantTable("filetext"),
    ]
