"""Calls of agents by token, day and tool (D596)."""

from django.db import migrations, models
from django.db.models import deletion


class Migration(migrations.Migration):
    dependencies = [("storage", "0057_collection_quotas")]
    operations = [
        migrations.CreateModel(
            name="AgentCalls",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "token",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=deletion.CASCADE,
                        related_name="agent_calls",
                        to="storage.apitoken",
                    ),
                ),
                ("day", models.DateField()),
                ("tool", models.CharField(max_length=60)),
                ("calls", models.BigIntegerField()),
                ("refused", models.BigIntegerField()),
                ("last_on", models.DateTimeField()),
            ],
            options={
                "ordering": ["-day", "tool"],
                "constraints": [models.UniqueConstraint(fields=["token", "day", "tool"], name="agent_calls_once")],
            },
        ),
    ]
