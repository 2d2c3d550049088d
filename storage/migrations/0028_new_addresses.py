"""Mail addresses that the owners of accounts have not confirmed yet (D353)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0027_delivery_indexes")]
    operations = [
        migrations.AddField(
            "staffaccount",
            "new_email",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="Address that the owner has entered and not confirmed.",
                max_length=254,
            ),
        ),
    ]
