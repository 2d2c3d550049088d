"""Elements that a bulk change has left as they were (D471)."""

import uuid

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)


class Migration(migrations.Migration):
    dependencies = [("elements", "0042_bulk_runs")]
    operations = [
        migrations.CreateModel(
            name="BulkRefusal",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("element_id", models.UUIDField(help_text="The element, which may have been deleted.")),
                ("place", models.IntegerField(help_text="Place of the element in the selection.")),
                ("reasons", models.JSONField()),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="refusals",
                        to="elements.bulkrun",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["storage_id", "run", "place"], name="bulk_refusal_by_run")],
            },
        ),
        IsolateTenantTable("bulkrefusal", storage_through="run"),
    ]
