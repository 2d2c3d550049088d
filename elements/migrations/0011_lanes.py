"""Lanes of diagrams (D270). A migration locks one existing table only, so their elements come with the next one."""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)
CONTENT_TRIGGER = """
CREATE TRIGGER content_changed AFTER INSERT OR UPDATE OR DELETE ON elements_lane
    FOR EACH STATEMENT EXECUTE FUNCTION elements_mark_content()
"""


class Migration(migrations.Migration):
    dependencies = [("elements", "0010_names_on_shards")]
    operations = [
        migrations.CreateModel(
            name="Lane",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("position", models.PositiveIntegerField()),
                ("name", models.JSONField(default=dict, help_text="Text by culture.")),
                ("is_pool", models.BooleanField(default=False)),
                ("bounds", models.JSONField(null=True)),
                ("bpmn_id", models.TextField(blank=True, default="")),
                (
                    "parent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=models.DO_NOTHING,
                        related_name="lanes",
                        to="elements.lane",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.DO_NOTHING,
                        related_name="lanes",
                        to="elements.elementversion",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["storage_id", "parent"], name="lane_by_parent")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "version", "position"), name="lane_position_once")
                ],
            },
        ),
        IsolateTenantTable("lane", storage_through="version"),
        migrations.RunSQL(CONTENT_TRIGGER, "DROP TRIGGER content_changed ON elements_lane"),
    ]
