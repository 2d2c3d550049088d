"""Days for which a storage keeps its past rows (D602)."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0058_agent_calls")]
    operations = [
        migrations.AddField(
            "storage",
            "past_days",
            models.PositiveSmallIntegerField(
                db_default=1095,
                default=1095,
                help_text="Days for which clients can read the content as it was at an earlier time ($asOf).",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(10950),
                ],
                verbose_name="former states are kept for",
            ),
        ),
    ]
