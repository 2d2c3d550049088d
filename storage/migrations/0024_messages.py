"""Messages to people (D371)."""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.models.messages import MailTime, MessageKind
from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)
KINDS = [(each.value, each.label) for each in MessageKind]
TIMES = [(each.value, each.label) for each in MailTime]


class Migration(migrations.Migration):
    dependencies = [("storage", "0023_outgoing_mails")]
    operations = [
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("kind", models.CharField(choices=KINDS, max_length=20)),
                ("cause", models.UUIDField(help_text="Id of the event, or of another cause; a person is told of it once.")),
                ("made_on", models.DateTimeField()),
                ("element_id", models.UUIDField(null=True)),
                ("version_id", models.UUIDField(null=True)),
                ("data", models.JSONField(default=dict)),
                ("read_on", models.DateTimeField(null=True)),
                ("mail_time", models.CharField(choices=TIMES, max_length=10)),
                (
                    "mail",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="storage.outgoingmail",
                    ),
                ),
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
                "ordering": ["-made_on", "-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "recipient", "cause", "kind"), name="message_once")
                ],
                "indexes": [
                    models.Index(fields=["storage_id", "recipient", "made_on"], name="message_by_recipient"),
                    models.Index(
                        condition=models.Q(("mail", None), models.Q(("mail_time", "never"), _negated=True)),
                        fields=["storage_id", "mail_time"],
                        name="message_without_mail",
                    ),
                    models.Index(fields=["storage_id", "mail"], name="message_by_mail"),
                ],
            },
        ),
        IsolateTenantTable("message", storage_through="recipient"),
    ]
