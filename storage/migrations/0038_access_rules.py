"""Rules that map claims to roles (D503)."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

ROLES = ["viewer", "analyzer", "editor", "approver", "architect", "administrator"]


class Migration(migrations.Migration):
    dependencies = [("storage", "0037_identity_providers")]
    operations = [
        migrations.CreateModel(
            name="AccessRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("provider", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="rules", to="storage.identityprovider")),
                ("position", models.PositiveSmallIntegerField()),
                ("claim", models.CharField(max_length=100, verbose_name="claim")),
                ("comparison", models.CharField(choices=[("equals", "equals"), ("contains", "contains"), ("pattern", "matches the pattern"), ("any", "has any value")], default="equals", max_length=10, verbose_name="comparison")),
                ("value", models.CharField(blank=True, max_length=200, verbose_name="text")),
                ("storage", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="access_rules", to="storage.storage", verbose_name="storage")),
                ("roles", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[(role, role) for role in ROLES], max_length=20), size=None)),
                ("user_claim", models.CharField(blank=True, max_length=100, verbose_name="claim of the user element")),
                ("user_attribute", models.CharField(blank=True, max_length=100, verbose_name="attribute of the user element")),
            ],
            options={
                "verbose_name": "rule",
                "verbose_name_plural": "rules",
                "ordering": ["provider", "position", "id"],
            },
        ),
    ]
