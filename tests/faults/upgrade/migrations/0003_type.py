from django.db import migrations


class Migration(migrations.Migration):
    """Change the type of columns without rewriting rows. Every prepared statement that reads them must be prepared
    again."""

    dependencies = [("upgrade", "0002_index")]
    operations = [
        migrations.RunSQL("ALTER TABLE elements_elementversion ALTER COLUMN stereotype TYPE text"),
        migrations.RunSQL("ALTER TABLE elements_elementversion ALTER COLUMN state TYPE text"),
    ]
