"""Sessions of accounts (D552)."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0050_password_resets")]
    operations = [
        migrations.CreateModel(
            name="AccountSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("account", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="sessions", to=settings.AUTH_USER_MODEL)),
                ("network", models.CharField(help_text="Network of the last use.", max_length=50)),
                ("device", models.CharField(blank=True, help_text="Browser and system, without versions.", max_length=40)),
                ("began_on", models.DateTimeField()),
                ("last_on", models.DateTimeField()),
            ],
        ),
    ]
