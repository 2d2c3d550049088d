"""The time from which past rows of a storage are kept (D563). Elements set it for the storages that exist."""

from django.contrib.postgres.functions import TransactionNow
from django.db import migrations, models

from storage.tenancy.past_operations import BEFORE_THE_RECORD

HELP = "From this time on, past rows are kept (D563)."


class Migration(migrations.Migration):
    dependencies = [("storage", "0051_account_sessions")]
    operations = [
        migrations.AddField(
            "storagerevision", "recorded_since", models.DateTimeField(db_default=BEFORE_THE_RECORD, help_text=HELP)
        ),
        migrations.AlterField(
            "storagerevision", "recorded_since", models.DateTimeField(db_default=TransactionNow(), help_text=HELP)
        ),
    ]
