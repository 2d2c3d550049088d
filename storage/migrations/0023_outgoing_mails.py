"""Mails about messages (D373)."""

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
    dependencies = [("storage", "0022_recipients")]
    operations = [
        migrations.CreateModel(
            name="OutgoingMail",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("made_on", models.DateTimeField()),
                ("due_on", models.DateTimeField(help_text="Time of the next attempt.")),
                ("attempts", models.SmallIntegerField(default=0)),
                ("sent_on", models.DateTimeField(null=True)),
                ("failed_on", models.DateTimeField(help_text="No further attempt is made.", null=True)),
                ("address", models.CharField(blank=True, help_text="Address of the last attempt.", max_length=254)),
                ("error", models.TextField(blank=True)),
                (
                    "recipient",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="storage.recipient",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("sent_on", None), ("failed_on", None)),
                        fields=["storage_id", "due_on"],
                        name="mail_due",
                    ),
                    models.Index(fields=["storage_id", "recipient", "made_on"], name="mail_by_recipient"),
                ],
            },
        ),
        IsolateTenantTable("outgoingmail", storage_through="recipient"),
    ]
