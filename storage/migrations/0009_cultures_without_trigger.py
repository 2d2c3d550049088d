"""Cultures have no trigger any more: they are written only while their storage is created (D251)."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("storage", "0008_revisions_move")]
    operations = [
        migrations.RunSQL(
            "DROP TRIGGER cultures_changed ON storage_culture",
            "CREATE TRIGGER cultures_changed AFTER INSERT OR UPDATE OR DELETE ON storage_culture"
            " FOR EACH ROW EXECUTE FUNCTION repository_cultures_changed()",
        ),
    ]
