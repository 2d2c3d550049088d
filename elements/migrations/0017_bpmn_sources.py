"""BPMN documents as imported (D271), and triggers that note their growth (D190)."""

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
CREATE TRIGGER content_changed AFTER INSERT OR UPDATE OR DELETE ON elements_bpmnsource
    FOR EACH STATEMENT EXECUTE FUNCTION elements_mark_content()
"""
NOTE_GROWTH = """
CREATE FUNCTION elements_note_source_growth() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    scope text := nullif(current_setting('repository.counted', true), '');
    grown bigint := 0;
    shrunk bigint := 0;
BEGIN
    IF scope IS NULL OR scope IS DISTINCT FROM current_setting('repository.storage', true) THEN
        RETURN NULL;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        SELECT coalesce(sum(octet_length(a.document)), 0) INTO grown FROM after a;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        SELECT coalesce(sum(octet_length(b.document)), 0) INTO shrunk FROM before b;
    END IF;
    IF grown <> shrunk THEN
        INSERT INTO storage_storagegrowth (storage_id, made_in, elements, bytes, files, history)
            VALUES (scope::uuid, pg_current_xact_id()::text::bigint, 0, grown - shrunk, 0, 0);
    END IF;
    RETURN NULL;
END $$
"""
TABLES = {
    "INSERT": "NEW TABLE AS after",
    "UPDATE": "OLD TABLE AS before NEW TABLE AS after",
    "DELETE": "OLD TABLE AS before",
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0016_labelled_flows")]
    operations = [
        migrations.CreateModel(
            name="BpmnSource",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("document", models.TextField()),
                (
                    "version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="elements.elementversion",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("storage_id", "version"), name="bpmn_source_once")]
            },
        ),
        IsolateTenantTable("bpmnsource", storage_through="version"),
        migrations.RunSQL(NOTE_GROWTH, "DROP FUNCTION elements_note_source_growth()"),
        migrations.RunSQL(CONTENT_TRIGGER, "DROP TRIGGER content_changed ON elements_bpmnsource"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER growth_noted_on_{event.lower()} AFTER {event} ON elements_bpmnsource"
                f" REFERENCING {tables} FOR EACH STATEMENT EXECUTE FUNCTION elements_note_source_growth()",
                f"DROP TRIGGER growth_noted_on_{event.lower()} ON elements_bpmnsource",
            )
            for event, tables in TABLES.items()
        ),
    ]
