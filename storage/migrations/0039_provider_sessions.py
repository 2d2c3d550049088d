"""Sessions that began at a provider, which can end them (D507)."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0038_access_rules")]
    operations = [
        migrations.CreateModel(
            name="ProviderSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("provider", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="sessions", to="storage.identityprovider")),
                ("account", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="provider_sessions", to=settings.AUTH_USER_MODEL)),
                ("subject", models.CharField(max_length=255)),
                ("sid", models.CharField(blank=True, help_text="Id of the session at the provider.", max_length=255)),
                ("began_on", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["provider", "subject"], name="provider_session_by_subject")],
            },
        ),
    ]
