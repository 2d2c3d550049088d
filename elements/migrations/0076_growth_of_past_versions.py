"""Past rows of versions count as growth (D602): a changed or deleted version stays as a past row."""

from django.db import migrations

# A row that its transaction has written, or that does not change, leaves no past row (D563).
BEFORE, KEPT = "before b", "false"
CHANGED, CHANGED_IS_KEPT = "before b JOIN after a ON a.id = b.id", "a.since > b.since"
DELETED_IS_KEPT = "b.since < now()"
SHRUNK = """SELECT coalesce(grown.bytes, 0)
                    - coalesce(sum(octet_length(b.attributes::text)) FILTER (WHERE NOT ({kept})), 0),
                coalesce(grown.files, 0) - coalesce(sum(elements_count_files(b.attributes)), 0)
                INTO grown.bytes, grown.files FROM {rows};"""
NOTE_GROWTH = """
CREATE OR REPLACE FUNCTION elements_note_growth() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    scope text := nullif(current_setting('repository.counted', true), '');
    noted text := regexp_replace(TG_TABLE_NAME, '_[0-9]+$', '');
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
        IF TG_OP = 'UPDATE' THEN
            {changed}
        ELSIF TG_OP = 'DELETE' THEN
            {deleted}
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


def note_growth(changed: str, changed_is_kept: str, deleted_is_kept: str) -> str:
    return NOTE_GROWTH.format(
        changed=SHRUNK.format(rows=changed, kept=changed_is_kept),
        deleted=SHRUNK.format(rows=BEFORE, kept=deleted_is_kept),
    )


class Migration(migrations.Migration):
    dependencies = [("elements", "0075_structure_of_versions")]
    operations = [
        migrations.RunSQL(note_growth(CHANGED, CHANGED_IS_KEPT, DELETED_IS_KEPT), note_growth(BEFORE, KEPT, KEPT)),
    ]
