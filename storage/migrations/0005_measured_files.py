"""Measured numbers of files and changes, for quotas (D190)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0004_quotas")]
    operations = [
        migrations.AddField(
            "storagesize", "files", models.PositiveBigIntegerField("files", default=0, db_default=0)
        ),
        migrations.AddField(
            "storagesize",
            "history",
            models.PositiveBigIntegerField("changes in the history", default=0, db_default=0),
        ),
    ]
