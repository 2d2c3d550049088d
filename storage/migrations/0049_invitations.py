"""Invitations of mail addresses (D550)."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ROLES = ["viewer", "analyzer", "editor", "approver", "architect", "administrator"]


class Migration(migrations.Migration):
    dependencies = [("storage", "0048_deactivated_accounts")]
    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("collection", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="storage.storagecollection", verbose_name="collection")),
                ("storage", models.ForeignKey(help_text="Empty for all storages of the collection.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="storage.storage", verbose_name="storage")),
                ("address", models.CharField(help_text="In lower case.", max_length=254, verbose_name="address")),
                ("roles", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[(role, role) for role in ROLES], max_length=20), size=None)),
                ("language", models.CharField(help_text="Language of the mail, which is that of the inviter.", max_length=10)),
                ("invited_by", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL, verbose_name="invited by")),
                ("made_on", models.DateTimeField(verbose_name="made")),
                ("sendings", models.PositiveSmallIntegerField(default=0, help_text="Only the link of the last sending is valid.")),
                ("valid_until", models.DateTimeField(verbose_name="valid until")),
                ("mails_until", models.DateTimeField(help_text="Time over which the mails to this address are spread.", null=True)),
                ("withdrawn_on", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "invitation",
                "verbose_name_plural": "invitations",
                "ordering": ["-made_on", "address"],
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "storage", "address"), name="invitation_once", nulls_distinct=False)
                ],
                "indexes": [models.Index(fields=["address"], name="invitation_by_address")],
            },
        ),
    ]
