"""Attempts to deliver messages to webhooks (D361)."""

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
    dependencies = [("storage", "0018_webhook_deliveries")]
    operations = [
        migrations.CreateModel(
            name="WebhookAttempt",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("time", models.DateTimeField(verbose_name="time")),
                ("status", models.SmallIntegerField(help_text="Of the answer; empty if there was none.", null=True)),
                ("error", models.TextField(blank=True)),
                ("milliseconds", models.IntegerField()),
                ("answer", models.TextField(blank=True, help_text="The first bytes of the answer.")),
                ("delivery", models.ForeignKey(db_constraint=False, db_index=False, on_delete=models.DO_NOTHING, related_name="log", to="storage.webhookdelivery")),
            ],
            options={
                "verbose_name": "attempt",
                "verbose_name_plural": "attempts",
                "ordering": ["time", "id"],
                "indexes": [models.Index(fields=["storage_id", "delivery", "time"], name="attempt_by_delivery"), models.Index(fields=["storage_id", "time"], name="attempt_by_time")],
            },
        ),
        IsolateTenantTable("webhookattempt", "delivery"),
    ]
