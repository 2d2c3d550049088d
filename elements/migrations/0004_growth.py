"""Triggers that note the growth of storages with a quota (D190)."""

from django.db import migrations

# `bytes` counts attributes and history with their full length, as text; the next measurement knows their stored size.
NOTE_GROWTH = """
CREATE FUNCTION elements_note_growth() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    scope text := nullif(current_setting('repository.counted', true), '');
    grown storage_storagegrowth;
BEGIN
    IF scope IS NULL OR scope IS DISTINCT FROM current_setting('repository.storage', true) THEN
        RETURN NULL;
    END IF;
    grown.elements := 0; grown.bytes := 0; grown.files := 0; grown.history := 0;
    IF TG_TABLE_NAME = 'elements_element' AND TG_OP = 'INSERT' THEN
        SELECT count(*) INTO grown.elements FROM after;
    ELSIF TG_TABLE_NAME = 'elements_element' THEN
        SELECT -count(*) INTO grown.elements FROM before;
    ELSIF TG_TABLE_NAME = 'elements_elementchange' THEN
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
# Only files are objects in a list, and all of them have an address.
COUNT_FILES = """
CREATE FUNCTION elements_count_files(attributes jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT count(*) FROM jsonb_path_query(attributes, '$.*.*[*].address')
$$
"""


class Migration(migrations.Migration):
    dependencies = [("elements", "0003_hide_token_elements"), ("storage", "0006_growth")]
    operations = [
        migrations.RunSQL(COUNT_FILES, "DROP FUNCTION elements_count_files(jsonb)"),
        migrations.RunSQL(NOTE_GROWTH, "DROP FUNCTION elements_note_growth()"),
    ]
