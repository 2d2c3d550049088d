"""Events of changes (D325), their numbers (D326), and a trigger that notes their growth (D190)."""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

import storage.models.events
from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)
# A distributed database creates functions and triggers only with these parameters; others ignore them.
FOR_NODES = [
    "SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
    "SET LOCAL citus.enable_unsafe_triggers = on",
]
# 200 bytes are about the size of all columns but the data.
NOTE_GROWTH = """
CREATE FUNCTION storage_note_event_growth() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    scope text := nullif(current_setting('repository.counted', true), '');
    grown bigint;
BEGIN
    IF scope IS NOT NULL AND scope = current_setting('repository.storage', true) THEN
        -- A statement of its own: on Citus, the planner of a node does not know the rows of a trigger in an INSERT.
        SELECT sum(200 + octet_length(a.data::text)) INTO grown FROM after a;
        IF grown > 0 THEN
            INSERT INTO storage_storagegrowth (storage_id, made_in, elements, bytes, files, history)
                VALUES (scope::uuid, pg_current_xact_id()::text::bigint, 0, grown, 0, 0);
        END IF;
    END IF;
    RETURN NULL;
END $$
"""
GROWTH_TRIGGER = """
CREATE TRIGGER growth_noted_on_insert AFTER INSERT ON storage_event REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION storage_note_event_growth()
"""
TYPES = [(each.value, each.label) for each in storage.models.events.EventType]


class Migration(migrations.Migration):
    dependencies = [("storage", "0014_event_days")]
    operations = [
        migrations.RunSQL(FOR_NODES, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                (
                    "number",
                    models.BigIntegerField(
                        help_text="Place in the feed; empty until a reader numbers the event.", null=True
                    ),
                ),
                ("type", models.CharField(choices=TYPES, max_length=40)),
                ("time", models.DateTimeField(help_text="Later than every earlier event of the same subject.")),
                ("subject_id", models.UUIDField(help_text="The element, the token, or the storage.")),
                ("version_id", models.UUIDField(null=True)),
                ("facet", models.CharField(blank=True, max_length=100)),
                ("element_type", models.CharField(blank=True, max_length=100)),
                ("state", models.CharField(blank=True, max_length=100)),
                ("caller_id", models.UUIDField(help_text="The caller's element.", null=True)),
                ("caller_label", models.CharField(max_length=200)),
                ("request_id", models.CharField(max_length=128)),
                (
                    "is_public",
                    models.BooleanField(help_text="Whether the version was published when the event was recorded."),
                ),
                ("data", models.JSONField()),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("number", None)),
                        fields=["storage_id", "time", "id"],
                        name="event_without_number",
                    ),
                    models.Index(fields=["storage_id", "subject_id", "time"], name="event_by_subject"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "number"), name="event_number_once")
                ],
            },
        ),
        IsolateTenantTable("event"),
        migrations.RunSQL(NOTE_GROWTH, "DROP FUNCTION storage_note_event_growth()"),
        migrations.RunSQL(GROWTH_TRIGGER, "DROP TRIGGER growth_noted_on_insert ON storage_event"),
        migrations.CreateModel(
            name="EventLog",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                (
                    "epoch",
                    models.BigIntegerField(
                        default=storage.models.events.new_epoch, help_text="Random number that a restore replaces."
                    ),
                ),
                ("last_number", models.BigIntegerField(default=0)),
                (
                    "oldest_number",
                    models.BigIntegerField(default=1, help_text="Number of the oldest event that is kept."),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("storage_id",), name="one_event_log")],
            },
        ),
        IsolateTenantTable("eventlog"),
    ]
