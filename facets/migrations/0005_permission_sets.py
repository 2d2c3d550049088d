"""Permission sets of elements and facets (D490)."""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import BumpConfigurationRevision, IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)
MODES = [("extend", "Extend"), ("replace", "Replace"), ("stop", "Stop")]


class Migration(migrations.Migration):
    dependencies = [("facets", "0004_tokens_not_for_readers")]
    operations = [
        migrations.CreateModel(
            name="PermissionSet",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                (
                    "number",
                    models.PositiveIntegerField(
                        help_text="Place of the set among the bits of a narrowed statement (D492)."
                    ),
                ),
                (
                    "creation_id",
                    models.UUIDField(
                        help_text="Creation id of the element; empty for the set of a facet.", null=True
                    ),
                ),
                ("facet_id", models.UUIDField(null=True)),
                ("mode", models.CharField(choices=MODES, default="replace", max_length=10)),
                ("entries", models.JSONField(default=dict, help_text="Ids of users and groups by permission.")),
                (
                    "outer_number",
                    models.PositiveIntegerField(default=0, help_text="Number of the nearest set above; 0 for none."),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "number"), name="permission_set_number_once"),
                    models.UniqueConstraint(
                        fields=("storage_id", "creation_id"), name="permission_set_of_element_once"
                    ),
                    models.UniqueConstraint(fields=("storage_id", "facet_id"), name="permission_set_of_facet_once"),
                ],
            },
        ),
        IsolateTenantTable("permissionset"),
        BumpConfigurationRevision("permissionset"),
    ]
