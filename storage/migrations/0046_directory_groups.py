"""Groups of the directories of providers, and their members (D544)."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0045_directory_people")]
    operations = [
        migrations.CreateModel(
            name="DirectoryGroup",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("display_name", models.CharField(max_length=255)),
                ("name_key", models.CharField(help_text="The name for comparisons, without letter case.", max_length=255)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_on", models.DateTimeField()),
                ("changed_on", models.DateTimeField()),
                ("provider", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="groups", to="storage.identityprovider")),
            ],
            options={
                "ordering": ["created_on", "id"],
                "indexes": [
                    models.Index(fields=["provider", "name_key"], name="directory_group_name"),
                    models.Index(fields=["provider", "external_id"], name="directory_group_external"),
                ],
            },
        ),
        migrations.CreateModel(
            name="DirectoryMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="members", to="storage.directorygroup")),
                ("person", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="storage.directoryperson")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("group", "person"), name="directory_member_once")],
            },
        ),
    ]
