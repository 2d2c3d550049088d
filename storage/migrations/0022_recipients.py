"""People who get messages in a storage (D370)."""

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
    dependencies = [("storage", "0021_message_logs")]
    operations = [
        migrations.CreateModel(
            name="Recipient",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("key", models.CharField(help_text="`user:` and the id of the element, or `staff:` and the account.", max_length=60)),
                ("preferences", models.JSONField(default=dict, help_text="Time of mails by kind of message, if not the default.")),
                ("refused_address", models.CharField(blank=True, help_text="Address that gets no further mail.", max_length=254)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("storage_id", "key"), name="recipient_once")],
            },
        ),
        IsolateTenantTable("recipient"),
    ]
