"""Days for which a storage keeps its events (D332)."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0013_revision_of_every_storage")]
    operations = [
        migrations.AddField(
            "storage",
            "event_days",
            models.PositiveSmallIntegerField(
                db_default=90,
                default=90,
                help_text="Days for which clients can read what has changed.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(3650),
                ],
                verbose_name="events are kept for",
            ),
        ),
    ]
