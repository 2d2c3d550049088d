"""Messages for webhooks (D361)."""

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
    dependencies = [("storage", "0017_webhooks")]
    operations = [
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("event_id", models.UUIDField(help_text="With the webhook, it gives the id of the message.")),
                ("number", models.BigIntegerField(help_text="Place of the event in the feed; 0 for a test.")),
                ("type", models.CharField(max_length=40, verbose_name="event")),
                ("subject_id", models.UUIDField(help_text="Messages with the same subject are sent in their order.")),
                ("message", models.TextField(help_text="The CloudEvent as it is sent.")),
                ("state", models.CharField(choices=[("waiting", "waiting"), ("delivered", "delivered"), ("dead", "dead letter")], default="waiting", max_length=20, verbose_name="state")),
                ("attempts", models.IntegerField(default=0, help_text="Since the message was sent first or again.", verbose_name="attempts")),
                ("created_on", models.DateTimeField(verbose_name="created on")),
                ("first_attempt_on", models.DateTimeField(help_text="Retries end a day later.", null=True)),
                ("next_attempt_on", models.DateTimeField(null=True, verbose_name="next attempt")),
                ("ended_on", models.DateTimeField(help_text="When the message was delivered, or given up.", null=True)),
                ("webhook", models.ForeignKey(db_constraint=False, db_index=False, on_delete=models.DO_NOTHING, related_name="deliveries", to="storage.webhook")),
            ],
            options={
                "verbose_name": "delivery",
                "verbose_name_plural": "deliveries",
                "ordering": ["-created_on", "-number", "id"],
                "constraints": [models.UniqueConstraint(fields=("storage_id", "webhook", "event_id"), name="event_delivered_once")],
                "indexes": [models.Index(condition=models.Q(("state", "waiting")), fields=["storage_id", "webhook", "subject_id", "number", "id"], name="delivery_waiting"), models.Index(condition=models.Q(("state", "waiting")), fields=["storage_id", "webhook", "number", "id"], name="delivery_in_order"), models.Index(condition=models.Q(("state", "dead")), fields=["storage_id", "webhook"], name="delivery_dead"), models.Index(fields=["storage_id", "webhook", "created_on", "number", "id"], name="delivery_by_time")],
            },
        ),
        IsolateTenantTable("webhookdelivery", "webhook"),
    ]
