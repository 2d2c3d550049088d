"""Webhooks of a storage (D360)."""

import uuid

import django.contrib.postgres.fields
from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)


class Migration(migrations.Migration):
    dependencies = [("storage", "0016_jobs")]
    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("url", models.CharField(max_length=2000, verbose_name="address")),
                ("events", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list, help_text="Empty for all events.", size=None)),
                ("facet", models.CharField(blank=True, max_length=100)),
                ("element_type", models.CharField(blank=True, max_length=100)),
                ("state", models.CharField(blank=True, max_length=100)),
                ("payload", models.CharField(choices=[("thin", "the event"), ("element", "the event and the element")], default="thin", max_length=20, verbose_name="content")),
                ("headers", models.JSONField(default=dict, help_text="Encrypted values by name.")),
                ("username", models.CharField(blank=True, help_text="For basic authentication.", max_length=200)),
                ("password", models.TextField(blank=True, help_text="Encrypted.")),
                ("secret", models.TextField(help_text="Encrypted.")),
                ("old_secret", models.TextField(blank=True, help_text="Encrypted; signs beside the new one after a rotation.")),
                ("old_secret_until", models.DateTimeField(null=True)),
                ("is_enabled", models.BooleanField(default=True, verbose_name="enabled")),
                ("disabled_reason", models.TextField(blank=True)),
                ("position", models.BigIntegerField(help_text="Number of the last event of which deliveries were made.")),
                ("rests_until", models.DateTimeField(help_text="Nothing is sent until then, because attempts have failed.", null=True)),
                ("created_on", models.DateTimeField(verbose_name="created on")),
                ("created_by", models.CharField(max_length=200, verbose_name="created by")),
                ("changed_on", models.DateTimeField(verbose_name="changed on")),
                ("changed_by", models.CharField(max_length=200, verbose_name="changed by")),
            ],
            options={
                "verbose_name": "webhook",
                "verbose_name_plural": "webhooks",
                "ordering": ["created_on", "id"],
            },
        ),
        IsolateTenantTable("webhook"),
    ]
