"""Saved lists of the back office (D475)."""

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
    dependencies = [("elements", "0043_bulk_refusals")]
    operations = [
        migrations.CreateModel(
            name="SavedList",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("owner_label", models.CharField(help_text="The label of the caller.", max_length=200)),
                ("name", models.CharField(max_length=100)),
                ("query", models.TextField(help_text="The query string of the list.")),
                ("created_on", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("storage_id", "owner_label", "name"), name="saved_list_name_once"
                    )
                ],
            },
        ),
        IsolateTenantTable("savedlist"),
    ]
