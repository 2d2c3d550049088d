from django.db import migrations


class Migration(migrations.Migration):
    """The same for another table: one a migration, so that none is held while another is waited for."""

    dependencies = [("upgrade", "0003_type")]
    operations = [migrations.RunSQL("ALTER TABLE elements_reference ALTER COLUMN context TYPE text")]
