"""Permission sets that apply to elements (D492)."""

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
    dependencies = [("elements", "0050_search_in_files"), ("facets", "0005_permission_sets")]
    operations = [
        migrations.CreateModel(
            name="InheritedSet",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                (
                    "set_number",
                    models.PositiveIntegerField(help_text="Number of the nearest set, of the element or above; or 0."),
                ),
                (
                    "facet_number",
                    models.PositiveIntegerField(help_text="Number of the set of its facet, or 0."),
                ),
            ],
        ),
        IsolateTenantTable("inheritedset"),
    ]
