from django.db import migrations


class Migration(migrations.Migration):
    """The same for another table: one a migration, so that none is held while another is waited for."""

    dependencies = [("upgrade", "0004_type_of_references")]
    operations = [migrations.RunSQL("ALTER TABLE storage_storage ALTER COLUMN title TYPE text")]
