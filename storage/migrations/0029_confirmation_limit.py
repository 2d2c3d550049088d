"""Count the mails to addresses that are not confirmed for all server processes (D358)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0028_new_addresses")]
    operations = [
        migrations.AddField(
            "staffaccount",
            "confirmations_until",
            models.DateTimeField(
                editable=False,
                help_text="Time over which the mails to addresses that are not confirmed are spread.",
                null=True,
            ),
        ),
    ]
