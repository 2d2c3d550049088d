from django.db import migrations


class Migration(migrations.Migration):
    """Build an index while others write."""

    atomic = False
    dependencies = [("upgrade", "0001_column")]
    operations = [
        migrations.RunSQL("CREATE INDEX CONCURRENTLY version_upgraded ON elements_elementversion (storage_id, upgraded)")
    ]
