"""Files in the attributes of versions (D451). Existing versions have none."""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)


def link(to: str) -> models.ForeignKey:
    return models.ForeignKey(
        db_constraint=False, db_index=False, on_delete=models.DO_NOTHING, related_name="+", to=to
    )


class Migration(migrations.Migration):
    dependencies = [("elements", "0037_search_in_diagrams"), ("storage", "0030_stored_files")]
    operations = [
        migrations.CreateModel(
            name="VersionFile",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("attribute", models.CharField(max_length=100)),
                ("file", link("storage.storedfile")),
                ("version", link("elements.elementversion")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("storage_id", "version", "attribute", "file"), name="version_file_once"
                    )
                ],
                "indexes": [models.Index(fields=["storage_id", "file", "version"], name="version_by_file")],
            },
        ),
        IsolateTenantTable("versionfile", storage_through="version"),
    ]
