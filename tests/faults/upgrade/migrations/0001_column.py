from django.db import migrations


class Migration(migrations.Migration):
    """A column with a default, which stands in the catalogue and in no row."""

    dependencies = [("elements", "0001_initial")]
    operations = [
        migrations.RunSQL("ALTER TABLE elements_elementversion ADD COLUMN upgraded integer NOT NULL DEFAULT 7")
    ]
