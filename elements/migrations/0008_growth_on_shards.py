"""The trigger that notes growth knows tables of a distributed database, whose names end with a number (D251)."""

from django.db import migrations

NOTE_GROWTH = """
CREATE OR REPLACE FUNCTION elements_note_growth() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    scope text := nullif(current_setting('repository.counted', true), '');
    noted text := {table};
    grown storage_storagegrowth;
BEGIN
    IF scope IS NULL OR scope IS DISTINCT FROM current_setting('repository.storage', true) THEN
        RETURN NULL;
    END IF;
    grown.elements := 0; grown.bytes := 0; grown.files := 0; grown.history := 0;
    IF noted = 'elements_element' AND TG_OP = 'INSERT' THEN
        SELECT count(*) INTO grown.elements FROM after;
    ELSIF noted = 'elements_element' THEN
        SELECT -count(*) INTO grown.elements FROM before;
    ELSIF noted = 'elements_elementchange' THEN
        SELECT count(*), sum(octet_length(a.before::text) + octet_length(a.after::text))
            INTO grown.history, grown.bytes FROM after a;
    ELSE
        IF TG_OP <> 'DELETE' THEN
            SELECT sum(octet_length(a.attributes::text)), sum(elements_count_files(a.attributes))
                INTO grown.bytes, grown.files FROM after a;
        END IF;
        IF TG_OP <> 'INSERT' THEN
            SELECT coalesce(grown.bytes, 0) - coalesce(sum(octet_length(b.attributes::text)), 0),
                coalesce(grown.files, 0) - coalesce(sum(elements_count_files(b.attributes)), 0)
                INTO grown.bytes, grown.files FROM before b;
        END IF;
    END IF;
    IF coalesce(grown.elements, 0) = 0 AND coalesce(grown.bytes, 0) = 0 AND coalesce(grown.files, 0) = 0
        AND coalesce(grown.history, 0) = 0 THEN
        RETURN NULL;
    END IF;
    INSERT INTO storage_storagegrowth (storage_id, made_in, elements, bytes, files, history) VALUES (
        scope::uuid, pg_current_xact_id()::text::bigint, coalesce(grown.elements, 0), coalesce(grown.bytes, 0),
        coalesce(grown.files, 0), coalesce(grown.history, 0));
    RETURN NULL;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("elements", "0007_growth_of_history")]
    operations = [
        migrations.RunSQL(
            NOTE_GROWTH.format(table="regexp_replace(TG_TABLE_NAME, '_[0-9]+$', '')"),
            NOTE_GROWTH.format(table="TG_TABLE_NAME"),
        ),
    ]
