from django.db import migrations


class Migration(migrations.Migration):
    """Change another table, in its own migration, so that no lock is held while waiting for another."""

    dependencies = [("upgrade", "0003_type")]
    operations = [migrations.RunSQL("ALTER TABLE elements_reference ALTER COLUMN context TYPE text")]
