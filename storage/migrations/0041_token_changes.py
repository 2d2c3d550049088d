"""The last change of the limits of a token (D509)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0040_membership_origins")]
    operations = [
        migrations.AddField(
            "apitoken",
            "limited_on",
            models.DateTimeField(help_text="The last change of the limits or of the end (D509).", null=True),
        ),
    ]
