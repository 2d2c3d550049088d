from django.db import migrations


class Migration(migrations.Migration):
    """Add a column with a default, which is stored in the catalogue and not in the rows."""

    dependencies = [("elements", "0001_initial")]
    operations = [
        migrations.RunSQL("ALTER TABLE elements_elementversion ADD COLUMN upgraded integer NOT NULL DEFAULT 7")
    ]
