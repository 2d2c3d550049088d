"""Networks that tokens were used from (D487)."""

from django.db import migrations, models
from django.db.models import deletion


class Migration(migrations.Migration):
    dependencies = [("storage", "0033_token_limits")]
    operations = [
        migrations.CreateModel(
            name="TokenAddress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "token",
                    models.ForeignKey(on_delete=deletion.CASCADE, related_name="addresses", to="storage.apitoken"),
                ),
                ("network", models.CharField(max_length=50)),
                ("is_refused", models.BooleanField()),
                ("requests", models.BigIntegerField()),
                ("first_on", models.DateTimeField()),
                ("last_on", models.DateTimeField()),
            ],
            options={
                "ordering": ["-last_on", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=["token", "network", "is_refused"], name="token_address_once")
                ],
            },
        ),
    ]
