"""Mark the first waiting message of each subject (D340)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0025_subscriptions")]
    operations = [
        migrations.AddField(
            "webhookdelivery",
            "is_first",
            models.BooleanField(
                db_default=False,
                default=False,
                help_text="It waits, and nothing with its subject waits before it.",
            ),
        ),
    ]
