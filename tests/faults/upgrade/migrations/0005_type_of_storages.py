from django.db import migrations


class Migration(migrations.Migration):
    """Change another table, in its own migration, so that no lock is held while waiting for another."""

    dependencies = [("upgrade", "0004_type_of_references")]
    operations = [migrations.RunSQL("ALTER TABLE storage_storage ALTER COLUMN title TYPE text")]
