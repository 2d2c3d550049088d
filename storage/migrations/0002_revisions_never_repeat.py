"""Revisions become random numbers: neither a restored backup nor a restored database uses one twice (D204)."""

from django.db import migrations

# A sequence would continue at an earlier number after the database is restored, and each installation has its own.
NEW_REVISION = """
CREATE FUNCTION repository_new_revision() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT 1 + floor(random() * 9007199254740990)::bigint
$$
"""
CHANGED = """
CREATE OR REPLACE FUNCTION repository_configuration_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = {number}
     WHERE id = current_setting('repository.storage')::uuid;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION repository_cultures_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = {number}
     WHERE id IN (NEW.storage_id, OLD.storage_id);
    RETURN NULL;
END $$
"""
RANDOM = CHANGED.format(number="repository_new_revision()")
COUNTED = CHANGED.format(number="nextval('repository_configuration_revision')")


class Migration(migrations.Migration):
    dependencies = [("storage", "0001_initial")]
    operations = [
        migrations.RunSQL(NEW_REVISION, "DROP FUNCTION repository_new_revision()"),
        migrations.RunSQL(RANDOM, COUNTED),
        migrations.RunSQL(
            "DROP SEQUENCE repository_configuration_revision", "CREATE SEQUENCE repository_configuration_revision"
        ),
    ]
