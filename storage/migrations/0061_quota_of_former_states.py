"""The help text of a quota names former states, which count since D602."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0060_measured_past")]
    operations = [
        migrations.AlterField(
            "storage",
            "quota_bytes",
            models.PositiveBigIntegerField(
                blank=True,
                help_text="Stored size of content, former states, change history and configuration, without indexes."
                " Leave empty for no limit.",
                null=True,
                verbose_name="largest size in bytes",
            ),
        ),
    ]
