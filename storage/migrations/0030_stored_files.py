"""Files that callers have uploaded (D450)."""

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
    dependencies = [("storage", "0029_confirmation_limit")]
    operations = [
        migrations.CreateModel(
            name="StoredFile",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                (
                    "digest",
                    models.CharField(help_text="SHA-256 of the content, by which it is found.", max_length=64),
                ),
                ("size", models.PositiveBigIntegerField(help_text="Length of the content in bytes.")),
                (
                    "media_type",
                    models.CharField(help_text="Media type that the content confirms (D452).", max_length=100),
                ),
                ("name", models.CharField(max_length=200)),
                ("uploaded_by", models.CharField(help_text="The caller, as in logs.", max_length=200)),
                ("uploaded_on", models.DateTimeField(help_text="Time of the last upload by this caller.")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("storage_id", "digest", "name", "uploaded_by"), name="stored_file_once"
                    )
                ],
                "indexes": [models.Index(fields=["storage_id", "uploaded_on"], name="stored_file_by_age")],
            },
        ),
        IsolateTenantTable("storedfile"),
    ]
