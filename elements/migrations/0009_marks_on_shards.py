"""The trigger that marks content uses statements that a node of a distributed database can run (D251)."""

from django.db import migrations

MARK_CONTENT = """
CREATE OR REPLACE FUNCTION elements_mark_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    scope text := nullif(current_setting('repository.storage', true), '');
    tenant uuid := scope::uuid;
    mark uuid;
BEGIN
    -- Without a scope no row can have changed. One mark a transaction is enough, and none while a storage is removed.
    IF scope IS NOT NULL AND current_setting('repository.marked', true) IS DISTINCT FROM scope
        AND current_setting('repository.removing', true) IS DISTINCT FROM scope THEN
        -- There is rarely more than one.
        FOR mark IN SELECT id FROM elements_contentmark WHERE storage_id = tenant FOR UPDATE SKIP LOCKED LOOP
            DELETE FROM elements_contentmark WHERE storage_id = tenant AND id = mark;
        END LOOP;
        INSERT INTO elements_contentmark (storage_id, id) VALUES (tenant, gen_random_uuid());
        PERFORM set_config('repository.marked', scope, true);
    END IF;
    RETURN NULL;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("elements", "0008_growth_on_shards")]
    operations = [migrations.RunSQL(MARK_CONTENT, migrations.RunSQL.noop)]
