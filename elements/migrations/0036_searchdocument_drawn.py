"""Texts of lanes and flows in the search index (D437)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("elements", "0035_searchword_without_storage_key")]
    operations = [
        migrations.AddField(
            "searchdocument",
            "drawn",
            models.TextField(db_default="", default="", help_text="Texts of lanes and flows in all cultures."),
        ),
    ]
