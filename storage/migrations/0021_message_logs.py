"""How far the messages of a storage are (D371)."""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)


class Migration(migrations.Migration):
    dependencies = [("storage", "0020_webhook_counts")]
    operations = [
        migrations.CreateModel(
            name="MessageLog",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("position", models.BigIntegerField(help_text="Number of the last event that has its messages.")),
                ("daily_on", models.DateField(help_text="Local day of the last daily mails.", null=True)),
                ("failures", models.SmallIntegerField(default=0, help_text="Attempts in a row that the mail server did not answer.")),
                ("resume_on", models.DateTimeField(help_text="Time of the next attempt after these failures.", null=True)),
                ("problem", models.TextField(blank=True, help_text="The last of these failures.")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("storage_id",), name="one_message_log")],
            },
        ),
        IsolateTenantTable("messagelog"),
    ]
