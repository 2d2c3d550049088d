"""Another name for texts of which the search has a part. The database does not change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0042_remembered_limits")]
    operations = [
        migrations.AlterField(
            model_name="filetext",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "Not read yet"),
                    ("read", "Searchable"),
                    ("cut", "Partly searchable"),
                    ("empty", "No text"),
                    ("unreadable", "Text cannot be read"),
                ],
                default="waiting",
                max_length=10,
            ),
        ),
    ]
