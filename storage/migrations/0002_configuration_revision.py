from django.db import migrations, models

# A revision is never used twice, not even after a rollback: a sequence does not go back, so a cache that has seen a
# revision of a transaction that failed cannot take it for a later one.
#
# Statement by statement for tenant tables, whose storage is that of the scope, and before the rows are touched, so that
# everybody locks the storage first; row by row for cultures, which are written outside any scope. Nobody else may set
# the revision: saving a storage that was read earlier would otherwise write an old one back.
FUNCTIONS = """
CREATE SEQUENCE repository_configuration_revision;
CREATE FUNCTION repository_configuration_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = nextval('repository_configuration_revision')
     WHERE id = current_setting('repository.storage')::uuid;
    RETURN NULL;
END $$;
CREATE FUNCTION repository_cultures_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = nextval('repository_configuration_revision')
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
REMOVAL = """
DROP TRIGGER keep_revision ON storage_storage;
DROP TRIGGER cultures_changed ON storage_culture;
DROP FUNCTION repository_keep_revision();
DROP FUNCTION repository_cultures_changed();
DROP FUNCTION repository_configuration_changed();
DROP SEQUENCE repository_configuration_revision;
"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="storage",
            name="configuration_revision",
            field=models.BigIntegerField(
                default=0,
                editable=False,
                help_text="Set by the database alone, anew with every change of the type configuration.",
            ),
        ),
        migrations.RunSQL(FUNCTIONS, REMOVAL),
    ]
