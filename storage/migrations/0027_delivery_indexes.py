"""Indexes for the messages that can be sent (D340), and for the list of all messages."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("storage", "0026_first_deliveries")]
    operations = [
        AddIndexConcurrently(
            "webhookdelivery",
            models.Index(
                fields=["storage_id", "webhook", "number", "id"],
                name="delivery_first",
                condition=models.Q(("is_first", True), ("state", "waiting")),
            ),
        ),
        AddIndexConcurrently(
            "webhookdelivery", models.Index(fields=["storage_id", "created_on", "number"], name="delivery_newest")
        ),
        RemoveIndexConcurrently("webhookdelivery", "delivery_in_order"),
    ]
