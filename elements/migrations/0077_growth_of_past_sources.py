"""Past rows of BPMN documents count as growth (D602), as those of versions do."""

from django.db import migrations

NOTE_GROWTH = """
CREATE OR REPLACE FUNCTION elements_note_source_growth() RETURNS trigger LANGUAGE plpgsql AS $$
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
    IF TG_OP = 'UPDATE' THEN
        SELECT coalesce(sum(octet_length(b.document)), 0) INTO shrunk FROM {changed};
    ELSIF TG_OP = 'DELETE' THEN
        SELECT coalesce(sum(octet_length(b.document)), 0) INTO shrunk FROM {deleted};
    END IF;
    IF grown <> shrunk THEN
        INSERT INTO storage_storagegrowth (storage_id, made_in, elements, bytes, files, history)
            VALUES (scope::uuid, pg_current_xact_id()::text::bigint, 0, grown - shrunk, 0, 0);
    END IF;
    RETURN NULL;
END $$
"""
NOT_KEPT = {
    "changed": "before b JOIN after a ON a.id = b.id WHERE a.since <= b.since",
    "deleted": "before b WHERE b.since >= now()",
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0076_growth_of_past_versions")]
    operations = [
        migrations.RunSQL(
            NOTE_GROWTH.format(**NOT_KEPT), NOTE_GROWTH.format(changed="before b", deleted="before b")
        ),
    ]
