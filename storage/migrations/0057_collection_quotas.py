"""Quotas of collections (D595)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0055_allowed_origins")]
    operations = [
        migrations.AddField(
            "storagecollection",
            "quota_storages",
            models.PositiveIntegerField(
                blank=True,
                help_text=(
                    "The API provisions no more storages than this. Leave empty for the default of the installation."
                ),
                null=True,
                verbose_name="largest number of storages",
            ),
        ),
    ]
