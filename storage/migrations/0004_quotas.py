"""Quotas of storages (D190)."""

from django.db import migrations, models

NO_LIMIT = "Leave empty for no limit."


def quota(name: str, help_text: str = NO_LIMIT) -> models.PositiveBigIntegerField:  # type: ignore[type-arg]
    return models.PositiveBigIntegerField(name, blank=True, help_text=help_text, null=True)


class Migration(migrations.Migration):
    dependencies = [("storage", "0003_token_revocations")]
    operations = [
        migrations.AddField("storage", "quota_elements", quota("largest number of elements")),
        migrations.AddField(
            "storage",
            "quota_bytes",
            quota(
                "largest size in bytes",
                f"Stored size of content, change history and configuration, without indexes. {NO_LIMIT}",
            ),
        ),
        migrations.AddField("storage", "quota_files", quota("largest number of files")),
        migrations.AddField("storage", "quota_history", quota("largest number of changes in the history")),
    ]
