"""Measured size of past rows (D602)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0059_past_days")]
    operations = [
        migrations.AddField(
            "storagesize",
            "past_bytes",
            models.PositiveBigIntegerField(
                "bytes of former states", default=0, db_default=0, help_text="Part of the bytes."
            ),
        ),
    ]
