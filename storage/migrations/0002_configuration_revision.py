from django.db import migrations, models

# Statement by statement for tenant tables, whose storage is that of the scope; row by row for cultures, which are
# written outside any scope.
FUNCTIONS = """
CREATE FUNCTION repository_configuration_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = configuration_revision + 1
     WHERE id = current_setting('repository.storage')::uuid;
    RETURN NULL;
END $$;
CREATE FUNCTION repository_cultures_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = configuration_revision + 1
     WHERE id = coalesce(NEW.storage_id, OLD.storage_id);
    RETURN NULL;
END $$;
CREATE TRIGGER cultures_changed AFTER INSERT OR UPDATE OR DELETE ON storage_culture
    FOR EACH ROW EXECUTE FUNCTION repository_cultures_changed();
"""
REMOVAL = """
DROP TRIGGER cultures_changed ON storage_culture;
DROP FUNCTION repository_cultures_changed();
DROP FUNCTION repository_configuration_changed();
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
                help_text="Bumped by the database with every change of the type configuration.",
            ),
        ),
        migrations.RunSQL(FUNCTIONS, REMOVAL),
    ]
