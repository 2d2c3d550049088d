from django.db import migrations


class Migration(migrations.Migration):
    """An index that is built while others write."""

    atomic = False
    dependencies = [("upgrade", "0001_column")]
    operations = [
        migrations.RunSQL("CREATE INDEX CONCURRENTLY version_upgraded ON elements_elementversion (storage_id, upgraded)")
    ]
