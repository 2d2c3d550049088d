"""Limits of tokens that were changed after a backup was written (D509)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0041_token_changes")]
    operations = [
        migrations.AddField(
            "tokenrevocation",
            "limited_on",
            models.DateTimeField(help_text="The last change of the limits, which an earlier backup lacks.", null=True),
        ),
    ]
