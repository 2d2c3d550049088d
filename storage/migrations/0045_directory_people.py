"""People of the directories of providers (D543)."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0044_partly_searchable")]
    operations = [
        migrations.CreateModel(
            name="DirectoryPerson",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("user_name", models.CharField(max_length=255)),
                ("user_key", models.CharField(help_text="The user name for comparisons, without letter case.", max_length=255)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("is_active", models.BooleanField(default=True)),
                ("attributes", models.JSONField(default=dict, help_text="Further attributes, as SCIM names them.")),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_on", models.DateTimeField()),
                ("changed_on", models.DateTimeField()),
                ("account", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="directory_people", to=settings.AUTH_USER_MODEL)),
                ("provider", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="people", to="storage.identityprovider")),
            ],
            options={
                "ordering": ["created_on", "id"],
                "indexes": [
                    models.Index(fields=["provider", "external_id"], name="directory_person_external"),
                    models.Index(fields=["provider", "created_on", "id"], name="directory_person_order"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "user_key"), name="directory_person_user_name"),
                    models.UniqueConstraint(fields=("provider", "account"), name="directory_person_account"),
                ],
            },
        ),
    ]
