from django.db import migrations


class Migration(migrations.Migration):
    """Columns get another type, which no row has to be written anew for; but every prepared statement that reads them
    has to be prepared anew."""

    dependencies = [("upgrade", "0002_index")]
    operations = [
        migrations.RunSQL("ALTER TABLE elements_elementversion ALTER COLUMN stereotype TYPE text"),
        migrations.RunSQL("ALTER TABLE elements_elementversion ALTER COLUMN state TYPE text"),
    ]
