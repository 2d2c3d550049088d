"""Triggers renew revisions in their own table (D251). Cultures are written only while their storage is created."""

from django.db import migrations

CHANGED = """
CREATE OR REPLACE FUNCTION repository_configuration_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- A node of a distributed database can find the row only by a value that is known before.
    scope uuid := current_setting('repository.storage')::uuid;
    number bigint := repository_new_revision();
BEGIN
    UPDATE {table} SET configuration_revision = number WHERE {key} = scope;
    RETURN NULL;
END $$
"""
MOVE = """
DROP TRIGGER keep_revision ON storage_storage;
INSERT INTO storage_storagerevision (storage_id, configuration_revision) SELECT id, configuration_revision
    FROM storage_storage;
SET CONSTRAINTS ALL IMMEDIATE;
"""
# The next configuration change of a storage sets its column again.
MOVE_BACK = """
UPDATE storage_storage s SET configuration_revision = r.configuration_revision FROM storage_storagerevision r
    WHERE r.storage_id = s.id;
DELETE FROM storage_storagerevision;
CREATE TRIGGER keep_revision BEFORE UPDATE ON storage_storage
    FOR EACH ROW EXECUTE FUNCTION repository_keep_revision();
"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0007_storage_revisions")]
    operations = [
        migrations.RunSQL(MOVE, MOVE_BACK),
        migrations.RunSQL(
            CHANGED.format(table="storage_storagerevision", key="storage_id"),
            CHANGED.format(table="storage_storage", key="id"),
        ),
        # One number for all rows of a statement is enough; a distributed database refuses what differs for each row.
        migrations.RunSQL(
            "ALTER FUNCTION repository_new_revision() STABLE", "ALTER FUNCTION repository_new_revision() VOLATILE"
        ),
    ]
