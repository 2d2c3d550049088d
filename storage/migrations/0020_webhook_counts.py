"""Numbers of webhooks and messages, for monitoring that enters no storage (D369)."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0019_webhook_attempts")]
    operations = [
        migrations.CreateModel(
            name="WebhookCount",
            fields=[
                ("storage", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="webhook_count", serialize=False, to="storage.storage")),
                ("counted_on", models.DateTimeField()),
                ("webhooks", models.BigIntegerField(default=0)),
                ("disabled_webhooks", models.BigIntegerField(default=0)),
                ("waiting_messages", models.BigIntegerField(default=0)),
                ("waiting_since", models.DateTimeField(help_text="When the oldest of them was made.", null=True)),
                ("dead_letters", models.BigIntegerField(default=0)),
            ],
        ),
    ]
