"""The look of the reader pages (D421)."""

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
    dependencies = [("elements", "0030_search_without_jit")]
    operations = [
        migrations.CreateModel(
            name="Appearance",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("titles", models.JSONField(default=dict, help_text="Text by culture.")),
                ("intros", models.JSONField(default=dict, help_text="Text by culture.")),
                (
                    "color",
                    models.CharField(
                        blank=True, help_text="Such as #0b5c8f; empty for the usual colours.", max_length=7
                    ),
                ),
                ("logo", models.BinaryField(null=True)),
                (
                    "logo_type",
                    models.CharField(blank=True, help_text="Media type; empty without a logo.", max_length=20),
                ),
                (
                    "logo_digest",
                    models.CharField(blank=True, help_text="Part of the address of the logo.", max_length=16),
                ),
                (
                    "menu",
                    models.JSONField(default=list, help_text="Names of facets in their order; others follow."),
                ),
                ("hidden", models.JSONField(default=list, help_text="Names of facets that the menu does not show.")),
                ("changed_on", models.DateTimeField()),
            ],
            options={"abstract": False},
        ),
        IsolateTenantTable("appearance"),
    ]
