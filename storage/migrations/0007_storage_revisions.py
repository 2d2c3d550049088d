"""Revisions of configurations get a table of their own, which can be kept beside the rows of a storage (D251)."""

from django.db import migrations, models
from django.db.models import deletion

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
# Cultures are written only while their storage is created, before its configuration.
NO_TRIGGERS = """
DROP TRIGGER keep_revision ON storage_storage;
DROP TRIGGER cultures_changed ON storage_culture;
DROP FUNCTION repository_keep_revision();
DROP FUNCTION repository_cultures_changed();
"""
TRIGGERS = """
CREATE FUNCTION repository_cultures_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = repository_new_revision()
     WHERE id IN (NEW.storage_id, OLD.storage_id);
    RETURN NULL;
END $$;
CREATE FUNCTION repository_keep_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() < 2 THEN
        NEW.configuration_revision := OLD.configuration_revision;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER cultures_changed AFTER INSERT OR UPDATE OR DELETE ON storage_culture
    FOR EACH ROW EXECUTE FUNCTION repository_cultures_changed();
CREATE TRIGGER keep_revision BEFORE UPDATE ON storage_storage
    FOR EACH ROW EXECUTE FUNCTION repository_keep_revision();
"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0006_growth")]
    operations = [
        migrations.CreateModel(
            name="StorageRevision",
            fields=[
                (
                    "storage",
                    models.OneToOneField(
                        on_delete=deletion.CASCADE,
                        primary_key=True,
                        related_name="revision",
                        serialize=False,
                        to="storage.storage",
                    ),
                ),
                (
                    "configuration_revision",
                    models.BigIntegerField(
                        db_default=0,
                        help_text="Random number that the database replaces with every configuration change.",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(NO_TRIGGERS, TRIGGERS),
        migrations.RunSQL(
            "INSERT INTO storage_storagerevision (storage_id, configuration_revision)"
            " SELECT id, configuration_revision FROM storage_storage; SET CONSTRAINTS ALL IMMEDIATE",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            CHANGED.format(table="storage_storagerevision", key="storage_id"),
            CHANGED.format(table="storage_storage", key="id"),
        ),
        migrations.RemoveField(model_name="storage", name="configuration_revision"),
        # One number for all rows of a statement is enough; a distributed database refuses what differs for each row.
        migrations.RunSQL(
            "ALTER FUNCTION repository_new_revision() STABLE", "ALTER FUNCTION repository_new_revision() VOLATILE"
        ),
    ]
