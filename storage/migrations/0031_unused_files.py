"""Since when no version has a file (D454). The next nightly job fills it in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0030_stored_files")]
    operations = [
        migrations.AddField(
            "storedfile",
            "unused_since",
            models.DateTimeField(help_text="First night in which nothing had the file.", null=True),
        ),
    ]
