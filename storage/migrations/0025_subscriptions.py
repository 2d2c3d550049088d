"""Subscriptions to elements (D376)."""

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
    dependencies = [("storage", "0024_messages")]
    operations = [
        migrations.CreateModel(
            name="Subscription",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("element_id", models.UUIDField(help_text="The element, which may have been deleted.")),
                ("is_subtree", models.BooleanField()),
                ("created_on", models.DateTimeField()),
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
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "recipient", "element_id"), name="subscription_once")
                ],
                "indexes": [models.Index(fields=["storage_id", "element_id"], name="subscription_by_element")],
            },
        ),
        IsolateTenantTable("subscription", storage_through="recipient"),
    ]
